"""PURE. Frozen records of turns, attempts and list entries, as staff read them."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID


class TurnList(StrEnum):
    """The lists of turns."""

    NOW = "now"
    ANSWERED = "answered"
    PAUSED = "paused"
    HELD = "held"
    EXPIRED = "expired"
    REFUSED = "refused"
    STOPPED = "stopped"


def build_state_key(
    state: str, answered_by: int | None, is_expired: bool, settled: str, openings: int
) -> str:
    """A key that changes whenever a page about a turn is outdated, apart from a live reply's words."""
    return f"{state}:{answered_by or 0}:{int(is_expired)}:{settled}:{openings}"


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptRecord:
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
class TurnRecord:
    """Everything about one turn."""

    id: int
    key: UUID
    conversation: int
    participant: int
    participant_name: str
    site: int
    site_name: str
    state: str
    reason: str
    question: str
    openings: tuple[dict[str, str], ...]
    reply: str
    """Every word shown, also of a half answer."""
    seq: int
    line: str
    """The drafted line at its end, if any."""
    shortened: bool
    marked: bool
    """Served by a preset that marks its turns."""
    skipped: tuple[dict[str, Any], ...]
    """[{"lane", "why", "until", "tried"}]: lanes skipped for their breaker; `tried`: used all the same."""
    lane: str
    model: str
    preset: str
    routing_version: int
    persona_version: str
    easy_words: bool = False
    """Whether its prompt asked for easy words."""
    attempts: tuple[AttemptRecord, ...]
    held_until: datetime | None
    is_expired: bool
    """The hold is over, and the question is neither answered nor settled."""
    settled: str
    """How the question was settled without an answer: a `Settlement`; empty while it is not."""
    answered_by: int | None
    answers: tuple[int, ...]
    """The turns whose held questions this reply answered."""
    owner: UUID
    owner_heard_at: datetime | None
    """The last heartbeat of the turn's process; None once its row is dropped."""
    created_at: datetime
    wait_until: datetime
    admitted_at: datetime | None
    first_word_at: datetime | None
    closed_at: datetime | None

    @property
    def is_held(self) -> bool:
        """Whether the next message also answers this question, and first."""
        is_open = self.answered_by is None and not self.settled
        return self.held_until is not None and is_open and not self.is_expired

    @property
    def is_live(self) -> bool:
        """Whether it has not ended."""
        return self.closed_at is None

    @property
    def state_key(self) -> str:
        """See `build_state_key`."""
        return build_state_key(
            self.state, self.answered_by, self.is_expired, self.settled, len(self.openings)
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnEntry:
    """One turn in a list, without any of its text."""

    id: int
    participant: int
    participant_name: str
    site: int
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
    def state_key(self) -> str:
        """See `build_state_key`."""
        return build_state_key(self.state, self.answered_by, self.is_expired, self.settled, self.openings)


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnPage:
    """A page of a list. `further`: the `after` of the next page, which may be empty; None on the last."""

    entries: tuple[TurnEntry, ...]
    further: int | None
