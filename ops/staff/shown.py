"""How much of a list a page is served with. A page says how many more there are; a script shows them all."""

from collections.abc import Sequence
from typing import TypeVar

MAX_SHOWN = 200

Item = TypeVar("Item")


def cut_list(items: Sequence[Item], *, most: int = MAX_SHOWN) -> tuple[Sequence[Item], int]:
    """Return the first items, at most `most`, and how many more there are."""
    return items[:most], max(0, len(items) - most)
