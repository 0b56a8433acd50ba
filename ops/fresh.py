"""A value that many ask for and that is worth asking for once a second: the rest are given the same."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Fresh(Generic[Value]):
    """`read` is called when the value is older than `for_s`; whoever asks meanwhile waits for that one call."""

    def __init__(self, read: Callable[[], Value], *, for_s: float, now: Callable[[], float]) -> None:
        self._read = read
        self._for_s = for_s
        self._now = now
        self._lock = threading.Lock()
        self._kept: tuple[float, Value] | None = None

    def __call__(self) -> Value:
        """The value, at most `for_s` old. Raises what `read` raises, and keeps nothing then."""
        with self._lock:
            if self._kept is None or self._now() - self._kept[0] >= self._for_s:
                asked_at = self._now()
                self._kept = None
                self._kept = (asked_at, self._read())
            return self._kept[1]
