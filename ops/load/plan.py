"""PURE. The plan of a load test: how many people, how they arrive, what they do. Every value is bounded."""

from dataclasses import dataclass

from ops.load.errors import CannotLoad

MAX_SESSIONS = 10_000
MAX_TURNS = 20_000
"""Over all sessions together."""
MAX_PROCESSES = 16
MAX_DURATION_S = 3_600.0


@dataclass(frozen=True, kw_only=True)
class LoadPlan:
    """One load test. Seconds, unless the name says otherwise. Raises CannotLoad if a value is out of bounds."""

    sessions: int
    turns: int
    """Questions of each session, one after another; 0: the session only stays open."""
    pace_ms: float
    """Between two words of the provider."""
    first_word_ms: float
    words: int
    ramp_s: float
    """Time over which the sessions arrive; 0: all at the same moment."""
    think_s: float
    """Between a reply and the next question of the same session."""
    stay_s: float
    """How long each session stays open after its last reply."""
    limit_s: float
    """The test is aborted after this time."""

    def __post_init__(self) -> None:
        bounds = (
            ("--sessions", self.sessions, 1, MAX_SESSIONS),
            ("--turns", self.turns, 0, MAX_TURNS),
            ("--sessions times --turns", self.questions, 0, MAX_TURNS),
            ("--pace", self.pace_ms, 0, 10_000),
            ("--first-word", self.first_word_ms, 0, 60_000),
            ("--words", self.words, 1, 5_000),
            ("--ramp", self.ramp_s, 0, MAX_DURATION_S),
            ("--think", self.think_s, 0, MAX_DURATION_S),
            ("--stay", self.stay_s, 0, MAX_DURATION_S),
            ("--limit", self.limit_s, 1, MAX_DURATION_S),
        )
        for name, value, low, high in bounds:
            if not low <= value <= high:
                raise CannotLoad(f"{name} must be from {low:g} to {high:g}; it is {value:g}.")

    @property
    def questions(self) -> int:
        """The number of questions of all sessions together."""
        return self.sessions * self.turns

    @property
    def title(self) -> str:
        """Its heading in the report."""
        arrival = f"over {self.ramp_s:g} s" if self.ramp_s else "in the same moment"
        asked = f"{self.turns} question{'s' * (self.turns != 1)} each" if self.turns else "no question"
        return (
            f"{self.sessions} session{'s' * (self.sessions != 1)} {arrival}, {asked}; "
            f"replies of {self.words} words, {self.pace_ms:g} ms between words"
        )
