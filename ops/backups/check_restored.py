"""Does a database hold what a backup's manifest says? The check after a restore for real, before people come back."""

from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from ops.backups.archive import archive_lookup, manifest
from ops.backups.comparing.compare import Settle, compare, remarks
from ops.backups.comparing.deparse import Settler
from ops.backups.connecting import direct, in_use
from ops.backups.connecting.address import Address
from ops.backups.connecting.session import Session, open_scratch, open_source
from ops.backups.reading import fingerprint
from ops.backups.reading.database_locale import shape
from ops.backups.reading.inventory import tables
from ops.backups.restoring.database_properties import own_to_the_database
from ops.backups.run.error_mapping import reading_the_source, told
from ops.backups.run.facts import Difference
from ops.backups.run.watch import PAGE_BYTES, Watch

OTHERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """What a database was found to be, against a manifest."""

    differences: list[Difference]
    remarks: list[str]
    rows: int
    others: int
    """Sessions of others on that database: while a service runs on it, its rows change."""


def hold_against(
    address: Address,
    backup: Path,
    *,
    setting: str,
    jobs: int,
    no_owner: bool,
    watch: Watch,
    key: str,
    trust: bool = False,
    serving: Address | None = None,
) -> Held:
    """Compare the database at `address` with the manifest in `backup`. Leaves it as it is. Raises DrillStopped.

    `serving` is the address the service uses, where it is another one.
    """
    archive_lookup.refuse_anything_else(backup, with_manifest=True)
    facts, is_signed = manifest.read_signed(backup / manifest.FILE, key, trust=trust)
    direct.refuse_catch_all(address, setting=setting)
    try:
        with reading_the_source(), open_source(address, setting=setting) as session:
            if serving is not None:
                in_use.refuse_another(session, serving)
            others = _others(session)
            there = tables(session)
            size = sum(table.pages for table in there) * PAGE_BYTES
            with watch.phase("row sums", of_bytes=size):
                sessions = [open_source(address, setting=setting) for _ in range(jobs)]
                found = fingerprint.of_copy(session, sessions, there, watch)
        # Printing a definition anew takes a temporary view, in a transaction that is rolled back.
        with open_scratch(address, setting=setting) as printing, watch.phase("compare"):
            # What a manifest calls a definition is run here as SQL, so it must be known who wrote it.
            settle: Settle = Settler(printing) if is_signed else _never
            return Held(
                differences=compare(
                    facts.picture, found, settle=settle, without_owners=no_owner, in_place=True
                ),
                remarks=remarks(facts.picture, found),
                rows=found.rows,
                others=others,
            )
    except psycopg.Error as error:
        raise told(error) from None


def statements(backup: Path, *, name: str, owner: str, key: str, trust: bool = False) -> list[str]:
    """What makes the roles and the empty database that a restore of this backup needs. Raises DrillStopped.

    `owner` is used where the backup does not say whose the database was.
    """
    archive_lookup.refuse_anything_else(backup, with_manifest=True)
    facts, _ = manifest.read_signed(backup / manifest.FILE, key, trust=trust)
    roles = [sql.SQL("CREATE ROLE {} LOGIN;").format(sql.Identifier(role)) for role in facts.roles]
    owner = facts.catalogue.get("database owner", {}).get("itself", {}).get("owner", owner)
    database = sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE template0 {};").format(
        sql.Identifier(name), sql.Identifier(owner), shape(facts.catalogue["database"]["itself"])
    )
    return [
        statement.as_string()
        for statement in [*roles, database, *own_to_the_database(facts.catalogue, sql.Identifier(name))]
    ]


def _never(*_texts: object) -> bool:
    return False


def _others(session: Session) -> int:
    row = session.execute(OTHERS).fetchone()
    return int(row[0]) if row else 0
