"""What a run tells while it works: its phase, rows and bytes so far, seconds per phase; and when it is told to stop."""

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Protocol

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PAGE_BYTES = 8192


class Stopped(KeyboardInterrupt):
    """A signal came. A kind of KeyboardInterrupt, so that psycopg cancels the statement it waits for."""


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Let a signal wait for the end of a short block: a program that was started is also known to have been."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {each: signal.signal(each, lambda it, _frame: came.append(it)) for each in SIGNALS}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    for number in came[:1]:
        signal.raise_signal(number)


class Show(Protocol):
    """Something that shows progress to a person, or to nobody."""

    def begin(self, phase: str, *, of_bytes: int | None) -> None:
        """A phase begins; `of_bytes` is how much there is to do, where that is known."""

    def at(self, *, done_bytes: int, rows: int) -> None:
        """How far the phase is."""

    def end(self) -> None:
        """The phase is over, or the run is."""


class Silent:
    """Shows nothing."""

    def begin(self, phase: str, *, of_bytes: int | None) -> None:
        """Nothing."""

    def at(self, *, done_bytes: int, rows: int) -> None:
        """Nothing."""

    def end(self) -> None:
        """Nothing."""


class Watch:
    """The clock of a run. `announce` hears the name of every phase as it begins."""

    def __init__(
        self,
        show: Show | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        announce: Callable[[str], None] = lambda _phase: None,
    ) -> None:
        self._show: Show = show or Silent()
        self._clock = clock
        self._announce = announce
        self._bytes = 0
        self._rows = 0
        self._probe: Callable[[], int] | None = None
        self._is_held = False
        self._signal: int | None = None
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def phase(
        self, name: str, *, of_bytes: int | None = None, probe: Callable[[], int] | None = None
    ) -> Iterator[None]:
        """Time a phase. `probe` says how many bytes are done, where nobody reports them."""
        self._announce(name)
        self._bytes = self._rows = 0
        self._probe = probe
        self._show.begin(name, of_bytes=of_bytes)
        began = self._clock()
        try:
            yield
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + self._clock() - began, 3)
            self._probe = None
            self._show.end()

    def summed(self, *, pages: int, rows: int) -> None:
        """So many more pages and rows were read."""
        self._bytes += pages * PAGE_BYTES
        self._rows += rows
        self.tick()

    def tick(self) -> None:
        """Show where things stand. Called often; raises Stopped when a signal has come."""
        if self._signal is not None and not self._is_held:
            raise Stopped
        done = self._probe() if self._probe is not None else self._bytes
        self._show.at(done_bytes=done, rows=self._rows)

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Let SIGINT, SIGTERM and SIGHUP raise Stopped, once. For the main thread only."""
        before = {number: signal.signal(number, self._hear) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextlib.contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Clean up to the end, whatever signals come."""
        was, self._is_held = self._is_held, True
        try:
            yield
        finally:
            self._is_held = was

    @contextlib.contextmanager
    def orderly(self) -> Iterator[contextlib.ExitStack]:
        """A stack of things to clear away, which no signal disturbs while it is worked off."""
        stack = contextlib.ExitStack()
        try:
            yield stack
        finally:
            with self.undisturbed():
                stack.close()

    def _hear(self, number: int, _frame: FrameType | None) -> None:
        first, self._signal = self._signal is None, number
        if first and not self._is_held:
            raise Stopped
