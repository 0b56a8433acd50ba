"""What runs that were killed left behind: recognised as ours and cleaned, or listed and left alone (D2)."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg

from ops.backups.connecting.address import Address
from ops.backups.connecting.session import Session, open_scratch
from ops.backups.programs import private_server
from ops.backups.restoring import scratch, whereabouts
from ops.backups.restoring.whereabouts import Noted, NotedServer
from ops.backups.run import run_folder
from ops.backups.run.error_mapping import told
from ops.backups.run.errors import CouldNotRun
from ops.backups.run.run_folder import PREFIX, Marker

DATABASES = """
SELECT d.datname, shobj_description(d.oid, 'pg_database'),
       d.datdba = (SELECT oid FROM pg_roles WHERE rolname = current_user)
FROM pg_database d WHERE d.datname LIKE %s ORDER BY 1
"""
LIKE_OURS = PREFIX.replace("_", r"\_") + "%"
LOCKED = """
SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
               AND (classid::bigint << 32) | objid::bigint = %s)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A database with our prefix, and what speaks for its being ours."""

    name: str
    marker: Marker | None
    is_owned_by_us: bool
    is_locked: bool
    is_listed_by_a_dead_run: bool = False
    """A folder of a run that is gone names it: it was killed before it could mark it."""


def reason_to_leave(found: Found, *, source: str) -> str | None:
    """PURE: why a database must not be dropped, or None when prefix, marker, source, owner and lock agree."""
    if not found.name.startswith(PREFIX):
        return "its name is not one of ours"
    if not found.is_owned_by_us:
        return "another role owns it"
    if found.is_locked:
        return "a drill that lives holds it"
    if found.marker is None:
        return None if found.is_listed_by_a_dead_run else "it carries no marker of a drill"
    if found.marker.scratch != found.name:
        return "its marker names another database"
    if found.marker.source != source:
        return "it is a copy of another source"
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class Cleaned:
    """What was cleaned and what was left, with the reason."""

    dropped: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    """Looks like ours, and may be another's."""
    still_there: tuple[str, ...] = ()
    """Is ours, and could not be removed or not even be looked for."""

    def __add__(self, other: "Cleaned") -> "Cleaned":
        return Cleaned(
            dropped=self.dropped + other.dropped,
            left=self.left + other.left,
            still_there=self.still_there + other.still_there,
        )


def is_surely_ours(found: Found, *, source: str) -> bool:
    """PURE: whether a dead run of ours made it, whichever role owns it now."""
    if found.is_locked or not found.name.startswith(PREFIX):
        return False
    if found.marker is None:
        return found.is_listed_by_a_dead_run
    return found.marker.scratch == found.name and found.marker.source == source


def look_alikes(session: Session) -> bool:
    """Whether any database of the session's server carries our prefix."""
    return session.execute(f"{DATABASES} LIMIT 1".encode(), [LIKE_OURS]).fetchone() is not None


def clean_databases(server: Session, *, source: str, listed: frozenset[str], own: str) -> Cleaned:
    """Drop the leftovers on one server, except the run's `own` database."""
    cleaned = Cleaned()
    for found in _databases(server, listed):
        if found.name != own:
            cleaned += _clean_database(server, found, source=source)
    return cleaned


def _clean_database(server: Session, found: Found, *, source: str) -> Cleaned:
    why = reason_to_leave(found, source=source)
    if why is None and (holders := scratch.drop(server, found.name)):
        why = f"held open by {', '.join(holders)}"
    if why is None:
        return Cleaned(dropped=(f"database {found.name}",))
    line = (f"database {found.name}: {why}",)
    return Cleaned(still_there=line) if is_surely_ours(found, source=source) else Cleaned(left=line)


def _databases(server: Session, listed: frozenset[str]) -> list[Found]:
    return [
        Found(
            name=name,
            marker=Marker.read(comment),
            is_owned_by_us=is_owned,
            is_locked=_is_locked(server, name),
            is_listed_by_a_dead_run=name in listed,
        )
        for name, comment, is_owned in server.execute(DATABASES, [LIKE_OURS]).fetchall()
    ]


