"""PURE: which backups go when a new one is whole."""

from collections.abc import Iterable

PREFIX = "companion-"
PARTIAL = ".partial"


def surplus(names: Iterable[str], *, keep: int) -> list[str]:
    """The oldest whole backups beyond the newest `keep`. Names sort by time; anything not ours is left alone."""
    ours = whole(names)
    return ours[:-keep] if keep else []


def whole(names: Iterable[str]) -> list[str]:
    """The backups that were finished, the oldest first."""
    return sorted(name for name in names if name.startswith(PREFIX) and not name.endswith(PARTIAL))


def abandoned(names: Iterable[str]) -> list[str]:
    """Half-made and half-removed backups of runs that were killed: the lock says that no other run lives."""
    return [name for name in names if name.startswith(PREFIX) and name.endswith(PARTIAL)]
