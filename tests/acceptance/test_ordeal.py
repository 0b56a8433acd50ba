"""`manage.py ordeal`: everything at once, from a seed, finds nothing; and leaves nothing behind."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest

from ops.ordeal.history import read_history
from tests.processes import ROOT

SEED = 7


def run_ordeal(
    *arguments: str, keep: Path, temporary: str, within_s: float
) -> subprocess.CompletedProcess[str]:
    """Run the command as in a fresh checkout: nothing is configured but a folder for temporary files."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COMPANION_")}
    for name in ("DATABASE_URL", "SECRET_KEY", "DJANGO_SETTINGS_MODULE", "OPS_TOKEN"):
        environment.pop(name, None)
    return subprocess.run(
        [sys.executable, "manage.py", "ordeal", "--keep", str(keep), *arguments],
        cwd=ROOT,
        env={**environment, "TMPDIR": temporary},
        capture_output=True,
        text=True,
        timeout=within_s,
        check=False,
    )


@pytest.mark.timeout(240)
def test_a_minute_of_everything_at_once_breaks_no_promise_and_leaves_nothing(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="ordeal-") as temporary:
        # The database server may run as an account of its own.
        Path(temporary).chmod(0o755)
        done = run_ordeal(
            *("--seed", str(SEED), "--minutes", "0.5", "--json"),
            keep=tmp_path,
            temporary=temporary,
            within_s=220,
        )
        left = [path.name for path in Path(temporary).iterdir()]
        running = [one.pid for one in psutil.process_iter(["cmdline"]) if _mentions(one, temporary)]
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert (left, running) == ([], [])
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
def test_three_seeds_with_more_people_and_processes_break_no_promise(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="ordeal-") as temporary:
        Path(temporary).chmod(0o755)
        done = run_ordeal(
            *("--seed", "100", "--seeds", "3", "--minutes", "1.5"),
            *("--people", "12", "--staff", "3", "--processes", "3"),
            keep=tmp_path,
            temporary=temporary,
            within_s=880,
        )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


def test_an_impossible_size_is_refused_before_anything_starts(tmp_path: Path) -> None:
    done = run_ordeal("--people", "0", keep=tmp_path, temporary=str(tmp_path), within_s=60)

    assert done.returncode == 2
    assert "--people" in done.stderr


def _mentions(process: psutil.Process, text: str) -> bool:
    return any(text in part for part in process.info["cmdline"] or ())
