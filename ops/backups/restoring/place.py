"""Where a copy is restored: a server of the drill's own, another server, or by explicit choice the source's."""

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
from ops.backups.restoring.leftovers import Cleaned
from ops.backups.restoring.order import Order, World
from ops.backups.restoring.restore_spec import Wanted
from ops.backups.restoring.scratch import Scratch
from ops.backups.run.errors import CouldNotRun
from ops.backups.run.run_folder import Marker, RunFolder
from ops.backups.run.watch import Watch

MAINTENANCE = ("postgres", "template1")
OWNED_BY_SUPERUSERS = ("foreign-data wrapper", "event trigger", "publication")
"""Kinds of objects that a restore may give to superusers only, some of them always and publications at times."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A server and a session on its maintenance database, which holds the run's advisory lock."""

    server: Address
    setting: str
    session: Session
    is_private: bool = False


def existing(order: Order) -> Place:
    """The server that --target names, or the source's own. Direct, or refused before anything is created."""
    if order.target is not None:
        direct.refuse_catch_all(order.target, setting=order.target_setting)
        session = open_scratch(order.target, setting=order.target_setting)
        return Place(server=order.target, setting=order.target_setting, session=session)
    assert order.source is not None
    return beside(order.source, setting=order.setting)


def beside(source: Address, *, setting: str) -> Place:
    """The maintenance database of a source's own server. Raises CouldNotRun."""
    for database in MAINTENANCE:
        server = source.to(database)
        with suppress(CouldNotRun):
            return Place(server=server, setting=setting, session=open_scratch(server, setting=setting))
    raise CouldNotRun(
        "Neither postgres nor template1 can be connected to on the source's server.",
        mend="Name a maintenance database with --target URL.",
    )


def refuse_code_of_strangers(order: Order, wanted: Wanted) -> None:
    """Raise CouldNotRun where a backup that was not signed here would run its functions on a server in use."""
    if wanted.is_signed or order.where == "private server":
        return
    if order.where == "target" and order.trust:
        return
    raise CouldNotRun(
        "This backup was not signed by this service: a restore runs the functions in it, whoever wrote them.",
        mend="Leave --target out: a private server of the drill's own takes it"
        + (", or say --trust if you know where it comes from." if order.where == "target" else "."),
    )


def private(folder: RunFolder, tools: Tools, wanted: Wanted, *, stack: ExitStack, watch: Watch) -> Place:
    """Start a server of our own, with the roles the copy's objects belong to. It stops with the stack."""
    server = PrivateServer(folder, tools)
    stack.callback(server.stop)
    server.start(watch.tick)
    session = open_scratch(server.address, setting=server.setting)
    stack.callback(session.close)
    preflight.check_scratch_server(session, major=tools.major, catalogue=wanted.catalogue)
    there = {row[0] for row in session.execute("SELECT rolname::text FROM pg_roles")}
    supers = {
        entry.get("owner")
        for kind in OWNED_BY_SUPERUSERS
        for entry in wanted.catalogue.get(kind, {}).values()
    }
    for role in wanted.roles:
        if role not in there:
            rank = sql.SQL("SUPERUSER" if role in supers else "NOSUPERUSER")
            session.execute(sql.SQL("CREATE ROLE {} NOLOGIN {}").format(sql.Identifier(role), rank))
    return Place(server=server.address, setting=server.setting, session=session, is_private=True)


def make_ready(place: Place, order: Order, wanted: Wanted, *, own: str, world: World) -> Cleaned:
    """Check a server that is not ours, and clean what killed runs left on it."""
    preflight.check_scratch_server(place.session, major=wanted.identity.major, catalogue=wanted.catalogue)
    preflight.check_rights(place.session, roles=wanted.roles, no_owner=order.no_owner or wanted.level == "C")
    if place.server.is_local:
        preflight.check_servers_room(place.session, wanted.size_guessed, free=world.free)
    listed = leftovers.listed_by_dead_runs(order.work_folder)
    return leftovers.clean_databases(place.session, source=wanted.name, listed=listed, own=own)


def clean_beside(source: Source, wanted: Wanted) -> Cleaned:
    """Clear what killed runs left on the source's own server, of which there may be no note."""
    if not leftovers.look_alikes(source.session):
        return Cleaned()
    try:
        there = beside(source.address, setting=source.setting)
    except CouldNotRun as refusal:
        return Cleaned(left=(f"databases beside the source: {refusal.what}",))
    with there.session as session:
        return leftovers.clean_databases(session, source=wanted.name, listed=frozenset(), own="")


def system_of(place: Place) -> str:
    """The cluster's own number."""
    row = place.session.execute("SELECT system_identifier::text FROM pg_control_system()").fetchone()
    return str(row[0]) if row else ""


def create(place: Place, marker: Marker, wanted: Wanted) -> Scratch:
    """The scratch database, proved to be the one just created and to be empty."""
    oid = scratch.create(place.session, marker, like=wanted.like, owner=None)
    made = Scratch(address=place.server.to(marker.scratch), oid=oid, setting=place.setting)
    with made.open() as session:
        row = session.execute(
            "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE c.relkind = 'r' AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'"
        ).fetchone()
    if row != (0,):
        raise direct.refusal("a database that was just created has tables in it", setting=place.setting)
    return made


def size_of(place: Place, marker: Marker) -> Callable[[], int]:
    """A probe: the bytes of the scratch database as it grows."""

    def probe() -> int:
        row = place.session.execute(
            "SELECT pg_database_size(oid) FROM pg_database WHERE datname = %s", [marker.scratch]
        ).fetchone()
        return int(row[0]) if row else 0

    return probe


def give_back(place: Place, marker: Marker, world: World) -> list[str]:
    """Drop the scratch database; returns what could not be dropped and why. A private server goes as a whole."""
    if place.is_private:
        return []
    try:
        session = place.session
        if session.broken or session.closed:
            session = open_scratch(place.server, setting=place.setting)
        with session:
            holders = scratch.drop(session, marker.scratch, sleep=world.sleep)
    except (psycopg.Error, CouldNotRun):
        return [f"database {marker.scratch} at {place.server.label}: the server cannot be reached"]
    if holders:
        return [f"database {marker.scratch} at {place.server.label}: held open by {', '.join(holders)}"]
    return []
