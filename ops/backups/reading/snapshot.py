"""One snapshot of the source, shared by the dump, the row sums and the catalogue."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg

from ops.backups.connecting.address import Address
from ops.backups.connecting.session import Session, open_source
from ops.backups.reading.inventory import Table, list_tables
from ops.backups.run.errors import SourceChanged
from ops.backups.run.facts import DatabaseIdentity

BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
MAX_TRIES = 3
IDENTITY = """
SELECT (SELECT system_identifier::text FROM pg_control_system()), current_database(),
       current_setting('server_version'), pg_database_size(current_database())
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """An exported snapshot, kept alive by its session, which also locks every table against rewriting."""

    session: Session
    name: str
    tables: list[Table]


def read_identity(session: Session) -> DatabaseIdentity:
    """Read which database of which cluster the session is on."""
    row = session.execute(IDENTITY).fetchone()
    assert row is not None
    return DatabaseIdentity(system=row[0], database=row[1], server=row[2].split()[0], bytes=row[3])


def take_snapshot(session: Session) -> Snapshot:
    """Export a snapshot and lock its tables. Raises SourceChanged if tables change before they are locked."""
    for _ in range(MAX_TRIES):
        session.execute(BEGIN)
        row = session.execute("SELECT pg_export_snapshot()").fetchone()
        assert row is not None
        found = list_tables(session)
        try:
            lock_tables(session, found)
            # Snapshots do not cover a TRUNCATE or rewrite between export and lock: try again.
            if all(table.in_place for table in list_tables(session) if not table.is_materialized):
                return Snapshot(session=session, name=row[0], tables=found)
        except (psycopg.errors.LockNotAvailable, psycopg.errors.UndefinedTable):
            pass
        session.execute("ROLLBACK")
    raise SourceChanged(
        "Tables of the source are being locked or rewritten: a migration seems to be running.",
        mend="Run this again when it has finished.",
    )


def lock_tables(session: Session, found: list[Table]) -> None:
    """Lock tables against TRUNCATE, ALTER and VACUUM FULL. Reads and writes are not blocked."""
    names = [table.name for table in found if not table.is_materialized]
    if names:
        session.execute(f"LOCK TABLE ONLY {', ONLY '.join(names)} IN ACCESS SHARE MODE".encode())


@contextmanager
def open_sharing_sessions(
    address: Address, snapshot: Snapshot, *, size: int, setting: str
) -> Iterator[list[Session]]:
    sessions: list[Session] = []
    try:
        for _ in range(size):
            session = open_source(address, setting=setting)
            sessions.append(session)
            session.execute(BEGIN)
            session.execute(f"SET TRANSACTION SNAPSHOT '{snapshot.name}'".encode())
            lock_tables(session, snapshot.tables)
        yield sessions
    finally:
        for session in sessions:
            session.close()
