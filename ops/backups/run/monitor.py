"""Progress and signals of a run: the current phase, rows and bytes done, seconds per phase, deferred signals."""

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Protocol

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PAGE_BYTES = 8192


class StopSignal(KeyboardInterrupt):
    """A signal arrived. Derived from KeyboardInterrupt, for which psycopg cancels the statement it waits for."""


class ProgressDisplay(Protocol):
    """Displays the progress of a run."""

    def begin_phase(self, phase: str, *, of_bytes: int | None) -> None:
        """Show that a phase begins. `of_bytes` is its total, if known."""

    def show(self, *, done_bytes: int, rows: int) -> None:
        """Show how much of the phase is done."""

    def end_phase(self) -> None:
        """Show that the phase is over."""


class NoProgress:
    """Displays nothing."""

    def begin_phase(self, phase: str, *, of_bytes: int | None) -> None:
        pass

    def show(self, *, done_bytes: int, rows: int) -> None:
        pass

    def end_phase(self) -> None:
        pass


class RunMonitor:
    """Times the phases of a run, displays progress and turns signals into StopSignal.

    `announce` is called with the name of every phase as it begins.
    """

    def __init__(
        self,
        show: ProgressDisplay | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        announce: Callable[[str], None] = lambda _phase: None,
    ) -> None:
        self._show: ProgressDisplay = show or NoProgress()
        self._clock = clock
        self._announce = announce
        self._bytes = 0
        self._rows = 0
        self._probe: Callable[[], int] | None = None
        self._is_deferring = False
        self._signal: int | None = None
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def time_phase(
        self, name: str, *, of_bytes: int | None = None, probe: Callable[[], int] | None = None
    ) -> Iterator[None]:
        """Time a phase. `probe` returns the bytes done, for phases that report none themselves."""
        self._announce(name)
        self._bytes = self._rows = 0
        self._probe = probe
        self._show.begin_phase(name, of_bytes=of_bytes)
        began = self._clock()
        try:
            yield
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + self._clock() - began, 3)
            self._probe = None
            self._show.end_phase()

    def add_progress(self, *, pages: int, rows: int) -> None:
        """Count pages and rows that were read."""
        self._bytes += pages * PAGE_BYTES
        self._rows += rows
        self.tick()

    def tick(self) -> None:
        """Show the progress. Called at least every 0.2 s. Raises StopSignal once a signal has arrived."""
        if self._signal is not None and not self._is_deferring:
            raise StopSignal
        done = self._probe() if self._probe is not None else self._bytes
        self._show.show(done_bytes=done, rows=self._rows)

    @contextlib.contextmanager
    def listen_for_signals(self) -> Iterator[None]:
        """Let the first SIGINT, SIGTERM or SIGHUP raise StopSignal. For the main thread only."""
        before = {number: signal.signal(number, self._handle_signal) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextlib.contextmanager
    def defer_signals(self) -> Iterator[None]:
        """Run the block to its end; a signal raises StopSignal at the next tick after it."""
        # The value before is kept, because blocks nest: clean-up steps defer signals inside a deferred unwinding.
        was, self._is_deferring = self._is_deferring, True
        try:
            yield
        finally:
            self._is_deferring = was

    @contextlib.contextmanager
    def open_cleanup_stack(self) -> Iterator[contextlib.ExitStack]:
        """Yield a stack of clean-up steps. It is unwound with signals deferred."""
        stack = contextlib.ExitStack()
        try:
            yield stack
        finally:
            with self.defer_signals():
                stack.close()

    def _handle_signal(self, number: int, _frame: FrameType | None) -> None:
        # A second signal changes nothing: an impatient operator must not interrupt the clean-up.
        first, self._signal = self._signal is None, number
        if first and not self._is_deferring:
            raise StopSignal
