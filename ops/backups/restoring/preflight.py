"""Checks before anything is created. Each CouldNotRun gives the statement that corrects the cause."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import psycopg

from ops.backups.connecting.session import Session
from ops.backups.reading import migration_ledger
from ops.backups.reading.inventory import list_tables
from ops.backups.run.error_mapping import describe_os_error
from ops.backups.run.errors import CouldNotRun
from ops.backups.run.facts import Catalogue
from ops.backups.run.run_folder import make_private_folder
from ops.stack.state import write_private

MeasureFreeBytes = Callable[[Path], int]
"""Returns the free bytes on the disk of a folder."""
DUMP_SHARE = 0.6
"""Size of a dump at compression 1 as a share of its database: the largest measured, with a margin."""
COPY_SHARE = 1.3
"""Size of a fresh copy as a share of its source, including WAL and temporary files of the load."""
WAL_SHARE = 0.9
"""WAL written by a restore into a server with default settings, as a share of the database."""
MIN_FREE_BYTES = 150_000_000
OWNED = """
SELECT DISTINCT r FROM unnest(%s::text[]) r
WHERE EXISTS (SELECT FROM pg_roles o WHERE o.rolname = r) AND NOT pg_has_role(r, 'MEMBER')
"""
ROW_SECURITY = """
SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relrowsecurity AND c.relkind IN ('r', 'p') AND row_security_active(c.oid) ORDER BY 1
"""


def check_source(session: Session) -> None:
    """Check that the source is a primary and the service's database, and that the role may read all of it."""
    if _fetch_value(session, "SELECT pg_is_in_recovery()"):
        raise CouldNotRun(
            "The source is a replica: unlogged tables are empty there, and it may cancel a long snapshot.",
            mend="Name the primary in DIRECT_DATABASE_URL.",
        )
    if not migration_ledger.has_ledger(session):
        raise CouldNotRun(
            "That database has no migration ledger: it is not the service's own.",
            mend="Correct the database's name in DIRECT_DATABASE_URL.",
        )
    # All at once: pg_dump would end at the first and name no other.
    unreadable = [table.name for table in list_tables(session) if not table.readable]
    hidden = [row[0] for row in session.execute(ROW_SECURITY)]
    role = session.info.user
    lacking = [
        *([f"GRANT pg_read_all_data TO {role};"] if unreadable else []),
        *([f"ALTER ROLE {role} BYPASSRLS;"] if hidden else []),
    ]
    if unreadable:
        what = f"The role may not read {len(unreadable)} tables, {unreadable[0]} among them."
    else:
        what = f"Row security hides rows of {len(hidden)} tables from the role, {', '.join(hidden[:1])} among them."
    if lacking:
        raise CouldNotRun(what, mend=" ".join(lacking))


def check_scratch_server(server: Session, *, major: int, catalogue: Catalogue) -> None:
    """Check that the server is a primary of major version `major` and has every extension."""
    if _fetch_value(server, "SELECT pg_is_in_recovery()"):
        raise CouldNotRun("The scratch server is a replica: it cannot create a database.")
    there = int(_fetch_value(server, "SELECT current_setting('server_version_num')::int / 10000"))
    if there != major:
        raise CouldNotRun(
            f"The scratch server is PostgreSQL {there}, the data are of {major}: definitions could not be compared.",
            mend=f"Name a server of PostgreSQL {major} with --target.",
        )
    known = {row[0] for row in server.execute("SELECT quote_ident(name) FROM pg_available_extensions")}
    missing = sorted(catalogue.get("extension", {}).keys() - known)
    if missing:
        raise CouldNotRun(
            f"The scratch server lacks the extension {', '.join(missing)}.", mend="Install its package there."
        )


def check_rights(server: Session, *, roles: Iterable[str], no_owner: bool) -> None:
    """Check that the role may create databases and may assign objects to the roles that own them."""
    role = server.info.user
    is_super, may_create = server.execute(
        "SELECT rolsuper, rolcreatedb FROM pg_roles WHERE rolname = current_user"
    ).fetchone() or (False, False)
    if not (is_super or may_create):
        raise CouldNotRun("The role may not create a database.", mend=f"ALTER ROLE {role} CREATEDB;")
    if no_owner:
        return
    there = {row[0] for row in server.execute("SELECT rolname::text FROM pg_roles")}
    if missing := sorted(set(roles) - there):
        raise CouldNotRun(
            f"The scratch server lacks {len(missing)} roles that own or are granted objects.",
            mend=" ".join(f'CREATE ROLE "{name}" NOLOGIN;' for name in missing)
            + " Or drill with --no-owner.",
        )
    # ALTER … OWNER TO, which a restore runs, needs membership in the new owner.
    strangers = [] if is_super else [row[0] for row in server.execute(OWNED, [list(roles)])]
    if strangers:
        raise CouldNotRun(
            f"The role {role} may not act for {', '.join(strangers)}.",
            mend=" ".join(f'GRANT "{name}" TO {role};' for name in strangers) + " Or drill with --no-owner.",
        )


def check_work_disk(
    work: Path, size: int, *, dump: bool, copy: bool, free: MeasureFreeBytes, option: str
) -> None:
    """Check that the work folder's disk has room for the dump and the private copy, as far as each is made."""
    needed = MIN_FREE_BYTES + int(size * (DUMP_SHARE * dump + COPY_SHARE * copy))
    check_disk(work, needed, free=free, option=option)


def check_reports(folder: Path) -> None:
    """Check that the report can be kept, before hours of work: a proof that is not on record does not count."""
    try:
        make_private_folder(folder)
        probe = folder / f".probe-{os.getpid()}"
        write_private(probe, "a few words\n")
        probe.unlink()
    except OSError as error:
        raise CouldNotRun(
            f"No report can be kept in {folder}: {describe_os_error(error)}.",
            mend="Correct that first: a proof that is not on record does not count.",
        ) from None


def check_server_disk(server: Session, size: int, *, free: MeasureFreeBytes) -> None:
    """Check that a scratch server on this machine has room for the copy and the WAL of its load."""
    try:
        folder = Path(_fetch_value(server, "SELECT current_setting('data_directory')"))
    except psycopg.errors.InsufficientPrivilege:
        return
    # An address on this machine may still lead into a container, whose path means nothing here.
    try:
        is_here = (folder / "PG_VERSION").is_file()
    # It exists, and belongs to the server's account.
    except PermissionError:
        is_here = True
    if is_here:
        check_disk(
            folder, MIN_FREE_BYTES + int(size * (COPY_SHARE + WAL_SHARE)), free=free, option="--target"
        )


def check_disk(folder: Path, needed: int, *, free: MeasureFreeBytes, option: str) -> None:
    """Raise CouldNotRun if the disk has fewer than `needed` bytes. `option` names another folder, or is ""."""
    there = free(_find_existing(folder))
    if there < needed:
        raise CouldNotRun(
            f"The disk of {folder} has {there // 1_000_000} MB left; {needed // 1_000_000} MB are needed.",
            mend=f"Make room, or name a folder on a larger disk with {option}." if option else "Make room.",
        )


def _find_existing(folder: Path) -> Path:
    return next(place for place in (folder, *folder.parents) if place.exists())


def _fetch_value(session: Session, query: str) -> str:
    row = session.execute(query.encode()).fetchone()
    return row[0] if row else ""
