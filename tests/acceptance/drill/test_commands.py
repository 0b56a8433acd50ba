"""The commands as an operator or a scheduler runs them: exit codes, last lines, and no password anywhere (D5, D7)."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from ops.drill import records
from ops.stack.postgres import EmbeddedPostgres
from tests.conftest import STATE
from tests.database.drill.conftest import SAMPLE
from tests.database.drill.copies import Server, passable
from tests.processes import ROOT

SECRET = "correct-horse-battery"


@pytest.fixture(scope="module")
def live() -> Iterator[Server]:
    """A live server."""
    postgres = EmbeddedPostgres(STATE / "commanded", settings={"fsync": "off"})
    server = Server(postgres.start())
    server.create("live")
    server.load("live", SAMPLE.read_text())
    yield server
    postgres.stop()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state folder, in a place that every account may pass through."""
    return passable(tmp_path)


def manage(live: Server, state: Path, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run one command to its end."""
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env=environ(live, state) | environment,
        capture_output=True,
        text=True,
        timeout=90,
    )


def environ(live: Server, state: Path) -> dict[str, str]:
    """What the commands read: an address with a password in it."""
    return os.environ | {
        "DATABASE_URL": live.url_of("live"),
        "DIRECT_DATABASE_URL": live.url_of("live", password=SECRET),
        "COMPANION_STATE_DIR": str(state),
    }


def test_a_drill_proves_and_ends_with_its_report(live: Server, state: Path) -> None:
    done = manage(live, state, "restore_drill")

    assert done.returncode == 0, done.stderr
    assert "Verdict  PROVED" in done.stdout
    assert "NOT PROVED:" in done.stdout
    page = Path(done.stdout.splitlines()[-1].removeprefix("Report").strip())
    assert page.is_relative_to(state / "drills") and "PROVED" in page.read_text()
    assert "row sums" in done.stderr
    last = records.latest(state)
    assert last is not None and last.verdict == "PROVED"


def test_a_quiet_drill_for_a_scheduler_says_nothing_of_its_progress(live: Server, state: Path) -> None:
    done = manage(live, state, "restore_drill", "--quiet", "--json", "--target", "same-server")

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["where"] == "same server"
    assert json.loads(done.stdout)["not_proved"]


def test_a_drill_that_could_not_run_is_on_record_and_does_not_count(live: Server, state: Path) -> None:
    done = manage(live, state, "restore_drill", "--bin", str(state))

    assert done.returncode == 2
    assert "Install them" in done.stdout
    last = records.latest(state)
    assert last is not None and last.verdict == "COULD NOT RUN"
    assert records.due_at(state) is None


def test_a_backup_ends_with_its_path_and_can_be_drilled_and_compared(live: Server, state: Path) -> None:
    made = manage(live, state, "backup", "--quiet")
    path = made.stdout.strip()
    drilled = manage(live, state, "restore_drill", "--backup", path, "--quiet")
    checked = manage(live, state, "check_restored", path)

    assert (made.returncode, made.stderr) == (0, "")
    assert Path(path, "manifest.json").is_file()
    assert drilled.returncode == 0 and "evidence level B" in drilled.stdout, drilled.stdout
    assert checked.returncode == 0 and checked.stdout.startswith("Alike: "), checked.stdout


def test_a_proof_that_cannot_be_kept_is_no_success(live: Server, state: Path) -> None:
    (state / "drills").write_text("a file where the folder should be")

    done = manage(live, state, "restore_drill", "--quiet", "--target", "same-server")

    assert done.returncode == 2
    assert "could not be kept" in done.stdout


def test_a_password_on_the_command_line_is_refused(live: Server, state: Path) -> None:
    done = manage(live, state, "restore_drill", "--target", live.url_of("postgres", password=SECRET))

    assert done.returncode == 2
    assert "DRILL_TARGET_URL" in done.stderr
    assert SECRET not in done.stdout + done.stderr


@pytest.mark.parametrize("where", ["private", "target"])
def test_no_password_is_in_any_argument_log_or_report(live: Server, state: Path, where: str) -> None:
    target = {"DRILL_TARGET_URL": live.url_of("postgres", password=SECRET)} if where == "target" else {}
    watched = Arguments()
    with watched:
        done = manage(live, state, "restore_drill", "--keep-dump", **target)

    assert done.returncode == 0, done.stdout + done.stderr
    assert {"pg_dump", "pg_restore"} <= watched.programs
    assert not watched.told
    assert SECRET not in done.stdout + done.stderr
    told = [path for path in state.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert told == []


class Arguments:
    """Looks at every process of this machine, again and again, for the password in its arguments."""

    def __init__(self) -> None:
        self.told: list[list[str]] = []
        self.programs: set[str] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "Arguments":
        self._thread.start()
        return self

    def __exit__(self, *_unused: object) -> None:
        self._over.set()
        self._thread.join(10)

    def _look(self) -> None:
        while not self._over.is_set():
            for process in psutil.process_iter(["name", "cmdline"]):
                self.programs.add(process.info["name"])
                words = process.info["cmdline"] or []
                if any(SECRET in word for word in words):
                    self.told.append(words)
