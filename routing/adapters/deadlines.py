"""PURE. The clocks of a call as one moving deadline. Connecting has its own, inside the HTTP client."""

from routing.contracts import Clocks
from routing.errors import FailureClass


class Deadlines:
    """Tell it what was heard and when; `at` is the time by which something must be heard next."""

    def __init__(self, clocks: Clocks, *, now: float) -> None:
        self._clocks = clocks
        self._whole = now + clocks.whole_s
        self.total = min(now + clocks.total_s, self._whole)
        self._first = self.total if clocks.first_word_s is None else now + clocks.first_word_s
        reasoning = clocks.reasoning_s
        self._reasoning = self._first if reasoning is None else max(self._first, now + reasoning)
        self._end: float | None = None
        """By when the reply must be whole; None until its first word."""
        self.at = min(self._first, self.total)

    def reasoned(self, now: float) -> None:
        """Reasoning was heard: the first word may come later, up to its cap, as long as more reasoning comes."""
        if self._end is None:
            self.at = min(max(self._first, now + self._clocks.idle_s), self._reasoning, self.total)

    def spoke(self, now: float) -> None:
        """A visible word was heard and passed on; from `now` we are listening again."""
        if self._end is None:
            self._end = min(now + self._clocks.reply_s, self._whole)
        self.at = min(now + self._clocks.idle_s, self._end)

    def expired(self) -> tuple[FailureClass, str]:
        """The class and code of letting `at` pass."""
        if self._end is None:
            failure = FailureClass.FIRST_WORD_TIMEOUT
            return failure, "total" if self.at >= self.total else failure.value
        failure = FailureClass.IDLE_TIMEOUT if self.at < self._end else FailureClass.REPLY_TIMEOUT
        return failure, failure.value
