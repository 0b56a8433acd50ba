"""What an operator meets at night: odd arguments, signals, places that cannot be used. A sentence each time (D5)."""

import signal
from pathlib import Path

import pytest

from tests.acceptance.backups.run_command import SECRET, run_command, run_interrupted
from tests.database.backups.drill_server import Server

NOWHERE = {"DIRECT_DATABASE_URL": "postgresql://ines@127.0.0.1:1/live"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["restore_drill", "--target", "nonsense"], "--target is not a PostgreSQL address"),
        (["restore_drill", "--measure", "--backup", "x"], "--measure times a fresh dump"),
        (["check_restored", "/nowhere"], "/nowhere does not exist."),
        (["seed_rows", "5"], "none of the service's tables. Run manage.py migrate first."),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    live: Server, state: Path, words: list[str], says: str
) -> None:
    done = run_command(live, state, *words)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("COULD NOT RUN: ") and says in done.stderr


@pytest.mark.parametrize("words", [["backup"], ["restore_drill", "--measure"], ["seed_rows", "5"]])
def test_a_server_that_is_not_there_is_a_sentence_for_every_command(
    live: Server, state: Path, words: list[str]
) -> None:
    done = run_command(live, state, *words, **NOWHERE)

    assert done.returncode == 2
    assert "cannot be reached. Correct DIRECT_DATABASE_URL, or start the server." in done.stderr
    assert "Traceback" not in done.stderr


def test_a_target_from_the_environment_is_named_as_what_it_is(live: Server, state: Path) -> None:
    unreadable = run_command(live, state, "restore_drill", DRILL_TARGET_URL="nonsense")
    unreachable = run_command(
        live, state, "restore_drill", DRILL_TARGET_URL=f"postgresql://ines:{SECRET}@127.0.0.1:1/postgres"
    )

    assert "DRILL_TARGET_URL is not a PostgreSQL address" in unreadable.stderr
    assert "Correct DRILL_TARGET_URL" in unreachable.stdout
    assert "postgres at 127.0.0.1, port 1; nothing was restored" in unreachable.stdout


@pytest.mark.parametrize(
    ("words", "phase", "number"),
    [
        (["restore_drill"], "private server", signal.SIGINT),
        (["restore_drill", "--measure"], "restore alone", signal.SIGTERM),
        (["backup"], "dump and row sums", signal.SIGHUP),
        (["check_restored"], "row sums", signal.SIGINT),
    ],
)
def test_a_signal_ends_every_command_in_a_sentence_and_leaves_nothing(
    live: Server, state: Path, words: list[str], phase: str, number: signal.Signals
) -> None:
    made = (
        [run_command(live, state, "backup", "--quiet").stdout.strip()] if words == ["check_restored"] else []
    )
    before = {path for path in state.rglob("*") if path.is_file()}

    done = run_interrupted(live, state, *words, *made, phase=phase, by=lambda it: it.send_signal(number))

    assert done.returncode == 2, (done.stdout, done.stderr)
    assert "A signal ended the run" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    left = {path for path in state.rglob("*") if path.is_file()} - before
    assert [path for path in left if path.parent.name != "drills" and path.name != ".lock"] == []


def test_a_killed_backup_leaves_nothing_that_looks_like_one_and_the_next_clears_it(
    live: Server, state: Path
) -> None:
    done = run_interrupted(live, state, "backup", phase="manifest", by=lambda it: it.kill())
    backups = state / "backups"
    left = [path.name for path in backups.iterdir() if not path.name.startswith(".")]
    half_made = list((backups / ".work").iterdir())

    made = Path(run_command(live, state, "backup", "--quiet").stdout.strip())

    assert (done.returncode, left, len(half_made)) == (-signal.SIGKILL, [], 1)
    assert [path.name for path in backups.iterdir() if not path.name.startswith(".")] == [made.name]
    assert list((backups / ".work").iterdir()) == []


def test_a_proof_that_cannot_be_kept_is_known_before_hours_of_work(live: Server, state: Path) -> None:
    (state / "drills").write_text("a file where the folder should be")

    done = run_command(live, state, "restore_drill", "--quiet")

    assert done.returncode == 2
    assert "No report can be kept in" in done.stdout
    assert "dump" not in done.stdout.split("NOT PROVED")[0]


def test_a_proof_that_could_not_be_kept_in_the_end_is_no_success_and_says_so(
    live: Server, state: Path
) -> None:
    def take_the_folder_away(_process: object) -> None:
        (state / "drills").rename(state / "away")
        (state / "drills").touch()

    words = ["restore_drill", "--target", "same-server"]
    done = run_interrupted(live, state, *words, phase="snapshot", by=take_the_folder_away)

    assert done.returncode == 2, (done.stdout, done.stderr)
    assert "Verdict  PROVED" in done.stdout
    assert "This drill does not count." in done.stderr
