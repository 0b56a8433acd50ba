"""Cleans what killed runs left behind. What is not certainly a drill's is listed and left alone (D2)."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg

from ops.backups.connecting.address import Address
from ops.backups.connecting.session import Session, open_scratch
from ops.backups.programs import private_server
from ops.backups.restoring import run_notes, scratch
from ops.backups.restoring.run_notes import NotedServer, RunNote
from ops.backups.run import run_folder
from ops.backups.run.error_mapping import map_database_error
from ops.backups.run.errors import CouldNotRun
from ops.backups.run.run_folder import RUN_PREFIX, Marker

# `_` is a wildcard of LIKE, so it is escaped in LIKE_OURS. The comment of a database holds its run's marker.
DATABASES = """
SELECT d.datname, shobj_description(d.oid, 'pg_database'),
       d.datdba = (SELECT oid FROM pg_roles WHERE rolname = current_user)
FROM pg_database d WHERE d.datname LIKE %s ORDER BY 1
"""
LIKE_OURS = RUN_PREFIX.replace("_", r"\_") + "%"
# How pg_locks splits the one 64-bit key of an advisory lock. `objsubid` 2 would be a lock with two keys.
LOCKED = """
SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
               AND (classid::bigint << 32) | objid::bigint = %s)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundDatabase:
    """A database with the prefix of drills, and the evidence that a drill made it."""

    name: str
    marker: Marker | None
    is_owned_by_us: bool
    is_locked: bool
    is_listed_by_a_dead_run: bool = False
    """Whether the folder of a dead run names it: that run was killed before it could mark the database."""


def reason_to_leave(found: FoundDatabase, *, source: str) -> str | None:
    """PURE: return why a database must not be dropped; None if prefix, marker, source, owner and lock agree."""
    if not found.name.startswith(RUN_PREFIX):
        return "its name is not that of a scratch database"
    if not found.is_owned_by_us:
        return "another role owns it"
    if found.is_locked:
        return "a running drill holds it"
    # Killed between CREATE DATABASE and COMMENT. The note or the folder of that run names it.
    if found.marker is None:
        return None if found.is_listed_by_a_dead_run else "it has no marker of a drill"
    if found.marker.scratch != found.name:
        return "its marker names another database"
    # Another service may drill on this server too.
    if found.marker.source != source:
        return "it is a copy of another source"
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class CleaningResult:
    """What was removed and what was not, with the reasons."""

    dropped: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    """May not be a drill's: left alone."""
    still_there: tuple[str, ...] = ()
    """Is a drill's, but could not be removed or reached."""

    def __add__(self, other: "CleaningResult") -> "CleaningResult":
        return CleaningResult(
            dropped=self.dropped + other.dropped,
            left=self.left + other.left,
            still_there=self.still_there + other.still_there,
        )


def is_surely_ours(found: FoundDatabase, *, source: str) -> bool:
    """PURE: return whether a dead run made the database, whichever role owns it now."""
    if found.is_locked or not found.name.startswith(RUN_PREFIX):
        return False
    if found.marker is None:
        return found.is_listed_by_a_dead_run
    return found.marker.scratch == found.name and found.marker.source == source


def has_look_alikes(session: Session) -> bool:
    """Return whether a database of the server has the prefix of scratch databases."""
    return session.execute(f"{DATABASES} LIMIT 1".encode(), [LIKE_OURS]).fetchone() is not None


def clean_databases(server: Session, *, source: str, listed: frozenset[str], own: str) -> CleaningResult:
    """Drop the leftovers on one server, except the run's own database."""
    cleaned = CleaningResult()
    for found in _list_databases(server, listed):
        if found.name != own:
            cleaned += _clean_database(server, found, source=source)
    return cleaned


def _clean_database(server: Session, found: FoundDatabase, *, source: str) -> CleaningResult:
    why = reason_to_leave(found, source=source)
    if why is None and (holders := scratch.drop(server, found.name)):
        why = f"held open by {', '.join(holders)}"
    if why is None:
        return CleaningResult(dropped=(f"database {found.name}",))
    line = (f"database {found.name}: {why}",)
    return (
        CleaningResult(still_there=line)
        if is_surely_ours(found, source=source)
        else CleaningResult(left=line)
    )


def _list_databases(server: Session, listed: frozenset[str]) -> list[FoundDatabase]:
    return [
        FoundDatabase(
            name=name,
            marker=Marker.parse(comment),
            is_owned_by_us=is_owned,
            is_locked=_is_locked(server, name),
            is_listed_by_a_dead_run=name in listed,
        )
        for name, comment, is_owned in server.execute(DATABASES, [LIKE_OURS]).fetchall()
    ]


