"""A value that many ask for and that is worth asking for once a second: the rest are given the same."""

import logging
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

log = logging.getLogger(__name__)

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


class Lately(Generic[Value]):
    """For callers that may not wait: the value as it was known last. Asking for an old one has a new one read.

    `read` is called in a thread of its own; while it fails, the value stays.
    """

    def __init__(
        self, read: Callable[[], Value], *, first: Value, for_s: float, now: Callable[[], float]
    ) -> None:
        self._read = read
        self._for_s = for_s
        self._now = now
        self._lock = threading.Lock()
        self._reading: threading.Thread | None = None
        self._asked_at: float | None = None
        self._value = first

    def __call__(self) -> Value:
        """The value, at once."""
        with self._lock:
            known = self._value
            is_old = self._asked_at is None or self._now() - self._asked_at >= self._for_s
            if is_old and (self._reading is None or not self._reading.is_alive()):
                self._asked_at = self._now()
                self._reading = threading.Thread(target=self._renew, daemon=True)
                self._reading.start()
            return known

    def settle(self) -> None:
        """Wait until nothing is being read."""
        if self._reading is not None:
            self._reading.join()

    def _renew(self) -> None:
        try:
            self._value = self._read()
        except Exception as failure:
            log.warning("fresh.unread cause=%s", type(failure).__name__)
