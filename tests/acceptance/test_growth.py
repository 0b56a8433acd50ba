"""`manage.py growth` from nothing: what each size costs stays within its bounds, and nothing is left behind."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.processes import ROOT


def run_growth(*arguments: str, state: Path, within_s: float) -> tuple[subprocess.CompletedProcess[str], Any]:
    """Run the command with nothing configured; its output, and what its report says to programs."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COMPANION_")}
    for name in ("DATABASE_URL", "SECRET_KEY"):
        environment.pop(name, None)
    # A folder for temporary files of its own shows what is left over. The database server may be another account.
    with tempfile.TemporaryDirectory(prefix="growth-") as temporary:
        Path(temporary).chmod(0o755)
        done = subprocess.run(
            [sys.executable, "manage.py", "growth", *arguments],
            cwd=ROOT,
            env={**environment, "TMPDIR": temporary, "COMPANION_STATE_DIR": str(state)},
            capture_output=True,
            text=True,
            timeout=within_s,
        )
        left = [path.name for path in Path(temporary).iterdir()]
    assert left == []
    [line] = [line for line in done.stdout.splitlines() if line.startswith("Report: ")] or [""]
    page = Path(line.removeprefix("Report: "))
    assert page.is_file(), done.stdout[-2_000:] + done.stderr[-2_000:]
    html = page.read_text()
    assert "<script" not in html and "<svg" in html
    return done, json.loads(page.with_suffix(".json").read_text())


def list_broken(document: Any) -> dict[str, Any]:
    return {
        f"{one['growing']}, {one['title']}": one["faults"] or (one["rows_ratio"], one["blocks_ratio"])
        for one in document["growths"]
        if one["verdict"] == "GROWS" or one["faults"]
    }


@pytest.mark.timeout(300)
def test_no_cost_grows_with_a_line_of_waiting_turns(tmp_path: Path) -> None:
    done, document = run_growth("--sizes", "small", "--only", "waiting", state=tmp_path, within_s=280)
    assert list_broken(document) == {}
    assert done.returncode == 0
    [gate] = [one for one in document["growths"] if one["operation"] == "gate"]
    # It has measured what it says: the turn that the gate admits.
    assert gate["costs"]["3000"]["rows_read"] >= 1


@pytest.mark.long
@pytest.mark.timeout(300)
def test_no_cost_grows_with_what_is_stored(tmp_path: Path) -> None:
    done, document = run_growth("--sizes", "small", state=tmp_path, within_s=280)
    assert list_broken(document) == {}
    assert done.returncode == 0
    by_name = {(one["growing"], one["operation"]): one for one in document["growths"]}
    # It has measured what it says: a page's turns.
    assert by_name["turns", "hello"]["costs"]["1000"]["rows_read"] >= 50


@pytest.mark.long
@pytest.mark.timeout(5_400)
def test_no_cost_grows_with_millions_of_rows(tmp_path: Path) -> None:
    done, document = run_growth(state=tmp_path, within_s=5_300)
    assert list_broken(document) == {}
    assert done.returncode == 0
