"""Whether the drilled database is the one the service writes to now, and not a copy of it.

A clone has the same system identifier, name and rows. It differs in its start time, after a promotion in its timeline,
and it receives no heartbeats of web processes.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg

from ops.backups.connecting.address import Address
from ops.backups.connecting.session import Session
from ops.backups.run.errors import CouldNotRun

# The control file still names the former timeline until the first checkpoint after a promotion, which may take minutes.
INSTANCE = """
SELECT s.system_identifier::text, pg_catalog.current_database()::text,
       CASE WHEN pg_catalog.pg_is_in_recovery() THEN c.timeline_id
            ELSE ('x' || left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8))::bit(32)::int END,
       extract(epoch FROM pg_catalog.pg_postmaster_start_time())::text,
       (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())::bigint
FROM pg_catalog.pg_control_system() s, pg_catalog.pg_control_checkpoint() c
"""
HAS_BEATS = "SELECT pg_catalog.to_regclass('public.companion_process') IS NOT NULL"
BEAT = """
SELECT max(beat_at)::text, extract(epoch FROM pg_catalog.clock_timestamp() - max(beat_at))::float8
FROM public.companion_process
"""
MAX_BEAT_AGE_S = 10.0
"""Web processes beat every second; an older beat is of a process that ended."""
MAX_LOOKS = 40
LOOK_INTERVAL_S = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerInstance:
    """One database of one running server process."""

    system: str
    database: str
    timeline: int
    started: str
    oid: int


def refuse_other_database(direct: Session, in_use: Address) -> None:
    """Raise CouldNotRun unless the service's own address leads to this database of this running server.

    An address that cannot be reached is no reason to refuse: `find_doubt` decides then.
    """
    try:
        with in_use.connect_as_service() as service:
            theirs = _read_instance(service)
    except psycopg.OperationalError:
        return
    ours = _read_instance(direct)
    if ours == theirs:
        return
    if (ours.system, ours.database) != (theirs.system, theirs.database):
        what = "another database than DATABASE_URL, which the service uses."
    elif ours.timeline != theirs.timeline:
        what = (
            f"a copy of the database in use: it is on timeline {ours.timeline}, and DATABASE_URL, which the service "
            f"uses, leads to timeline {theirs.timeline}."
        )
    else:
        what = "a copy of the database in use: DATABASE_URL, which the service uses, leads to another running server."
    raise CouldNotRun(f"DIRECT_DATABASE_URL leads to {what}", mend="Correct one of them.")


def has_heartbeats(direct: Session) -> bool:
    """Return whether the database has the table of heartbeats, as every database of the service has."""
    return bool(_fetch_row(direct, HAS_BEATS)[0])


def find_doubt(direct: Session, *, sleep: Callable[[float], None] = time.sleep) -> str:
    """Return why the service may not run on this database now; empty if heartbeats arrive in it.

    Takes up to four seconds. A clone holds the old beats of its origin, so a new one must be seen.
    """
    if not has_heartbeats(direct):
        return "it has no table of heartbeats of web processes"
    first, age_s = _fetch_row(direct, BEAT)
    if first is None:
        return "no web process ever sent a heartbeat to it"
    for _ in range(MAX_LOOKS):
        if age_s > MAX_BEAT_AGE_S:
            break
        sleep(LOOK_INTERVAL_S)
        now, age_s = _fetch_row(direct, BEAT)
        if now != first:
            return ""
    return f"no web process sends heartbeats to it now; the last one is of {first[:16]} UTC"


def _read_instance(session: Session) -> ServerInstance:
    system, database, timeline, started, oid = _fetch_row(session, INSTANCE)
    return ServerInstance(system=system, database=database, timeline=timeline, started=started, oid=oid)


def _fetch_row(session: Session, query: str) -> tuple[Any, ...]:
    row = session.execute(query.encode()).fetchone()
    assert row is not None
    return tuple(row)
