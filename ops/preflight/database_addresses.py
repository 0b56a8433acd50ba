"""The other addresses of the database: of the owner, and where backups and drills connect."""

from collections.abc import Iterator

import psycopg
from django.core.checks import CheckMessage, Error, Warning
from django.db import connections
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.utils import DatabaseError

from ops.backups.connecting.address import Address
from ops.backups.connecting.in_use import refuse_other_database
from ops.backups.connecting.session import open_source
from ops.backups.restoring.preflight import check_source
from ops.backups.run.error_mapping import map_error
from ops.backups.run.errors import DrillStopped

DIRECT = "DIRECT_DATABASE_URL"


def judge_direct_address(direct: str, in_use: str) -> Iterator[CheckMessage]:
    """Whether backups and drills can read the database in use. `direct` and `in_use` are addresses."""
    try:
        address = Address.parse(direct, setting=DIRECT, may_name_several=True).find_primary(setting=DIRECT)
        with open_source(address, setting=DIRECT) as session:
            check_source(session)
            refuse_other_database(
                session, Address.parse(in_use, setting="DATABASE_URL", may_name_several=True)
            )
    except (DrillStopped, psycopg.Error) as error:
        stop = map_error(error)
        yield Warning(
            f"No backup can be made and no drill can run: {stop.what}", hint=stop.mend, id="companion.W045"
        )


def judge_tables(alias: str) -> Iterator[CheckMessage]:
    """Whether the tables are those of this release. `alias` is the database of Django's settings to ask."""
    try:
        executor = MigrationExecutor(connections[alias])
        missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
        known = _list_known(executor.loader)
        applied = set(executor.loader.applied_migrations)
    except DatabaseError as failure:
        yield Error(
            f"The record of migrations cannot be read ({type(failure.__cause__ or failure).__name__}).",
            hint="Correct OWNER_DATABASE_URL, where manage.py migrate connects.",
            id="companion.E028",
        )
        return
    if missing:
        first = missing[0][0]
        yield Error(
            f"The tables are {len(missing)} migrations behind this release; the first is {first}.",
            hint="Run manage.py migrate, once, from one machine.",
            id="companion.E027",
        )
    if newer := sorted(f"{app}.{name}" for app, name in applied - known):
        yield Warning(
            f"The tables are of a newer release: {len(newer)} migrations are not known here, {newer[0]} among them.",
            hint="Start that release here, unless this one is meant to serve beside it during an upgrade.",
            id="companion.W028",
        )


def _list_known(loader: MigrationLoader) -> set[tuple[str, str]]:
    """The migrations of this release, and those that it took the place of."""
    replaced = {old for migration in loader.disk_migrations.values() for old in migration.replaces}
    return {*loader.disk_migrations, *replaced}