def clean_noted(state: Path, *, known: Sequence[Address]) -> Cleaned:
    """Clear what killed runs left, wherever they worked. A note stays until all that it names is gone."""
    cleaned = Cleaned()
    for path in whereabouts.paths(state):
        with whereabouts.of_a_dead_run(path) as is_over:
            if not is_over:
                continue
            noted = whereabouts.read(path)
            if noted is None:
                cleaned += Cleaned(left=(f"note {path}: it cannot be read",))
                continue
            found = _clean_noted(noted, path, known)
            if not found.left and not found.still_there:
                path.unlink(missing_ok=True)
            cleaned += found
    return cleaned


def _clean_noted(noted: Noted, path: Path, known: Sequence[Address]) -> Cleaned:
    # The folder first: ending the run's children lets go of its database.
    cleaned, run = Cleaned(), Path(noted.folder)
    if run.is_dir():
        cleaned += clean_folder(run)
    elif not run.parent.is_dir():
        cleaned += Cleaned(
            left=(f"folder {run}: {run.parent} is not there; once it is gone for good, remove {path}",)
        )
    if noted.server is not None:
        cleaned += _clean_on_server(noted, noted.server, path, known)
    return cleaned


def _clean_on_server(noted: Noted, server: NotedServer, path: Path, known: Sequence[Address]) -> Cleaned:
    address = Address(keywords=server.keywords).with_secrets_of(known)

    def unknown(why: str) -> Cleaned:
        line = f"database {noted.scratch}: {why} If that server is gone for good, remove {path}"
        return Cleaned(still_there=(line,))

    try:
        with open_scratch(address, setting=address.label) as session:
            if _one(session, "SELECT system_identifier::text FROM pg_control_system()") != server.system:
                return unknown(f"another server answers at {address.label} now.")
            for found in _databases(session, frozenset({noted.scratch})):
                if found.name == noted.scratch:
                    return _clean_database(session, found, source=noted.source)
            return Cleaned()
    except CouldNotRun as refusal:
        return unknown(f"it cannot be looked for. {refusal.what}")
    except psycopg.Error as error:
        return unknown(f"it cannot be looked for. {told(error).what}")


def listed_by_dead_runs(work: Path) -> frozenset[str]:
    """The scratch databases named in the folders of runs that are gone."""
    names = set()
    for path in _folders(work):
        with run_folder.held(path) as is_free:
            if is_free and (marker := _marker(path)):
                names.add(marker.scratch)
    return frozenset(names)


def clean_folders(work: Path) -> Cleaned:
    """Remove the folders of runs that are gone, and end what they had started."""
    cleaned = Cleaned()
    for path in _folders(work):
        cleaned += clean_folder(path)
    return cleaned


def clean_folder(path: Path) -> Cleaned:
    """Remove the folder of one run, if that is over."""
    with run_folder.held(path) as is_free:
        if path.stat().st_uid != os.geteuid():
            return Cleaned(left=(f"folder {path.name}: another account owns it",))
        if not is_free:
            return Cleaned(left=(f"folder {path.name}: a drill that lives holds it",))
        if _marker(path) is None and any(entry.name != "lock" for entry in path.iterdir()):
            return Cleaned(left=(f"folder {path.name}: it carries no marker of a drill",))
        run_folder.remove(path)
        run_folder.remove(private_server.sockets_of(path))
        if path.exists():
            return Cleaned(still_there=(f"folder {path}: something in it cannot be removed",))
        return Cleaned(dropped=(f"folder {path.name}",))


def _folders(work: Path) -> list[Path]:
    return sorted(path for path in work.glob(f"{PREFIX}*") if path.is_dir() and not path.is_symlink())


def _marker(path: Path) -> Marker | None:
    try:
        return Marker.read((path / "marker.json").read_text(encoding="utf-8"))
    except OSError:
        return None


def _is_locked(server: Session, name: str) -> bool:
    return bool(_one(server, LOCKED, [scratch.lock_key(name)]))


def _one(session: Session, query: str, values: Sequence[object] = ()) -> object:
    row = session.execute(query.encode(), values).fetchone()
    return row[0] if row else None
