"""Stop signals as an exception or deferred, and the end of a child as a readable descriptor."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any


class StopRequested(BaseException):
    """Ctrl-C, SIGTERM or SIGHUP. Not an Exception, so that no step swallows it."""


@contextlib.contextmanager
def stop_on_signals(say: Callable[[str], None]) -> Iterator[Callable[[], None]]:
    """Turn the first stop signal into StopRequested. Yields the function that makes further ones harmless."""
    is_stopping = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal is_stopping
        if is_stopping:
            say("Still ending everything in order.")
            return
        is_stopping = True
        raise StopRequested(signal.Signals(number).name)

    def ignore_further_signals() -> None:
        nonlocal is_stopping
        is_stopping = True

    numbers = [signal.SIGINT, signal.SIGTERM]
    # Under nohup SIGHUP is ignored, and stays so.
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield ignore_further_signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def defer_signals() -> Iterator[None]:
    """Deliver a stop signal at the end of the block. In threads other than the main one this does nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pending: list[int] = []
    before: dict[int, Any] = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # An ignored signal stays ignored, also in programs that are started here.
            if (earlier := signal.getsignal(number)) not in (signal.SIG_IGN, None):
                before[number] = earlier
                signal.signal(number, lambda number, frame: pending.append(number))
        yield
    finally:
        for changed, earlier in before.items():
            signal.signal(changed, earlier)
    if pending:
        signal.raise_signal(pending[0])


@contextlib.contextmanager
def wake_on_child_exit() -> Iterator[int]:
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
