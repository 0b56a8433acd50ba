"""Reads stored selections as values. Uses Django's connection."""

from collections.abc import Sequence

from ops.models import SelectionRow
from routing import selection
from routing.errors import SelectionInvalid
from routing.lanes import Routing
from routing.selection import COMPILED_IN, Selection


def read_newest() -> Selection:
    """The last row, whether or not this release can use it; without rows, the compiled-in selection."""
    row = SelectionRow.objects.order_by("-version").first()
    return from_row(row) if row else COMPILED_IN


def read_history(limit: int) -> list[Selection]:
    """The last rows, newest first."""
    return [from_row(row) for row in SelectionRow.objects.order_by("-version")[:limit]]


def read_version(version: int) -> Selection | None:
    """The row of this version, if there is one."""
    row = SelectionRow.objects.filter(version=version).first()
    return from_row(row) if row else None


def from_row(row: SelectionRow) -> Selection:
    """The row as a value, not validated."""
    return Selection(**{name: getattr(row, name) for name in Selection.__slots__})


def newest_usable(rows: Sequence[Selection], routing: Routing) -> Selection:
    """The newest of these rows that this release can use; without one, the compiled-in selection.

    Processes of this release choose in the same way.
    """
    for row in rows:
        try:
            return selection.read({name: getattr(row, name) for name in row.__slots__}, routing)
        except SelectionInvalid:
            continue
    return COMPILED_IN
