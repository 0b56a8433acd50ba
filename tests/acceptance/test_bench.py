"""`manage.py bench` from nothing: it answers everything, says so, and leaves nothing behind."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest

from tests.processes import ROOT

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


def test_the_bench_answers_everything_prints_its_table_and_leaves_nothing(tmp_path: Path) -> None:
    # Nothing is configured but a folder for temporary files, which shows what is left over.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COMPANION_")}
    for name in ("DATABASE_URL", "SECRET_KEY"):
        environment.pop(name, None)
    with tempfile.TemporaryDirectory(prefix="bench-") as temporary:
        # The database server may run as an account of its own.
        Path(temporary).chmod(0o755)
        file = tmp_path / "figures.json"
        done = subprocess.run(
            [sys.executable, "manage.py", "bench", "--small", "--json", str(file)],
            cwd=ROOT,
            env={**environment, "TMPDIR": temporary},
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        left = [path.name for path in Path(temporary).iterdir()]
        running = [
            process.pid for process in psutil.process_iter(["cmdline"]) if _mentions(process, temporary)
        ]
    assert (left, running) == ([], [])
    assert "first word p50/p95" in done.stdout
    assert "connects/s" in done.stdout
    [loads] = json.loads(file.read_text())["findings"]["loads"].values()
    assert len(loads) == 8
    assert all(one["answered"] == one["asked"] == 4 for one in loads.values())


def _mentions(process: psutil.Process, text: str) -> bool:
    return any(text in part for part in process.info["cmdline"] or ())
