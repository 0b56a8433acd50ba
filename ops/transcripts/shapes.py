"""PURE. What is known of a turn: the whole story, an attempt, an entry in a list."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID


class Shelf(StrEnum):
    """The lists that turns are looked through by."""

    NOW = "now"
    ANSWERED = "answered"
    PAUSED = "paused"
    HELD = "held"
    EXPIRED = "expired"
    REFUSED = "refused"
    STOPPED = "stopped"


def standing(state: str, answered_by: int | None, is_expired: bool, settled: str, openings: int) -> str:
    """What a page about a turn depends on, apart from the words of a reply that is being said."""
    return f"{state}:{answered_by or 0}:{int(is_expired)}:{settled}:{openings}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Tried:
    """One attempt. Times in seconds; `started_s` counts from the moment the turn began to speak."""

    number: int
    lane: str
    model: str
    failure: str
    """A failure class; empty when the reply was whole."""
    status: int | None
    code: str
    waited_s: float
    started_s: float
    took_s: float
    bytes_received: int
    words: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Story:
    """Everything that is known of one turn."""

    id: int
    key: UUID
    participant: int
    participant_name: str
    site_name: str
    state: str
    reason: str
    question: str
    openings: tuple[dict[str, str], ...]
    reply: str
    """Every word that was said, of a half answer too."""
    seq: int
    line: str
    """The drafted line that stands at the end; empty if none does."""
    shortened: bool
    marked: bool
    """ServedRouting by a preset that marks its turns."""
    skipped: tuple[dict[str, Any], ...]
    """[{"lane", "why", "until", "tried"}]: lanes whose breaker barred them; tried: nevertheless, as all were barred."""
    lane: str
    model: str
    preset: str
    routing_version: int
    persona_version: str
    attempts: tuple[Tried, ...]
    held_until: datetime | None
    is_expired: bool
    """The hold has run out, and the question is neither answered nor settled."""
    settled: str
    """How the question was settled without an answer: a `Settlement`, empty while it is not."""
    answered_by: int | None
    answers: tuple[int, ...]
    """The turns whose held questions this reply answered."""
    owner: UUID
    owner_heard_at: datetime | None
    """The last heartbeat of the process that serves, or served, this turn; None when it is long gone."""
    created_at: datetime
    wait_until: datetime
    admitted_at: datetime | None
    first_word_at: datetime | None
    closed_at: datetime | None

    @property
    def is_held(self) -> bool:
        """Whether the next message will be answered after this question."""
        open_still = self.answered_by is None and not self.settled
        return self.held_until is not None and open_still and not self.is_expired

    @property
    def is_live(self) -> bool:
        """Whether it still goes on."""
        return self.closed_at is None

    @property
    def stands(self) -> str:
        """See `standing`."""
        return standing(self.state, self.answered_by, self.is_expired, self.settled, len(self.openings))


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One turn in a list: how it stands, and no word of it."""

    id: int
    participant_name: str
    site_name: str
    state: str
    reason: str
    created_at: datetime
    closed_at: datetime | None
    held_until: datetime | None
    is_expired: bool
    settled: str
    answered_by: int | None
    openings: int

    @property
    def stands(self) -> str:
        """See `standing`."""
        return standing(self.state, self.answered_by, self.is_expired, self.settled, self.openings)


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """Part of a list; `further` is the id to go on after, None at its end."""

    entries: tuple[Entry, ...]
    further: int | None
