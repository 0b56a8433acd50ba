"""Values that are read at most once per period, however many callers ask for them."""

import logging
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

log = logging.getLogger(__name__)

Value = TypeVar("Value")


class CachedValue(Generic[Value]):
    """Caches a value for `for_s` seconds; concurrent callers share one read and wait for it."""

    def __init__(self, read: Callable[[], Value], *, for_s: float, now: Callable[[], float]) -> None:
        self._read = read
        self._for_s = for_s
        self._now = now
        self._lock = threading.Lock()
        self._cached: tuple[float, Value] | None = None

    def __call__(self) -> Value:
        """The value, at most `for_s` seconds old. An exception of `read` is raised and nothing is cached."""
        with self._lock:
            if self._cached is None or self._now() - self._cached[0] >= self._for_s:
                read_at = self._now()
                self._cached = None
                self._cached = (read_at, self._read())
            return self._cached[1]


class BackgroundValue(Generic[Value]):
    """Caches a value for callers that must not block, such as an event loop: they get the last value at once.

    A call that finds the value older than `for_s` seconds starts a read in a thread. While reads fail, the value stays.
    """

    def __init__(
        self, read: Callable[[], Value], *, first: Value, for_s: float, now: Callable[[], float]
    ) -> None:
        self._read = read
        self._for_s = for_s
        self._now = now
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._read_at: float | None = None
        self._value = first

    def __call__(self) -> Value:
        """The last value, without waiting."""
        with self._lock:
            known = self._value
            is_old = self._read_at is None or self._now() - self._read_at >= self._for_s
            if is_old and (self._thread is None or not self._thread.is_alive()):
                self._read_at = self._now()
                self._thread = threading.Thread(target=self._refresh, daemon=True)
                self._thread.start()
            return known

    def settle(self) -> None:
        """Wait for the read that is under way, if any."""
        if self._thread is not None:
            self._thread.join()

    def _refresh(self) -> None:
        try:
            self._value = self._read()
        except Exception as failure:
            log.warning("caching.read_failed cause=%s", type(failure).__name__)
