"""The commands as an operator or a scheduler runs them: exit codes, last lines, and no password anywhere (D5, D7)."""

import contextlib
import json
import threading
from pathlib import Path

import psutil
import pytest

from ops.backups.reporting import records
from tests.acceptance.backups.run_command import SECRET, run_command
from tests.database.backups.drill_server import Server

KEY = "the key of the service in this test"


def test_a_drill_proves_and_ends_with_its_report(live: Server, state: Path) -> None:
    done = run_command(live, state, "restore_drill")

    assert done.returncode == 0, done.stderr
    assert "Verdict  PROVED" in done.stdout
    assert "NOT PROVED:" in done.stdout
    page = Path(done.stdout.splitlines()[-1].removeprefix("Report").strip())
    assert page.is_relative_to(state / "drills") and "PROVED" in page.read_text()
    assert "row sums" in done.stderr
    last = records.find_latest(state)
    assert last is not None and last.verdict == "PROVED"


def test_a_quiet_drill_for_a_scheduler_says_nothing_of_its_progress(live: Server, state: Path) -> None:
    done = run_command(live, state, "restore_drill", "--quiet", "--json", "--target", "same-server")

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["where"] == "same server"
    assert json.loads(done.stdout)["not_proved"]


def test_a_drill_that_could_not_run_is_on_record_and_does_not_count(live: Server, state: Path) -> None:
    done = run_command(live, state, "restore_drill", "--bin", str(state))

    assert done.returncode == 2
    assert "Install them" in done.stdout
    last = records.find_latest(state)
    assert last is not None and last.verdict == "COULD NOT RUN"
    assert records.compute_due_at(state) is None


def test_a_backup_ends_with_its_path_and_can_be_drilled_and_compared(live: Server, state: Path) -> None:
    made = run_command(live, state, "backup", "--quiet")
    path = made.stdout.strip()
    drilled = run_command(live, state, "restore_drill", "--backup", path, "--quiet")
    checked = run_command(live, state, "check_restored", path)

    assert (made.returncode, made.stderr) == (0, "")
    assert Path(path, "manifest.json").is_file()
    assert drilled.returncode == 0 and "evidence level B" in drilled.stdout, drilled.stdout
    assert checked.returncode == 0 and checked.stdout.startswith("Alike: "), checked.stdout


def test_the_statements_for_a_restore_name_the_database_in_use_and_the_owner_that_the_backup_knows(
    live: Server, state: Path
) -> None:
    path = run_command(live, state, "backup", "--quiet").stdout.strip()
    new = {"DATABASE_URL": "postgresql://caretaker@127.0.0.1:1/restored"}

    said = run_command(live, state, "check_restored", path, "--statements", **new)

    assert (said.returncode, said.stderr) == (0, "")
    assert 'CREATE DATABASE "restored" OWNER "companion" TEMPLATE template0 ENCODING' in said.stdout


def test_a_password_on_the_command_line_is_refused(live: Server, state: Path) -> None:
    done = run_command(live, state, "restore_drill", "--target", live.url_of("postgres", password=SECRET))

    assert done.returncode == 2
    assert "DRILL_TARGET_URL" in done.stderr
    assert SECRET not in done.stdout + done.stderr


@pytest.mark.parametrize("where", ["private", "target"])
def test_no_password_is_in_any_argument_log_or_report(live: Server, state: Path, where: str) -> None:
    target = {"DRILL_TARGET_URL": live.url_of("postgres", password=SECRET)} if where == "target" else {}
    watched = ArgumentWatch()
    with watched:
        done = run_command(live, state, "restore_drill", "--keep-dump", **target)

    assert done.returncode == 0, done.stdout + done.stderr
    assert {"pg_dump", "pg_restore"} <= watched.programs
    assert not watched.told
    assert SECRET not in done.stdout + done.stderr
    told = [path for path in state.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert told == []


def test_what_runs_a_backups_code_knows_no_key_of_the_service(live: Server, state: Path) -> None:
    made = Path(run_command(live, state, "backup", "--quiet").stdout.strip())
    watched = ArgumentWatch(below=state)
    with watched:
        done = run_command(live, state, "restore_drill", "--backup", str(made), "--quiet", SECRET_KEY=KEY)
        trusted = run_command(live, state, "restore_drill", "--backup", str(made), "--trust", SECRET_KEY=KEY)

    assert done.returncode == 2 and "was signed with another key" in done.stdout
    assert trusted.returncode == 0, trusted.stdout
    assert {"pg_restore", "postgres"} <= watched.below
    assert watched.keyed == set()


class ArgumentWatch:
    """Looks at every process of this machine, again and again, for the password in its arguments.

    Of those whose arguments name a place below a folder, also for the service's key in their environment.
    """

    def __init__(self, *, below: Path | None = None) -> None:
        self.below: set[str] = set()
        self.keyed: set[str] = set()
        self._folder = str(below) if below else None
        self.told: list[list[str]] = []
        self.programs: set[str] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "ArgumentWatch":
        self._thread.start()
        return self

    def __exit__(self, *_unused: object) -> None:
        self._over.set()
        self._thread.join(10)

    def _look(self) -> None:
        # Every program that gets an address lives longer than this.
        while not self._over.wait(0.02):
            for process in psutil.process_iter(["name", "cmdline"]):
                self.programs.add(process.info["name"])
                words = process.info["cmdline"] or []
                if any(SECRET in word for word in words):
                    self.told.append(words)
                if self._folder and any(self._folder in word for word in words):
                    self._look_into(process)

    def _look_into(self, process: psutil.Process) -> None:
        with contextlib.suppress(psutil.Error):
            if (name := process.name()) in {"initdb", "postgres", "pg_dump", "pg_restore"}:
                self.below.add(name)
                if KEY in process.environ().values():
                    self.keyed.add(name)
