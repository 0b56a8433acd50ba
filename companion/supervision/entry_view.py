"""What stands in a conversation beside its turns, as it is shown. PURE."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from companion.supervision.states import EntryKind


@dataclass(frozen=True, kw_only=True, slots=True)
class EntryView:
    """One entry as it is shown, after turn `after_turn` (0: before all of them)."""

    entry: int
    conversation: int
    kind: str
    key: UUID | None
    name: str
    text: str
    at: datetime
    after_turn: int
    wait_s: float = 0.0
    """Seconds before it may be shown."""

    def to_snapshot(self) -> dict[str, Any]:
        """The shape among the turns in `hello` and history pages: entry, kind, key, name, text, at.

        What a person said has `from` as well, as in a `said` frame.
        """
        sender = {"from": "person"} if self.kind == EntryKind.SAID else {}
        return {
            **sender,
            "entry": self.entry,
            "kind": self.kind,
            "key": None if self.key is None else str(self.key),
            "name": self.name,
            "text": self.text,
            "at": self.at.isoformat(),
        }


def entries_to_show(entries: Sequence[EntryView]) -> list[EntryView]:
    """Return the entries, oldest first, before the first that may not be shown yet."""
    shown = []
    for entry in sorted(entries, key=lambda one: one.entry):
        if entry.wait_s:
            break
        shown.append(entry)
    return shown
