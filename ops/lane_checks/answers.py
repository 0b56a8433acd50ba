"""What came of one question to one lane: the shape in which drills and checks are kept."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneAnswer:
    """One lane asked once, with a question of our own and never a participant's."""

    lane: str
    at: datetime
    ok: bool
    failure: str
    """The class of the failure; empty when the reply was whole."""
    first_word_ms: int | None
    """None: there was no word."""
    words: int
    how: Literal["drill", "chain", "check"]
    """`drill`: the lane alone; `chain`: the whole chain with its head made to fail; `check`: the contract check."""
    code: str = ""
    """The provider's own short code, or ours, where it failed. Told, but not kept."""
