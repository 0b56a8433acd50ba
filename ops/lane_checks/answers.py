"""The stored result of one question to one lane."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneAnswer:
    """The result of asking one lane once, with a fixed question and never a participant's."""

    lane: str
    at: datetime
    ok: bool
    failure: str
    """The failure class; empty if the reply was whole."""
    first_word_ms: int | None
    """None: there was no word."""
    words: int
    how: Literal["drill", "chain", "check"]
    """`drill`: the lane alone; `chain`: the whole chain with its head made to fail; `check`: the contract check."""
    code: str = ""
    """The provider's short code for a failure, or ours. Shown, but not stored."""
