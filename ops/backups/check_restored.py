"""Compares a database with a backup's manifest: the check after a restore for real, before the service starts."""

from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from ops.backups.archive import manifest, stored_backups
from ops.backups.comparing.compare import Settle, compare, list_remarks
from ops.backups.comparing.deparse import Settler
from ops.backups.connecting import direct, in_use
from ops.backups.connecting.address import Address
from ops.backups.connecting.session import Session, open_scratch, open_source
from ops.backups.reading import fingerprint
from ops.backups.reading.database_locale import format_options
from ops.backups.reading.inventory import list_tables
from ops.backups.restoring.database_properties import make_statements
from ops.backups.run.error_mapping import blame_source, map_database_error
from ops.backups.run.facts import Difference
from ops.backups.run.monitor import PAGE_BYTES, RunMonitor

COUNT_OTHERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class RestoredCheck:
    """The result of comparing a database with a manifest."""

    differences: list[Difference]
    remarks: list[str]
    rows: int
    other_sessions: int
    """Other sessions on the database: a service that runs on it changes its rows."""


def compare_with_manifest(
    address: Address,
    backup: Path,
    *,
    setting: str,
    jobs: int,
    no_owner: bool,
    monitor: RunMonitor,
    key: str,
    trust: bool = False,
    serving: Address | None = None,
) -> RestoredCheck:
    """Compare the database at `address` with the manifest in `backup`, without changing it. Raises DrillStopped.

    `serving` is the address the service uses, if it differs from `address`.
    """
    stored_backups.require_backup(backup, with_manifest=True)
    facts, is_signed = manifest.read_signed(backup / manifest.FILE, key, trust=trust)
    direct.refuse_catch_all(address, setting=setting)
    try:
        with blame_source(), open_source(address, setting=setting) as session:
            if serving is not None:
                in_use.refuse_other_database(session, serving)
            others = _count_other_sessions(session)
            there = list_tables(session)
            size = sum(table.pages for table in there) * PAGE_BYTES
            with monitor.time_phase("row sums", of_bytes=size):
                sessions = [open_source(address, setting=setting) for _ in range(jobs)]
                found = fingerprint.take_fingerprint(session, sessions, there, monitor)
        # Not read-only: printing a definition again creates a temporary view, which is rolled back.
        with open_scratch(address, setting=setting) as printing, monitor.time_phase("compare"):
            # Definitions of the manifest are executed as SQL, so only those of a signed manifest are.
            settle: Settle = Settler(printing) if is_signed else _settle_nothing
            return RestoredCheck(
                differences=compare(
                    facts.fingerprint, found, settle=settle, without_owners=no_owner, in_place=True
                ),
                remarks=list_remarks(facts.fingerprint, found),
                rows=found.rows,
                other_sessions=others,
            )
    except psycopg.Error as error:
        raise map_database_error(error) from None


def list_statements(backup: Path, *, name: str, owner: str, key: str, trust: bool = False) -> list[str]:
    """List the statements that create the roles and the empty database for a restore. Raises DrillStopped.

    `owner` is used if the backup does not name the database's owner.
    """
    stored_backups.require_backup(backup, with_manifest=True)
    facts, _ = manifest.read_signed(backup / manifest.FILE, key, trust=trust)
    roles = [sql.SQL("CREATE ROLE {} LOGIN;").format(sql.Identifier(role)) for role in facts.roles]
    owner = facts.catalogue.get("database owner", {}).get("itself", {}).get("owner", owner)
    database = sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE template0 {};").format(
        sql.Identifier(name), sql.Identifier(owner), format_options(facts.catalogue["database"]["itself"])
    )
    return [
        statement.as_string()
        for statement in [*roles, database, *make_statements(facts.catalogue, sql.Identifier(name))]
    ]


def _settle_nothing(*_texts: object) -> bool:
    return False


def _count_other_sessions(session: Session) -> int:
    row = session.execute(COUNT_OTHERS).fetchone()
    return int(row[0]) if row else 0
