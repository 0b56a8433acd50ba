"""PURE. What a load test does: how many people, what they do, how they arrive. All of it bounded."""

from dataclasses import dataclass

from ops.load.errors import CannotLoad

MOST_SESSIONS = 10_000
MOST_TURNS = 20_000
"""Over all sessions together."""
MOST_PROCESSES = 16
LONGEST_S = 3_600.0


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One load test. Seconds, but for what is named otherwise. Raises CannotLoad when it is out of bounds."""

    sessions: int
    turns: int
    """Questions of each session, one after the other; 0: the session only stays open."""
    pace_ms: float
    """Between two words of the provider."""
    first_word_ms: float
    words: int
    ramp_s: float
    """Over how long the sessions arrive; 0: all in the same moment."""
    think_s: float
    """Between a reply and the next question of the same session."""
    stay_s: float
    """How long each session stays open after its last reply."""
    limit_s: float
    """The whole test is broken off after so long."""

    def __post_init__(self) -> None:
        bounds = (
            ("--sessions", self.sessions, 1, MOST_SESSIONS),
            ("--turns", self.turns, 0, MOST_TURNS),
            ("--sessions times --turns", self.asked, 0, MOST_TURNS),
            ("--pace", self.pace_ms, 0, 10_000),
            ("--first-word", self.first_word_ms, 0, 60_000),
            ("--words", self.words, 1, 5_000),
            ("--ramp", self.ramp_s, 0, LONGEST_S),
            ("--think", self.think_s, 0, LONGEST_S),
            ("--stay", self.stay_s, 0, LONGEST_S),
            ("--limit", self.limit_s, 1, LONGEST_S),
        )
        for name, value, low, high in bounds:
            if not low <= value <= high:
                raise CannotLoad(f"{name} must be from {low:g} to {high:g}; it is {value:g}.")

    @property
    def asked(self) -> int:
        """Questions over all sessions."""
        return self.sessions * self.turns

    @property
    def title(self) -> str:
        """For people."""
        how = f"over {self.ramp_s:g} s" if self.ramp_s else "in the same moment"
        what = f"{self.turns} question{'s' * (self.turns != 1)} each" if self.turns else "no question"
        return (
            f"{self.sessions} session{'s' * (self.sessions != 1)} {how}, {what}; "
            f"replies of {self.words} words, {self.pace_ms:g} ms between words"
        )
