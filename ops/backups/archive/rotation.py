"""PURE: which backups go when a new one is whole."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

PREFIX = "companion-"
NAME = re.compile(r"companion-\d{8}T\d{6}Z")
"""The exact name of a backup. Anything else in the folder was put there by somebody else."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """One whole backup, as its manifest describes it."""

    name: str
    made_at: datetime
    source: str
    """The cluster's number and the database's name."""


def surplus(there: Iterable[Kept], *, just_made: Kept, keep: int) -> list[str]:
    """The oldest backups of the same source beyond the newest `keep`, the one just made included. 0 keeps all.

    A backup dated later than the one just made is neither removed nor counted: its clock was wrong.
    """
    if not keep:
        return []
    older = [
        one
        for one in there
        if one.name != just_made.name and one.source == just_made.source and one.made_at <= just_made.made_at
    ]
    older.sort(key=lambda one: (one.made_at, one.name))
    return [one.name for one in older[: max(0, len(older) - (keep - 1))]]
