"""Samples how many answers the rehearsal provider is giving, which is what the ceiling limits."""

import threading
import time
from contextlib import suppress
from types import TracebackType

import httpx

from ops.testbed.rehearsal_provider import RehearsalProvider

SAMPLE_EVERY_S = 0.05


class InFlightGauge:
    """Samples while it is entered. `samples` are (seconds since the start, answers in flight); `peak` is exact."""

    def __init__(self, provider: RehearsalProvider) -> None:
        self._provider = provider
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._sample_until_stopped, daemon=True)
        self._began = 0.0
        self.samples: list[tuple[float, int]] = []
        self.peak = 0

    def __enter__(self) -> "InFlightGauge":
        # This resets the provider's own peak, which also covers the time between two samples.
        self._provider.reset_gauge()
        self._began = time.monotonic()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        self._thread.join()
        with suppress(httpx.HTTPError):
            self._sample()

    def _sample_until_stopped(self) -> None:
        while not self._stopped.wait(SAMPLE_EVERY_S):
            # If the provider is too busy to answer, the next sample follows.
            with suppress(httpx.HTTPError):
                self._sample()

    def _sample(self) -> None:
        gauge = self._provider.read_gauge()
        self.samples.append((time.monotonic() - self._began, gauge["in_flight"]))
        self.peak = max(self.peak, gauge["max_in_flight"])
