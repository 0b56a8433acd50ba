"""Signals, made easy to live with: one asks for the end, one says that a child has ended."""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any


class StopRequested(BaseException):
    """Ctrl-C, SIGTERM or SIGHUP. Not an Exception, so that no step swallows it."""


@contextlib.contextmanager
def stopping_on_signals(say: Callable[[str], None]) -> Iterator[Callable[[], None]]:
    """Turn the first stop signal into StopRequested. Yields the function that makes further ones harmless."""
    calm = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal calm
        if calm:
            say("Still ending everything in order.")
            return
        calm = True
        raise StopRequested(signal.Signals(number).name)

    def from_now_on_only_say() -> None:
        nonlocal calm
        calm = True

    numbers = [signal.SIGINT, signal.SIGTERM]
    # Under nohup the end of the terminal is meant to be nothing.
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield from_now_on_only_say
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """A stop signal that comes meanwhile counts right afterwards: what is begun here is finished first."""
    came: list[int] = []
    before: dict[int, Any] = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # One that is ignored stays so, also for whatever is started here.
            if callable(earlier := signal.getsignal(number)):
                before[number] = earlier
                signal.signal(number, lambda number, frame: came.append(number))
        yield
    finally:
        for changed, earlier in before.items():
            signal.signal(changed, earlier)
    if came:
        signal.raise_signal(came[0])


@contextlib.contextmanager
def woken_by_children() -> Iterator[int]:
    """A descriptor that becomes readable when a child ends."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    earlier_handler = signal.signal(signal.SIGCHLD, lambda number, frame: None)
    earlier_fd = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield reading
    finally:
        signal.set_wakeup_fd(earlier_fd)
        signal.signal(signal.SIGCHLD, earlier_handler)
        os.close(reading)
        os.close(writing)
