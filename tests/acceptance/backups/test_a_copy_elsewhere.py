"""An encrypted backup is copied elsewhere by a program that a setting names, and drilled from there (D4, D5)."""

import json
from pathlib import Path

import pytest

from tests.acceptance.backups.run_command import run_command, run_interrupted
from tests.database.backups.age_keys import AgeKeys, make_keys
from tests.database.backups.drill_server import Server


@pytest.fixture
def keys(state: Path) -> AgeKeys:
    """The keys of the operators."""
    return make_keys(state)


def set_copying(state: Path, keys: AgeKeys, *words: str) -> dict[str, str]:
    """The settings: the public key in a file, and a program."""
    (state / "recipients").write_text(f"# the operators\n{keys.recipient}\n")
    return {"BACKUP_RECIPIENTS_FILE": str(state / "recipients"), "BACKUP_COPY_COMMAND": json.dumps(words)}


def test_a_backup_is_copied_with_its_manifest_last_and_no_shell_reads_the_command(
    live: Server, state: Path, keys: AgeKeys
) -> None:
    # A shell would divide this name, and run what is in it.
    elsewhere = state / "else where; touch shell"
    log = state / "log"
    copying = set_copying(
        state,
        keys,
        "/bin/sh",
        "-c",
        'install -D "$1" "$2" && echo "$2" >>"$3" && env >>"$3.env"',
        "copy",
        "{file}",
        f"{elsewhere}/{{name}}",
        str(log),
    )

    made = run_command(live, state, "backup", "--quiet", SECRET_KEY="the key of the service", **copying)

    assert (made.returncode, made.stderr) == (0, "")
    backup = Path(made.stdout.strip())
    copied = [line.removeprefix(f"{elsewhere}/") for line in log.read_text().splitlines()]
    folder = backup.name
    assert [name for name in copied if name != "erasures.jsonl"] == [
        f"{folder}/backup.tar.age",
        f"{folder}/manifest.sig",
        f"{folder}/manifest.json",
    ]
    for file in backup.iterdir():
        assert (elsewhere / folder / file.name).read_bytes() == file.read_bytes()
    assert "the key of the service" not in Path(f"{log}.env").read_text()
    assert not list(state.rglob("shell"))


@pytest.mark.parametrize(
    ("program", "says"),
    [("false", "false ended with exit code 1 at "), ("/nowhere/copy", "which is not on this machine")],
)
def test_a_copy_that_fails_is_no_success_and_the_backup_stays(
    live: Server, state: Path, keys: AgeKeys, program: str, says: str
) -> None:
    copying = set_copying(state, keys, program, "{file}", "{name}")

    made = run_command(live, state, "backup", "--quiet", **copying)

    assert made.returncode == 2
    assert "This backup is whole here. It could not be copied elsewhere: " in made.stderr
    assert says in made.stderr
    backup = Path(made.stdout.strip())
    assert (backup / "manifest.json").is_file()
    assert list((backup.parent / ".work").iterdir()) == []


@pytest.mark.long
def test_the_newest_backup_that_lies_elsewhere_is_proved_by_a_drill(
    live: Server, state: Path, keys: AgeKeys
) -> None:
    elsewhere = state / "elsewhere"
    copying = set_copying(state, keys, "install", "-D", "{file}", f"{elsewhere}/{{name}}")
    made = run_command(live, state, "backup", "--quiet", **copying)
    here = ["restore_drill", "--newest-in", str(elsewhere), "--quiet"]

    locked = run_command(live, state, *here)
    proved = run_command(live, state, *here, BACKUP_IDENTITY_FILE=str(keys.identity))

    assert (made.returncode, made.stderr) == (0, "")
    assert locked.returncode == 2 and "BACKUP_IDENTITY_FILE" in locked.stdout
    assert proved.returncode == 0 and "evidence level B" in proved.stdout, proved.stdout
    assert ", encrypted" in proved.stdout


@pytest.mark.long
def test_what_a_killed_drill_left_decrypted_is_removed_by_the_next(
    live: Server, state: Path, keys: AgeKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BACKUP_RECIPIENTS", keys.recipient)
    monkeypatch.setenv("BACKUP_IDENTITY_FILE", str(keys.identity))
    made = run_command(live, state, "backup", "--quiet").stdout.strip()
    decrypted = state / "drill-work" / "decrypted"

    # It is decrypted before these checks begin.
    killed = run_interrupted(
        live, state, "restore_drill", "--backup", made, phase="preflight", by=lambda it: it.kill()
    )
    left = list(decrypted.iterdir())
    proved = run_command(live, state, "restore_drill", "--backup", made, "--quiet")

    assert (killed.returncode, len(left)) == (-9, 1)
    assert proved.returncode == 0, proved.stdout
    assert list(decrypted.iterdir()) == []