def clean_noted_runs(state: Path, *, known: Sequence[Address]) -> CleaningResult:
    """Clean what the noted dead runs left. A note stays until everything it names is removed."""
    cleaned = CleaningResult()
    for path in run_notes.list_notes(state):
        # A running drill holds its note; the lock of a killed one went with its process.
        with run_notes.try_lock_note(path) as is_over:
            if not is_over:
                continue
            noted = run_notes.read(path)
            if noted is None:
                cleaned += CleaningResult(left=(f"note {path}: it cannot be read",))
                continue
            found = _clean_noted_run(noted, path, known)
            if not found.left and not found.still_there:
                path.unlink(missing_ok=True)
            cleaned += found
    return cleaned


def _clean_noted_run(noted: RunNote, path: Path, known: Sequence[Address]) -> CleaningResult:
    # The folder first: this ends the run's programs, which use its database.
    cleaned, run = CleaningResult(), Path(noted.folder)
    if run.is_dir():
        cleaned += clean_folder(run)
    elif not run.parent.is_dir():
        cleaned += CleaningResult(
            left=(f"folder {run}: {run.parent} does not exist; if it was removed for good, remove {path}",)
        )
    if noted.server is not None:
        cleaned += _clean_on_server(noted, noted.server, path, known)
    return cleaned


def _clean_on_server(
    noted: RunNote, server: NotedServer, path: Path, known: Sequence[Address]
) -> CleaningResult:
    address = Address(keywords=server.keywords).with_secrets_from(known)

    def report_unreachable(why: str) -> CleaningResult:
        line = f"database {noted.scratch}: {why} If that server was removed for good, remove {path}"
        return CleaningResult(still_there=(line,))

    try:
        with open_scratch(address, setting=address.label) as session:
            if (
                _fetch_value(session, "SELECT system_identifier::text FROM pg_control_system()")
                != server.system
            ):
                return report_unreachable(f"another server answers at {address.label} now.")
            for found in _list_databases(session, frozenset({noted.scratch})):
                if found.name == noted.scratch:
                    return _clean_database(session, found, source=noted.source)
            return CleaningResult()
    except CouldNotRun as refusal:
        return report_unreachable(f"its server cannot be searched. {refusal.what}")
    except psycopg.Error as error:
        return report_unreachable(f"its server cannot be searched. {map_database_error(error).what}")


def read_scratch_names(work: Path) -> frozenset[str]:
    """Read the names of scratch databases from the folders of dead runs."""
    names = set()
    for path in _list_folders(work):
        with run_folder.try_lock(path) as is_free:
            if is_free and (marker := _read_marker(path)):
                names.add(marker.scratch)
    return frozenset(names)


def clean_folders(work: Path) -> CleaningResult:
    """Remove the folders of dead runs, and end their programs."""
    cleaned = CleaningResult()
    for path in _list_folders(work):
        cleaned += clean_folder(path)
    return cleaned


def clean_folder(path: Path) -> CleaningResult:
    """Remove the folder of one run if it is dead."""
    with run_folder.try_lock(path) as is_free:
        # In a shared folder another account's run may only look dead to this one.
        if path.stat().st_uid != os.geteuid():
            return CleaningResult(left=(f"folder {path.name}: another account owns it",))
        if not is_free:
            return CleaningResult(left=(f"folder {path.name}: a running drill holds it",))
        # A run writes its marker right after its lock: a folder with the lock alone is one that was killed in between.
        if _read_marker(path) is None and any(entry.name != "lock" for entry in path.iterdir()):
            return CleaningResult(left=(f"folder {path.name}: it has no marker of a drill",))
        run_folder.remove_run_folder(path)
        # The path of a socket is limited to about 100 bytes, so the sockets may lie in a folder of their own.
        run_folder.remove_run_folder(private_server.locate_sockets(path))
        if path.exists():
            return CleaningResult(still_there=(f"folder {path}: something in it cannot be removed",))
        return CleaningResult(dropped=(f"folder {path.name}",))


def _list_folders(work: Path) -> list[Path]:
    # A link could lead the removal to any folder of this account.
    return sorted(path for path in work.glob(f"{RUN_PREFIX}*") if path.is_dir() and not path.is_symlink())


def _read_marker(path: Path) -> Marker | None:
    try:
        return Marker.parse((path / "marker.json").read_text(encoding="utf-8"))
    except OSError:
        return None


def _is_locked(server: Session, name: str) -> bool:
    return bool(_fetch_value(server, LOCKED, [scratch.compute_lock_key(name)]))


def _fetch_value(session: Session, query: str, values: Sequence[object] = ()) -> object:
    row = session.execute(query.encode(), values).fetchone()
    return row[0] if row else None
