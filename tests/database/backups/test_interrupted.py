"""A signal in the middle of starting something, a kept dump that cannot be kept: nothing of it remains (D2)."""

import os
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from ops.backups.programs.child import ChildProgram
from ops.backups.reporting.verdict import DrillVerdict
from ops.backups.restoring.order import RunEnvironment
from ops.backups.run.monitor import NoProgress, RunMonitor, StopSignal
from ops.backups.run.run_folder import Marker, RunFolder
from ops.stack.process import wait_until_over
from tests.database.backups.conftest import RunDrill
from tests.patience import wait_until

# Like a restore with several jobs: it has a child that outlives it, and neither ends by itself in the time of a test.
FAMILY = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)'])"


class SignalAtTick(NoProgress):
    """Sends a signal at the given tick of one phase."""

    def __init__(self, phase: str, *, at: int) -> None:
        self._phase, self._left = phase, at
        self._is_now = False

    def begin_phase(self, phase: str, *, of_bytes: int | None) -> None:
        """Is it this one?"""
        self._is_now = phase == self._phase

    def show(self, *, done_bytes: int, rows: int) -> None:
        """Count, and strike."""
        self._left -= self._is_now
        if self._is_now and self._left == 0:
            signal.raise_signal(signal.SIGTERM)


@pytest.mark.parametrize("tick", [1, 2, 3, 5])
def test_a_signal_while_the_private_server_is_made_leaves_nothing(
    drill: RunDrill, state: Path, tick: int
) -> None:
    monitor = RunMonitor(SignalAtTick("private server", at=tick))
    with monitor.listen_for_signals():
        report = drill(where="private server", monitor=monitor)

    assert report.verdict == DrillVerdict.COULD_NOT_RUN, report.to_text()
    assert report.stopped == "A signal ended the run. Run it again."
    assert list((state / "drill-work").iterdir()) == []


@dataclass(kw_only=True)
class SignalledFolder(RunFolder):
    """Sends a signal as a program is recorded that has a child already."""

    started: list[psutil.Process] = field(default_factory=list)

    def record_child(self, pid: int) -> None:
        """Wait for the child, and strike."""
        program = psutil.Process(pid)
        wait_until(program.children)
        self.started += [program, *program.children()]
        signal.raise_signal(signal.SIGTERM)
        super().record_child(pid)


def test_a_signal_as_a_program_is_started_ends_it_and_its_family(tmp_path: Path) -> None:
    folder = SignalledFolder.create(tmp_path, Marker(run="a", source="s", scratch="d"))
    assert isinstance(folder, SignalledFolder)

    with RunMonitor().listen_for_signals(), pytest.raises(StopSignal):
        ChildProgram([sys.executable, "-c", FAMILY], environment=os.environ, folder=folder)

    assert len(folder.started) == 2
    assert wait_until_over(folder.started, limit_s=0)
    folder.remove()


def test_a_dump_that_cannot_be_kept_leaves_none_behind(drill: RunDrill, state: Path) -> None:
    (state / "drills").mkdir()
    (state / "drills" / "kept").touch()

    report = drill(keep_dump=True)

    assert report.verdict == DrillVerdict.COULD_NOT_RUN, report.to_text()
    assert str(state / "drills" / "kept") in report.stopped
    assert report.kept_dump == ""


def test_a_dump_kept_on_another_disk_is_private_and_can_be_drilled(
    drill: RunDrill, state: Path, other_disk: Path
) -> None:
    assert os.stat(other_disk).st_dev != os.stat(state).st_dev

    report = drill(keep_dump=True, work=other_disk)
    again = drill(source=None, archive=Path(report.kept_dump), where="private server")

    assert again.verdict == DrillVerdict.PROVED, again.to_text()
    kept = state / "drills"
    assert {path.stat().st_mode & 0o077 for path in [kept, *kept.rglob("*")]} == {0}


def test_no_room_for_a_kept_dump_is_known_before_anything_is_made(drill: RunDrill, state: Path) -> None:
    asked: list[Path] = []

    def free(folder: Path) -> int:
        asked.append(folder)
        return 5_000_000 if len(asked) > 2 else 1 << 40

    report = drill(keep_dump=True, environment=RunEnvironment(free=free))

    assert report.verdict == DrillVerdict.COULD_NOT_RUN
    assert "drills/kept has 5 MB left" in report.stopped
    assert "create" not in report.seconds


def test_reports_that_cannot_be_kept_are_known_before_hours_of_work(drill: RunDrill, state: Path) -> None:
    (state / "drills").touch()

    report = drill()

    assert report.verdict == DrillVerdict.COULD_NOT_RUN
    assert "No report can be kept" in report.stopped
    assert list(report.seconds) == ["preflight"]


def test_a_backup_that_is_rotated_away_while_it_is_restored_is_not_called_different(
    drill: RunDrill, state: Path
) -> None:
    kept = Path(drill(keep_dump=True).kept_dump)

    report = drill(
        source=None,
        archive=kept,
        where="private server",
        announce=lambda phase: phase == "restore" and kept.rename(state / "away"),
    )

    assert report.verdict == DrillVerdict.COULD_NOT_RUN, report.to_text()
    assert "was removed during the run" in report.stopped
