"""What runs that were killed left behind: recognised as ours and cleaned, or listed and left alone (D2)."""

import os
from dataclasses import dataclass
from pathlib import Path

from ops.drill import folder, private_server, scratch
from ops.drill.folder import PREFIX, Marker
from ops.drill.session import Session

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

    def __add__(self, other: "Cleaned") -> "Cleaned":
        return Cleaned(dropped=self.dropped + other.dropped, left=self.left + other.left)


def clean_databases(server: Session, *, source: str, listed: frozenset[str], own: str) -> Cleaned:
    """Drop the leftovers on one server, except the run's `own` database."""
    dropped, left = [], []
    for name, comment, is_owned in server.execute(DATABASES, [LIKE_OURS]).fetchall():
        if name == own:
            continue
        found = Found(
            name=name,
            marker=Marker.read(comment),
            is_owned_by_us=is_owned,
            is_locked=_is_locked(server, name),
            is_listed_by_a_dead_run=name in listed,
        )
        why = reason_to_leave(found, source=source)
        if why is None and (holders := scratch.drop(server, name)):
            why = f"held open by {', '.join(holders)}"
        if why is None:
            dropped.append(f"database {name}")
        else:
            left.append(f"database {name}: {why}")
    return Cleaned(dropped=tuple(dropped), left=tuple(left))


def listed_by_dead_runs(work: Path) -> frozenset[str]:
    """The scratch databases named in the folders of runs that are gone."""
    names = set()
    for path in _folders(work):
        with folder.held(path) as is_free:
            if is_free and (marker := _marker(path)):
                names.add(marker.scratch)
    return frozenset(names)


def clean_folders(work: Path) -> Cleaned:
    """Remove the folders of runs that are gone, and end what they had started."""
    dropped, left = [], []
    for path in _folders(work):
        with folder.held(path) as is_free:
            if path.stat().st_uid != os.geteuid():
                left.append(f"folder {path.name}: another account owns it")
            elif not is_free:
                left.append(f"folder {path.name}: a drill that lives holds it")
            elif _marker(path) is None and any(entry.name != "lock" for entry in path.iterdir()):
                left.append(f"folder {path.name}: it carries no marker of a drill")
            else:
                folder.remove(path)
                folder.remove(private_server.sockets_of(path))
                if path.exists():
                    left.append(f"folder {path.name}: something in it cannot be removed")
                else:
                    dropped.append(f"folder {path.name}")
    return Cleaned(dropped=tuple(dropped), left=tuple(left))


def _folders(work: Path) -> list[Path]:
    return sorted(path for path in work.glob(f"{PREFIX}*") if path.is_dir() and not path.is_symlink())


def _marker(path: Path) -> Marker | None:
    try:
        return Marker.read((path / "marker.json").read_text(encoding="utf-8"))
    except OSError:
        return None


def _is_locked(server: Session, name: str) -> bool:
    key = scratch.lock_key(name)
    row = server.execute(LOCKED, [key]).fetchone()
    return bool(row and row[0])
