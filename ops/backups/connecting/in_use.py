"""Is the database that is drilled the very one that people's words go into now, and not a copy of it?

A clone has the same cluster number, name and rows. What it has not is the running server: every start of a server has
a time of its own, a promotion begins another timeline, and web processes beat in one database alone.
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
YOUNG_S = 10.0
"""Web processes beat every second; one that has not for so long is gone."""
LOOKS = 40
LOOK_EVERY_S = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class Instance:
    """One database of one running server."""

    system: str
    database: str
    timeline: int
    started: str
    oid: int


def refuse_another(direct: Session, in_use: Address) -> None:
    """Raise CouldNotRun unless the service's own address leads to this very database of this very server.

    Where that address cannot be reached just now, nothing is refused: `doubt` then has to settle it.
    """
    try:
        with in_use.connect_plainly() as service:
            theirs = _instance(service)
    except psycopg.OperationalError:
        return
    ours = _instance(direct)
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


def has_beats(direct: Session) -> bool:
    """Whether it is a database of the service at all, with a table in which web processes beat."""
    return bool(_row(direct, HAS_BEATS)[0])


def doubt(direct: Session, *, sleep: Callable[[float], None] = time.sleep) -> str:
    """Why nothing shows that the service runs on this database now; empty where web processes beat in it.

    Takes up to four seconds. A clone keeps the last beats of its origin, so they must be seen to go on.
    """
    if not has_beats(direct):
        return "it has no table in which web processes beat"
    first, age_s = _row(direct, BEAT)
    if first is None:
        return "no web process has ever beaten in it"
    for _ in range(LOOKS):
        if age_s > YOUNG_S:
            break
        sleep(LOOK_EVERY_S)
        now, age_s = _row(direct, BEAT)
        if now != first:
            return ""
    return f"no web process beats in it now; the last beat is of {first[:16]} UTC"


def _instance(session: Session) -> Instance:
    system, database, timeline, started, oid = _row(session, INSTANCE)
    return Instance(system=system, database=database, timeline=timeline, started=started, oid=oid)


def _row(session: Session, query: str) -> tuple[Any, ...]:
    row = session.execute(query.encode()).fetchone()
    assert row is not None
    return tuple(row)
