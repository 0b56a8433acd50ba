"""A progress bar: phase, rows, bytes, and the time left if the total is known."""

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class ProgressBar:
    """Draws a bar per phase on a terminal; writes one line per phase to anything else."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def begin_phase(self, phase: str, *, of_bytes: int | None) -> None:
        if not self._console.is_terminal:
            self._console.print(f"{phase} …", highlight=False)
            return
        self._progress = Progress(
            TextColumn("{task.description:<22}"),
            BarColumn(),
            TextColumn("{task.fields[done]}"),
            TimeElapsedColumn(),
            *([TimeRemainingColumn()] if of_bytes else []),
            console=self._console,
        )
        self._task = self._progress.add_task(phase, total=of_bytes or None, done="")
        self._progress.start()

    def show(self, *, done_bytes: int, rows: int) -> None:
        """Show how much of the phase is done."""
        if self._progress is None or self._task is None:
            return
        said = [f"{rows:,} rows"] if rows else []
        said += [f"{done_bytes / 1_000_000:,.0f} MB"] if done_bytes else []
        self._progress.update(self._task, completed=done_bytes, done=", ".join(said))

    def end_phase(self) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = self._task = None
