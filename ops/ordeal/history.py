"""The record of one run as JSON lines in order of time: who did what, and when. PURE.

The README of the room has the format: every event, and what its fields mean.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

TABLES: Mapping[str, tuple[str, ...]] = {
    "turns": (
        "id",
        "conversation",
        "key",
        "question",
        "state",
        "reason",
        "openings",
        "reply",
        "seq",
        "line",
        "owner",
        "fence",
        "lane",
        "answered_by",
        "settled",
        "held_until",
        "tried_along",
        "attempts",
        "created_at",
        "wait_until",
        "admitted_at",
        "first_word_at",
        "closed_at",
    ),
    "chunks": ("turn", "seq", "text"),
    "entries": ("id", "conversation", "kind", "key", "person", "name", "text", "after_turn", "at"),
    "controls": ("conversation", "person", "person_name", "quiet_since", "take_overs"),
    "flags": (
        "id",
        "tier",
        "kind",
        "source",
        "conversation",
        "participant",
        "turn",
        "count",
        "state",
        "owner",
        "owner_name",
        "opened_at",
        "accepted_at",
        "closed_at",
        "closed_by_name",
        "outcome",
    ),
    "flag_steps": ("id", "flag", "what", "who", "at"),
    "pauses": ("id", "scope", "about", "by_name", "at", "ended_at"),
    "visits": ("id", "participant", "started_at", "ended_at", "end_reason"),
    "audit": ("id", "at", "who", "what", "about", "note"),
    "processes": ("id", "pid", "beat_at", "draining"),
    "left": ("kind", "name"),
}
"""The fields of each table's rows. `turns.reply` is whole, half answers included; `turns.attempts` are {number, lane,
failure, words, started_s, took_s}; `chunks` are words not folded into their turn; `left` is what remains after the
end: a `process` that runs, a `file` in a scratch folder, a `slot`, a `probe` or a `lock` that is still held."""


class HistoryUnreadable(Exception):
    """A file is no history, or that of a run without an end. The text says which."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryEvent:
    """One line. `data` has the fields beside `at`, `who` and `what`."""

    at: float
    who: str
    what: str
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def frame(self) -> Mapping[str, Any]:
        """The frame of a `hello`, `sent` or `got`; empty for other events."""
        frame: Mapping[str, Any] = self.data.get("frame", {})
        return frame

    @property
    def role(self) -> str:
        """The part of `who` before its colon: page, staff, provider, process, or all of it."""
        return self.who.partition(":")[0]

    @property
    def name(self) -> str:
        """The part of `who` after its colon, without the number of a page."""
        return self.who.partition(":")[2].partition("/")[0]

    def to_line(self) -> str:
        """As one JSON line, without its newline."""
        document = {"at": round(self.at, 6), "who": self.who, "what": self.what, **self.data}
        return json.dumps(document, ensure_ascii=True, separators=(",", ":"))


@dataclass(frozen=True)
class RunHistory:
    """All events of one run, in order of time."""

    events: Sequence[HistoryEvent]

    @cached_property
    def start(self) -> Mapping[str, Any]:
        """The fields of the first event, `run began`; empty without one."""
        return next((one.data for one in self.events if (one.who, one.what) == ("run", "began")), {})

    @cached_property
    def limits(self) -> Mapping[str, Any]:
        """Figures by name, and `lanes`, the turns that each lane takes."""
        limits: Mapping[str, Any] = self.start.get("limits", {})
        return limits

    @cached_property
    def people(self) -> Mapping[str, Mapping[str, Any]]:
        """Each person's `conversation`, `participant` and `code`, by name."""
        people: Mapping[str, Mapping[str, Any]] = self.start.get("people", {})
        return people

    @property
    def is_whole(self) -> bool:
        """Whether the run came to its end and its record was read."""
        return any(one.who == "record" and one.data["table"] == "turns" for one in self.events)

    def rows(self, table: str) -> list[Mapping[str, Any]]:
        """The stored rows of one of TABLES; none if the run did not read it."""
        return [
            row
            for one in self.events
            if one.who == "record" and one.what == "stored" and one.data["table"] == table
            for row in one.data["rows"]
        ]

    def of(self, role: str, *what: str) -> Iterator[HistoryEvent]:
        """The events of a role in order, all or those of these kinds."""
        return (one for one in self.events if one.role == role and (not what or one.what in what))


def read_history(path: Path) -> RunHistory:
    """Read a file. Raises HistoryUnreadable, and OSError."""
    with path.open(encoding="utf-8") as lines:
        return parse_history(lines)


def parse_history(lines: Iterable[str]) -> RunHistory:
    """Parse JSON lines and order them by time. Raises HistoryUnreadable."""
    events = [_parse_line(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    # Stable: events of one moment stay in the order in which they were written.
    return RunHistory(sorted(events, key=lambda event: event.at))


def _parse_line(number: int, line: str) -> HistoryEvent:
    try:
        document = json.loads(line)
        at, who, what = document.pop("at"), document.pop("who"), document.pop("what")
        return HistoryEvent(at=float(at), who=str(who), what=str(what), data=document)
    except (ValueError, KeyError, TypeError, AttributeError) as failure:
        raise HistoryUnreadable(f"line {number}: {type(failure).__name__}") from None
