"""PURE: selects the backups to remove after a new one is complete."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

PREFIX = "companion-"
NAME = re.compile(r"companion-\d{8}T\d{6}Z")
"""The exact name of a backup. Other entries of the folder do not come from this program."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredBackup:
    """A complete backup, as its manifest describes it."""

    name: str
    made_at: datetime
    source: str
    """System identifier and database name."""


def select_surplus(there: Iterable[StoredBackup], *, just_made: StoredBackup, keep: int) -> list[str]:
    """Return the names of all but the newest `keep` backups of the same source, including the new one. 0 keeps all.

    A backup dated later than the new one is neither removed nor counted: its clock was wrong.
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
