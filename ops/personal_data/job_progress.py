"""How far a job is: a bar on a terminal, plain lines anywhere else."""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

LINE_EVERY_S = 1.0
"""At most one plain line in this time, besides the first and the last."""

OnProgress = Callable[[int, int], None]
"""Is given what is done and the total, in the unit of the job, after each batch."""


def ignore_progress(_done: int, _total: int) -> None:
    """For jobs that run unwatched."""


class Output(Protocol):
    """Where lines go: `stderr` of a command."""

    def isatty(self) -> bool: ...

    def write(self, line: str) -> object: ...


class JobProgress:
    """Shows the progress of one job inside a `with` block; `show` is its `OnProgress`.

    `what` says what is counted, such as "turns deleted".
    """

    def __init__(
        self,
        what: str,
        output: Output,
        *,
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._what = what
        self._output = output
        self._clock = clock
        self._written_at: float | None = None
        self._unwritten = ""
        self._bar: Progress | None = None
        if console or output.isatty():
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                console=console or Console(file=sys.stderr),
            )
            self._task = self._bar.add_task(what, total=None)

    def __enter__(self) -> "JobProgress":
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        elif self._unwritten:
            self._output.write(self._unwritten)

    def show(self, done: int, total: int) -> None:
        """Show that `done` of `total` is done."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total)
            return
        self._unwritten = f"{done:,} of {total:,} {self._what}"
        now = self._clock()
        if self._written_at is None or now - self._written_at >= LINE_EVERY_S:
            self._output.write(self._unwritten)
            self._written_at, self._unwritten = now, ""
