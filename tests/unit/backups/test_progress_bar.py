"""What a person sees of a run while it works, and what a log file gets of it (D5)."""

import io

from rich.console import Console

from ops.backups.commands.progress_bar import ProgressBar
from ops.backups.run.monitor import PAGE_BYTES, RunMonitor


def render(*, to_a_terminal: bool) -> str:
    """One phase, three quarters done."""
    out = io.StringIO()
    monitor = RunMonitor(ProgressBar(Console(file=out, force_terminal=to_a_terminal, width=100)))
    pages = 1_000_000_000 // PAGE_BYTES
    with monitor.time_phase("row sums of the copy", of_bytes=pages * PAGE_BYTES):
        monitor.add_progress(pages=pages // 4, rows=1_234_567)
        monitor.add_progress(pages=pages // 2, rows=1)
    return out.getvalue()


def test_a_terminal_shows_phase_rows_bytes_and_the_time_left() -> None:
    said = render(to_a_terminal=True)

    for word in ("row sums of the copy", "1,234,568 rows", "750 MB", "0:00:0", "-:--:--"):
        assert word in said


def test_anything_but_a_terminal_gets_one_line_for_each_phase() -> None:
    assert render(to_a_terminal=False) == "row sums of the copy …\n"


def test_a_phase_that_reports_no_bytes_is_measured() -> None:
    out = io.StringIO()
    monitor = RunMonitor(ProgressBar(Console(file=out, force_terminal=True, width=100)))

    with monitor.time_phase("restore", of_bytes=10_000_000, probe=lambda: 4_000_000):
        monitor.tick()

    assert "4 MB" in out.getvalue()
