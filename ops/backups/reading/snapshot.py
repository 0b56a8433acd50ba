"""One snapshot of the source that a dump, the row sums and the catalogue all look at."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg

from ops.backups.connecting.address import Address
from ops.backups.connecting.session import Session, open_source
from ops.backups.reading.inventory import Table, tables
from ops.backups.run.errors import Unsettled
from ops.backups.run.facts import Identity

BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
TRIES = 3
IDENTITY = """
SELECT (SELECT system_identifier::text FROM pg_control_system()), current_database(),
       current_setting('server_version'), pg_database_size(current_database())
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """A snapshot that its holder keeps alive, with every table it shows locked against being rewritten."""

    session: Session
    name: str
    tables: list[Table]


def identity(session: Session) -> Identity:
    """Which database this is."""
    row = session.execute(IDENTITY).fetchone()
    assert row is not None
    return Identity(system=row[0], database=row[1], server=row[2].split()[0], bytes=row[3])


def hold(session: Session) -> Snapshot:
    """Take a snapshot on this session. Raises Unsettled when tables are changed faster than they can be locked."""
    for _ in range(TRIES):
        session.execute(BEGIN)
        row = session.execute("SELECT pg_export_snapshot()").fetchone()
        assert row is not None
        found = tables(session)
        try:
            lock(session, found)
            # A TRUNCATE or a rewrite between the snapshot and the lock obeys no snapshot: begin again.
            if all(table.in_place for table in tables(session) if not table.is_materialized):
                return Snapshot(session=session, name=row[0], tables=found)
        except (psycopg.errors.LockNotAvailable, psycopg.errors.UndefinedTable):
            pass
        session.execute("ROLLBACK")
    raise Unsettled(
        "Tables of the source are locked or rewritten just now: a migration seems to run.",
        mend="Run this again once it has ended.",
    )


def lock(session: Session, found: list[Table]) -> None:
    """Hold every table against TRUNCATE, ALTER and VACUUM FULL; readers and writers pass freely."""
    names = [table.name for table in found if not table.is_materialized]
    if names:
        session.execute(f"LOCK TABLE ONLY {', ONLY '.join(names)} IN ACCESS SHARE MODE".encode())


@contextmanager
def sharers(address: Address, snapshot: Snapshot, *, size: int, setting: str) -> Iterator[list[Session]]:
    """`size` sessions that see exactly this snapshot."""
    sessions: list[Session] = []
    try:
        for _ in range(size):
            session = open_source(address, setting=setting)
            sessions.append(session)
            session.execute(BEGIN)
            session.execute(f"SET TRANSACTION SNAPSHOT '{snapshot.name}'".encode())
            lock(session, snapshot.tables)
        yield sessions
    finally:
        for session in sessions:
            session.close()
