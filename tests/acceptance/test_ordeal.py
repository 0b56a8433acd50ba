"""`manage.py ordeal`: everything at once, from a seed, finds nothing; and leaves nothing behind."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from ops.ordeal.history import read_history
from tests.patience import wait_until
from tests.processes import ROOT

SEED = 7


@contextlib.contextmanager
def leave_nothing() -> Iterator[str]:
    """A folder for temporary files, in which nothing may be left, and of which no process may know."""
    with tempfile.TemporaryDirectory(prefix="ordeal-") as temporary:
        # The database server may run as an account of its own.
        Path(temporary).chmod(0o755)
        yield temporary
        assert list_left(temporary) == []


def list_left(temporary: str) -> list[str]:
    """Files, mounted disks and processes under a folder for temporary files."""
    disks = [disk.mountpoint for disk in psutil.disk_partitions(all=True) if temporary in disk.mountpoint]
    running = [one for one in psutil.process_iter(["cmdline"]) if _mentions(one, temporary)]
    return [*(path.name for path in Path(temporary).iterdir()), *disks, *map(str, running)]


def may_mount(folder: Path) -> bool:
    """Whether this account may mount a disk."""
    may = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(folder)], capture_output=True).returncode == 0
    return may and subprocess.run(["umount", str(folder)]).returncode == 0


def start_ordeal(*arguments: str, keep: Path, temporary: str) -> subprocess.Popen[str]:
    """Start the command as in a fresh checkout: nothing is configured but a folder for temporary files."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COMPANION_")}
    for name in ("DATABASE_URL", "SECRET_KEY", "DJANGO_SETTINGS_MODULE", "OPS_TOKEN"):
        environment.pop(name, None)
    return subprocess.Popen(
        [sys.executable, "manage.py", "ordeal", "--keep", str(keep), *arguments],
        cwd=ROOT,
        env={**environment, "TMPDIR": temporary},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_ordeal(
    *arguments: str, keep: Path, temporary: str, within_s: float
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    with start_ordeal(*arguments, keep=keep, temporary=temporary) as running:
        try:
            told, errors = running.communicate(timeout=within_s)
        except subprocess.TimeoutExpired:
            running.kill()
            raise
    return subprocess.CompletedProcess(running.args, running.returncode, told, errors)


@pytest.mark.timeout(240)
def test_a_minute_of_everything_at_once_breaks_no_promise_and_leaves_nothing(tmp_path: Path) -> None:
    with leave_nothing() as temporary:
        done = run_ordeal(
            *("--seed", str(SEED), "--minutes", "0.5", "--json"),
            keep=tmp_path,
            temporary=temporary,
            within_s=220,
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert (told["seed"], told["violations"]) == (SEED, [])
    # A run in which nothing happened would prove nothing.
    history = read_history(Path(told["history"]))
    assert len(history.rows("turns")) >= 10
    assert sum(1 for _ in history.of("fault", "begins")) >= 3
    assert sum(1 for _ in history.of("provider", "finished")) >= 5
    assert {event.name for event in history.of("page", "hello")} == set(history.people)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_three_seeds_with_more_people_and_processes_break_no_promise_and_leave_nothing(
    tmp_path: Path,
) -> None:
    with leave_nothing() as temporary:
        done = run_ordeal(
            *("--seed", "100", "--seeds", "3", "--minutes", "1.5"),
            *("--people", "12", "--staff", "3", "--processes", "3"),
            keep=tmp_path,
            temporary=temporary,
            within_s=880,
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


@pytest.mark.timeout(150)
def test_a_run_that_is_killed_leaves_no_process_no_disk_and_no_folder(tmp_path: Path) -> None:
    has_disk = may_mount(tmp_path)
    few = ("--people", "1", "--staff", "0", "--processes", "1")
    with leave_nothing() as temporary, start_ordeal(*few, keep=tmp_path, temporary=temporary) as running:
        assert running.stdout is not None
        for line in running.stdout:
            if line.startswith("The service runs"):
                break
        # Without a disk where one may be mounted, giving it back would not be tested.
        disk = str(next(Path(temporary).iterdir()) / "postgres")
        assert (disk in list_left(temporary)) == has_disk
        running.kill()
        wait_until(lambda: not list_left(temporary), within_s=60)


def test_an_impossible_size_is_refused_before_anything_starts(tmp_path: Path) -> None:
    done = run_ordeal("--people", "0", keep=tmp_path, temporary=str(tmp_path), within_s=60)

    assert done.returncode == 2
    assert "--people" in done.stderr


def _mentions(process: psutil.Process, text: str) -> bool:
    return any(text in part for part in process.info["cmdline"] or ())
