"""The rules of the house: every figure and drafted line that turns are driven by, passed down from the start."""

from dataclasses import dataclass
from typing import Protocol


class DraftedLines(Protocol):
    """The drafted lines a turn may show. A persona's `lines` satisfy it."""

    @property
    def pause(self) -> str: ...
    @property
    def i_am_back(self) -> str: ...
    @property
    def queued(self) -> str: ...
    @property
    def still_here(self) -> str: ...
    @property
    def shortened(self) -> str: ...
    @property
    def try_again(self) -> str: ...
    @property
    def reduced(self) -> str: ...
    @property
    def stopped(self) -> str: ...
    @property
    def taken_back(self) -> str: ...
    @property
    def nothing_written(self) -> str: ...
    @property
    def declined(self) -> str: ...
    @property
    def kept(self) -> str: ...
    @property
    def ask_again_later(self) -> str: ...
    @property
    def unanswerable(self) -> str: ...
    @property
    def too_long(self) -> str: ...
    @property
    def not_understood(self) -> str: ...
    @property
    def not_allowed(self) -> str: ...
    @property
    def one_at_a_time(self) -> str: ...
    @property
    def too_many_pages(self) -> str: ...
    @property
    def instruction_held(self) -> str: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnPolicy:
    """Times in seconds."""

    lines: DraftedLines
    character: str
    """The character's name."""
    system_prompt: str
    persona_version: str
    ceiling: int
    wait_ceiling_s: float
    hold_s: float
    keep_s: float
    """How long after its turn ended a question that was not answered is offered back, once its hold is over."""
    turn_budget_s: float
    """Until the first word of a reply, over all attempts. What is being spoken is bounded by its lane."""
    attempts: int
    still_here_s: float = 6.0
    """How long an admitted turn may be without a word before a line says that he is still there."""
    lease_s: float = 10.0
    beat_s: float = 1.0
    tick_s: float = 0.04
    """The journal's tick: how long words may gather before they are stored and shown."""
    store_within_s: float = 2.0
    """A flush that has not committed by then shows nothing, and its turns pause."""
    most_waiting: int = 3
    """How many unended turns one person may have: nobody fills the room alone."""
    most_a_minute: int = 20
    """How many messages one person may send in a minute."""
    pages_per_person: int = 20
    """How many sockets one person may have open on one process, over all visits."""
    pages_per_address: int = 1_000
    """How many sockets may be open on one process from one address: a whole house may share one."""
    away_s: float = 60.0
    """A device that has been gone for so long gives its place in the waiting room up."""
    grace_s: float = 8.0
    """How long running turns may go on after the process was told to leave."""
