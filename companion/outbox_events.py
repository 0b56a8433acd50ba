"""What a socket's outbox is told: chunks and turns as they are stored, entries, and what is not stored at all."""

from dataclasses import dataclass
from uuid import UUID

from companion.history import TurnView
from companion.journal import StoredChunk
from companion.kept_questions import KeptQuestion
from companion.supervision.entry_view import EntryView


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnAccepted:
    """A message of this conversation is stored as a turn."""

    turn: int
    conversation: int
    key: UUID


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptQuestionsRead:
    """The current kept questions of this conversation, oldest first. `asked`: the page has requested them."""

    questions: tuple[KeptQuestion, ...]
    asked: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class WritingSeen:
    """The participant of this conversation is typing; with `line`, the person who has taken over is."""

    conversation: int
    line: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class StaffPauseRead:
    """Whether staff have paused the companion in this conversation; `line` says so, or that it is over."""

    conversation: int
    is_paused: bool
    line: str


Event = TurnAccepted | StoredChunk | TurnView | KeptQuestionsRead | EntryView | WritingSeen | StaffPauseRead
