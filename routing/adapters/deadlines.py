"""PURE. The four clocks of a call as one moving deadline. Connecting has its own, inside the HTTP client."""

from routing.contracts import Clocks
from routing.errors import FailureClass


class Deadlines:
    """Tell it what was heard and when; `at` is the time by which something must be heard next."""

    def __init__(self, clocks: Clocks, *, now: float) -> None:
        self._clocks = clocks
        self._spoken = False
        self.total = now + clocks.total_s
        self._first = self.total if clocks.first_word_s is None else now + clocks.first_word_s
        reasoning = clocks.reasoning_s
        self._reasoning = self._first if reasoning is None else max(self._first, now + reasoning)
        self.at = min(self._first, self.total)

    def reasoned(self, now: float) -> None:
        """Reasoning was heard: the first word may come later, up to its cap, as long as more reasoning comes."""
        if not self._spoken:
            self.at = min(max(self._first, now + self._clocks.idle_s), self._reasoning, self.total)

    def spoke(self, now: float) -> None:
        """A visible word was heard and passed on; from `now` we are listening again."""
        self._spoken = True
        self.at = min(now + self._clocks.idle_s, self.total)

    def expired(self) -> tuple[FailureClass, str]:
        """The class and code of letting `at` pass."""
        failure = FailureClass.IDLE_TIMEOUT if self._spoken else FailureClass.FIRST_WORD_TIMEOUT
        return failure, "total" if self.at >= self.total else failure.value
