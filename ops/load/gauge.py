"""Asks the rehearsal provider, again and again, how many answers run: what the ceiling is really held against."""

import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import httpx

from routing.rehearsal.doors import operator_headers

EVERY_S = 0.05


class Gauge:
    """Samples while it is open. `samples` are (seconds since the start, answers that run); `peak` is exact."""

    def __init__(self, provider: str, *, tokens: Path) -> None:
        headers = operator_headers(tokens, provider)
        self._client = httpx.Client(base_url=provider, headers=headers, trust_env=False, timeout=10)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self._began = 0.0
        self.samples: list[tuple[float, int]] = []
        self.peak = 0

    def __enter__(self) -> "Gauge":
        # From here on the provider keeps its own peak, so that nothing between two samples is missed.
        self._client.delete("/gauge").raise_for_status()
        self._began = time.monotonic()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        with suppress(httpx.HTTPError):
            self._look()
        self._client.close()

    def _ask(self) -> None:
        while not self._over.wait(EVERY_S):
            # A provider too busy to answer is asked again.
            with suppress(httpx.HTTPError):
                self._look()

    def _look(self) -> None:
        gauge = self._client.get("/gauge").raise_for_status().json()
        self.samples.append((time.monotonic() - self._began, gauge["in_flight"]))
        self.peak = max(self.peak, gauge["max_in_flight"])
