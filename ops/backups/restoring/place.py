"""The server that takes the copy: a private one, another server, or by explicit choice the source's own."""

from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass

import psycopg
from psycopg import sql

from ops.backups.archive.capture import Source
from ops.backups.connecting import direct
from ops.backups.connecting.address import Address
from ops.backups.connecting.session import Session, open_scratch
from ops.backups.programs.private_server import PrivateServer
from ops.backups.programs.tools import Tools
from ops.backups.restoring import leftovers, preflight, scratch
from ops.backups.restoring.leftovers import CleaningResult
from ops.backups.restoring.order import DrillOrder, RunEnvironment
from ops.backups.restoring.restore_spec import RestoreSpec
from ops.backups.restoring.scratch import Scratch
from ops.backups.run.errors import CouldNotRun
from ops.backups.run.monitor import RunMonitor
from ops.backups.run.run_folder import Marker, RunFolder

MAINTENANCE_DATABASES = ("postgres", "template1")
OWNED_BY_SUPERUSERS = ("foreign-data wrapper", "event trigger", "publication")
"""Kinds of objects whose owner may have to be a superuser."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A server, and a session on its maintenance database that holds the run's advisory lock."""

    server: Address
    setting: str
    session: Session
    is_private: bool = False


def open_existing(order: DrillOrder) -> Place:
    """Open the server that --target names, or the source's own. Raises CouldNotRun, for poolers too."""
    if order.target is not None:
        direct.refuse_catch_all(order.target, setting=order.target_setting)
        session = open_scratch(order.target, setting=order.target_setting)
        return Place(server=order.target, setting=order.target_setting, session=session)
    assert order.source is not None
    return open_beside(order.source, setting=order.setting)


def open_beside(source: Address, *, setting: str) -> Place:
    """Open the maintenance database of the source's own server. Raises CouldNotRun."""
    for database in MAINTENANCE_DATABASES:
        server = source.with_database(database)
        with suppress(CouldNotRun):
            return Place(server=server, setting=setting, session=open_scratch(server, setting=setting))
    raise CouldNotRun(
        "Neither postgres nor template1 accepts a connection on the source's server.",
        mend="Name a maintenance database with --target URL.",
    )


def refuse_untrusted_code(order: DrillOrder, spec: RestoreSpec) -> None:
    """Raise CouldNotRun if functions of an unsigned backup would run on a server in use."""
    if spec.is_signed or order.where == "private server":
        return
    if order.where == "target" and order.trust:
        return
    raise CouldNotRun(
        "This backup was not signed by this service: a restore would run functions of unknown origin.",
        mend="Leave --target out, to restore into a private server"
        + (", or pass --trust if you know its origin." if order.where == "target" else "."),
    )


def start_private(
    folder: RunFolder, tools: Tools, spec: RestoreSpec, *, stack: ExitStack, monitor: RunMonitor
) -> Place:
    """Start a private server with the roles that own the copy's objects. The stack stops it."""
    server = PrivateServer(folder, tools)
    stack.callback(server.stop)
    server.start(monitor.tick)
    session = open_scratch(server.address, setting=server.setting)
    stack.callback(session.close)
    preflight.check_scratch_server(session, major=tools.major, catalogue=spec.catalogue)
    # A new server has its superuser alone, and a restore assigns objects to roles that must exist.
    there = {row[0] for row in session.execute("SELECT rolname::text FROM pg_roles")}
    supers = {
        entry.get("owner") for kind in OWNED_BY_SUPERUSERS for entry in spec.catalogue.get(kind, {}).values()
    }
    for role in spec.roles:
        if role not in there:
            rank = sql.SQL("SUPERUSER" if role in supers else "NOSUPERUSER")
            session.execute(sql.SQL("CREATE ROLE {} NOLOGIN {}").format(sql.Identifier(role), rank))
    return Place(server=server.address, setting=server.setting, session=session, is_private=True)


def prepare_server(
    place: Place, order: DrillOrder, spec: RestoreSpec, *, own: str, environment: RunEnvironment
) -> CleaningResult:
    """Check an existing server, and clean what killed runs left on it."""
    preflight.check_scratch_server(place.session, major=spec.identity.major, catalogue=spec.catalogue)
    preflight.check_rights(place.session, roles=spec.roles, no_owner=order.no_owner or spec.level == "C")
    if place.server.is_local:
        preflight.check_server_disk(place.session, spec.estimated_bytes, free=environment.free)
    listed = leftovers.read_scratch_names(order.work_folder)
    return leftovers.clean_databases(place.session, source=spec.name, listed=listed, own=own)


def clean_beside(source: Source, spec: RestoreSpec) -> CleaningResult:
    """Clean what killed runs left on the source's own server, even without a note."""
    if not leftovers.has_look_alikes(source.session):
        return CleaningResult()
    try:
        there = open_beside(source.address, setting=source.setting)
    except CouldNotRun as refusal:
        return CleaningResult(left=(f"databases beside the source: {refusal.what}",))
    with there.session as session:
        return leftovers.clean_databases(session, source=spec.name, listed=frozenset(), own="")


def read_system(place: Place) -> str:
    """System identifier of the cluster."""
    row = place.session.execute("SELECT system_identifier::text FROM pg_control_system()").fetchone()
    return str(row[0]) if row else ""


def create(place: Place, marker: Marker, spec: RestoreSpec) -> Scratch:
    """Create the scratch database; check that it is the one just created, and empty."""
    oid = scratch.create(place.session, marker, like=spec.like, owner=None)
    made = Scratch(address=place.server.with_database(marker.scratch), oid=oid, setting=place.setting)
    with made.open() as session:
        row = session.execute(
            "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE c.relkind = 'r' AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'"
        ).fetchone()
    # A pooler or a catch-all entry would lead to a database in use.
    if row != (0,):
        raise direct.make_refusal("a database that was just created contains tables", setting=place.setting)
    return made


def make_size_probe(place: Place, marker: Marker) -> Callable[[], int]:
    """Return a function that reads the size of the scratch database in bytes."""

    def probe() -> int:
        row = place.session.execute(
            "SELECT pg_database_size(oid) FROM pg_database WHERE datname = %s", [marker.scratch]
        ).fetchone()
        return int(row[0]) if row else 0

    return probe


def drop_copy(place: Place, marker: Marker, environment: RunEnvironment) -> list[str]:
    """Drop the scratch database; return what could not be dropped and why. Nothing to do on a private server."""
    if place.is_private:
        return []
    try:
        session = place.session
        # The session of the whole run may have gone with the fault that ended it; the copy must go all the same.
        if session.broken or session.closed:
            session = open_scratch(place.server, setting=place.setting)
        with session:
            holders = scratch.drop(session, marker.scratch, sleep=environment.sleep)
    except (psycopg.Error, CouldNotRun):
        return [f"database {marker.scratch} at {place.server.label}: the server cannot be reached"]
    if holders:
        return [f"database {marker.scratch} at {place.server.label}: held open by {', '.join(holders)}"]
    return []
