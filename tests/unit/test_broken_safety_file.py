"""A broken file of safety rules stops web and worker at the start, with one sentence that names the mend (P1, S1)."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.prefork import prefork

ROOT = Path(__file__).resolve().parents[2]
CANNOT_START = 78
REHEARSED = {
    "SECRET_KEY": "x",
    "DATABASE_URL": "postgresql://companion@:5432/companion?host=/nowhere",
    "COMPANION_REHEARSED": "yes",
}
WAYS = {
    "web": ["manage.py", "serve", "--port", "0"],
    "check": ["manage.py", "serve", "--check"],
    "worker": ["-m", "celery", "-A", "ops.project.celery", "worker", "--pool", "solo"],
}
UNREADABLE = """
[[rules]]
id = "odd"
kind = "overdose"
why = "A test."
patterns = ["@no_such_class"]
"""
FAULTS: dict[str, tuple[Callable[[str], str | None], str]] = {
    "is away": (lambda text: None, "there is no such file"),
    "is no TOML": (lambda text: text + "\n[[[", "en.toml"),
    "has an unknown key": (lambda text: "surprise = 1\n" + text, "surprise"),
    "has a pattern that cannot be read": (
        lambda text: (
            text
            + '\n[[rules]]\nid = "odd"\nkind = "overdose"\nwhy = "A test."\npatterns = ["@no_such_class"]\n'
        ),
        "no_such_class",
    ),
}


def start(tmp_path: Path, way: list[str], change: Callable[[str], str | None]) -> tuple[int, str]:
    """Start it on a copy of `personas` with a changed file of rules; returns the exit code and what it said."""
    copied = tmp_path / "personas"
    shutil.copytree(ROOT / "personas", copied, ignore=shutil.ignore_patterns("__pycache__"))
    rules = copied / "safety" / "en.toml"
    changed = change(rules.read_text(encoding="utf-8"))
    if changed is None:
        rules.unlink()
    else:
        rules.write_text(changed, encoding="utf-8")
    ended = prefork.run(
        [str(ROOT / way[0]), *way[1:]] if way[0] == "manage.py" else way,
        cwd=tmp_path,
        modules_from=tmp_path,
        env={
            "PATH": os.environ["PATH"],
            "COMPANION_STATE_DIR": str(tmp_path / "state"),
            **REHEARSED,
        },
    )
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.parametrize("fault", FAULTS)
def test_the_service_does_not_start_where_the_file(tmp_path: Path, fault: str) -> None:
    change, told = FAULTS[fault]

    code, said = start(tmp_path, WAYS["web"], change)

    assert code == CANNOT_START, said
    assert said.startswith("The service does not start. ") and told in said
    assert str(tmp_path / "personas" / "safety" / "en.toml") in said
    assert "Traceback" not in said


@pytest.mark.parametrize("way", ["check", "worker"])
def test_so_do_its_check_and_its_worker(tmp_path: Path, way: str) -> None:
    code, said = start(tmp_path, WAYS[way], FAULTS["has an unknown key"][0])

    assert code == CANNOT_START, said
    assert "surprise" in said and "Traceback" not in said


def test_the_file_that_ships_passes_the_check(tmp_path: Path) -> None:
    assert start(tmp_path, WAYS["check"], lambda text: text) == (0, "")
