"""A progress bar for people: the phase, how far it is, rows and bytes, and the time left where that is known."""

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Bar:
    """One line on a terminal for each phase. On anything but a terminal it writes one line per phase."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def begin(self, phase: str, *, of_bytes: int | None) -> None:
        """A phase begins."""
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

    def at(self, *, done_bytes: int, rows: int) -> None:
        """How far the phase is."""
        if self._progress is None or self._task is None:
            return
        said = [f"{rows:,} rows"] if rows else []
        said += [f"{done_bytes / 1_000_000:,.0f} MB"] if done_bytes else []
        self._progress.update(self._task, completed=done_bytes, done=", ".join(said))

    def end(self) -> None:
        """The phase is over."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = self._task = None
