"""`scripts/up` on free ports and in a folder of its own: what it prints, what it leaves, what it survives."""

import http.client
import json
import os
import pwd
import shutil
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ops.stack.account import Account, passing_prefix
from ops.stack.version import VERSION
from tests.acceptance.running_up import LIMIT_S, ROOT, Up, find_free_ports, up
from tests.patience import wait_until

PERSONA = ROOT / "personas" / "files" / "robin.toml"


pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def used_before(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A state folder in which `up` has run to the end once."""
    state = tmp_path_factory.mktemp("used-before")
    with up(state) as first:
        first.wait_until_ready()
        assert first.stop() == 0
    assert "newly made" in first.text
    yield state


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """One `up` that goes on serving while several tests look at it."""
    with up(tmp_path_factory.mktemp("serving")) as run:
        yield run.wait_until_ready()


def status(
    run: Up, path: str, *, port: int | None = None, headers: dict[str, str] | None = None
) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port or run.port, timeout=LIMIT_S)
    try:
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_it_prints_what_a_newcomer_needs_and_serves(serving: Up) -> None:
    assert status(serving, "/healthz")[0] == 200
    assert f"ready: {serving.address}" in serving.lines
    assert f"Care companion {VERSION}." in serving.lines
    for name in ("Sam", "Ines", "Rosa", "Tomas", "Ada"):
        assert name in serving.text
    assert f"{serving.address}/card/" in serving.text
    assert f"{serving.address}/staff/sign-in/" in serving.text


def test_a_second_start_takes_under_ten_seconds_and_prints_the_same_cards(used_before: Path) -> None:
    port = find_free_ports()
    with up(used_before, port=port) as run:
        before = [line for line in run.wait_until_ready().lines if line.startswith("  ")]
        run.stop()

    began = time.monotonic()
    with up(used_before, port=port) as run:
        run.wait_until_ready()
        took = time.monotonic() - began
        used = run.processor_seconds()

    # On a machine that does much else at the same time the clock says nothing, but the work done still does.
    assert min(took, used) < 10
    assert [line for line in run.lines if line.startswith("  ")] == before


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_leaves_nothing_running(used_before: Path, ending: signal.Signals) -> None:
    with up(used_before) as run:
        assert len(run.wait_until_ready().processes()) > 5

        assert run.stop(ending) == 0

        assert run.processes() == []
        assert "Nothing is left running." in run.text
        assert not (used_before / "run" / "environment.json").exists()


def test_ctrl_c_during_the_first_steps_leaves_nothing_running_and_the_next_start_works(
    tmp_path: Path,
) -> None:
    with up(tmp_path) as run:
        run.until("Queue:")
        assert run.stop() == 130
        assert run.processes() == []

    with up(tmp_path) as run:
        run.wait_until_ready()


def test_a_first_start_killed_while_the_database_is_made_is_mended_by_the_next(tmp_path: Path) -> None:
    with up(tmp_path) as run:
        wait_until((tmp_path / "postgres" / "data.partial").exists, within_s=LIMIT_S)
        run.ask_each(lambda process: process.kill())
        run.wait_for_exit()

    with up(tmp_path) as run:
        run.wait_until_ready()


def test_a_port_in_use_is_said_before_anything_starts(tmp_path: Path) -> None:
    with socket.socket() as other_program:
        other_program.bind(("127.0.0.1", 0))
        other_program.listen()
        taken = other_program.getsockname()[1]
        with up(tmp_path, port=taken) as run:
            assert run.wait_for_exit() == 1

    assert f"Port {taken} is in use" in run.text
    assert "--port" in run.text
    assert not (tmp_path / "postgres").exists()


def test_a_second_up_on_the_same_folder_is_refused_and_the_first_goes_on(serving: Up) -> None:
    with up(serving.state) as second:
        assert second.wait_for_exit() == 1

    assert "Another scripts/up" in second.text
    assert status(serving, "/healthz")[0] == 200


def test_a_folder_of_another_account_is_refused_by_name(serving: Up) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can start something as another account")
    account = Account(uid=65534, gid=65534, prefix=passing_prefix(pwd.getpwnam("nobody")))

    with up(serving.state, command=account.command([ROOT / "scripts" / "up"])) as other:
        assert other.wait_for_exit() == 1

    assert "another account" in other.text
    assert "Traceback" not in other.text
    assert status(serving, "/healthz")[0] == 200


def test_two_side_by_side_have_nothing_in_common(serving: Up, used_before: Path) -> None:
    with up(used_before, "--processes", "2", port=find_free_ports(2)) as other:
        other.wait_until_ready()

        assert status(other, "/healthz", port=other.port + 1)[0] == 200
        assert status(serving, "/healthz")[0] == 200
        ours, theirs = (
            json.loads((state / "run" / "environment.json").read_text())
            for state in (serving.state, used_before)
        )
        assert ours["DATABASE_URL"] != theirs["DATABASE_URL"]
        assert ours["VALKEY_URL"] != theirs["VALKEY_URL"]
        assert theirs["ports"] == [other.port, other.port + 1]


def test_when_up_is_killed_everything_it_started_ends_and_the_next_start_is_clean(used_before: Path) -> None:
    with up(used_before) as run:
        run.wait_until_ready()
        run.find_process("ops.stack.up").kill()
        run.wait_for_exit()

        with up(used_before, port=run.port) as following:
            following.wait_until_ready()
            assert status(following, "/healthz")[0] == 200


def test_when_up_and_its_guard_are_killed_the_next_start_ends_what_is_left(used_before: Path) -> None:
    with up(used_before) as run:
        run.wait_until_ready()
        web = run.find_process("manage.py serve")
        for one in [run.find_process("ops.stack.guard"), run.find_process("ops.stack.up")]:
            one.kill()
        run.wait_for_exit()
        assert web.is_running()
        # The web process still has the port; another is asked for so that this alone is tested.
        with up(used_before) as following:
            following.wait_until_ready()

            assert "broken off" in following.text
            assert web.pid not in {process.pid for process in following.processes()}


def test_a_web_process_that_dies_is_replaced_and_callers_only_wait(serving: Up) -> None:
    serving.find_process("manage.py serve").kill()

    assert status(serving, "/healthz")[0] == 200
    serving.until("has ended by itself")


@pytest.mark.parametrize("server", ["postgres", "valkey-server"])
def test_an_embedded_server_that_dies_is_started_again_at_its_old_address(serving: Up, server: str) -> None:
    killed = serving.find_process(server)
    killed.kill()

    serving.until("It is started again.")
    wait_until(
        lambda: any(serving.ask_each(lambda one: server in one.name() and one.pid != killed.pid)),
        within_s=LIMIT_S,
    )
    wait_until(lambda: status(serving, "/healthz")[0] == 200, within_s=LIMIT_S)


def test_a_broken_persona_stands_behind_a_drafted_page_until_it_is_mended(
    used_before: Path, tmp_path: Path
) -> None:
    persona = tmp_path / "robin.toml"
    persona.write_text(PERSONA.read_text().replace("pause =", "paws =", 1))
    with up(used_before, environment={"COMPANION_PERSONA": str(persona)}) as run:
        run.until("says that the chat is not working")

        assert "paws" in run.text or "pause" in run.text
        assert str(persona) in run.text
        code, page = status(run, "/chat/")
        assert code == 503
        assert "This is not because of you." in page
        upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
        assert status(run, "/ws/chat/", headers=upgrade)[0] == 503

        shutil.copyfile(PERSONA, persona)
        run.wait_until_ready()
        assert status(run, "/healthz")[0] == 200


def test_a_setting_that_makes_no_sense_is_said_and_ends_it(used_before: Path) -> None:
    with up(used_before, environment={"COMPANION_CEILING": "many"}) as run:
        assert run.wait_for_exit() == 78

    assert "COMPANION_CEILING" in run.text
    assert "Traceback" not in run.text


def test_private_files_can_be_read_by_their_owner_alone(serving: Up) -> None:
    for name in ("secret_key", "staff.json", "valkey/valkey.conf", "run/environment.json"):
        assert stat.S_IMODE((serving.state / name).stat().st_mode) == 0o600
    for name in ("run", "log", "postgres", "valkey"):
        assert stat.S_IMODE((serving.state / name).stat().st_mode) == 0o700


def test_no_password_stands_on_a_command_line(serving: Up) -> None:
    valkey = json.loads((serving.state / "run" / "environment.json").read_text())["VALKEY_URL"]
    secrets = [valkey.split("@")[0].split(":")[-1], (serving.state / "secret_key").read_text()]

    lines = serving.ask_each(lambda process: " ".join(process.cmdline()))

    assert lines
    assert not [line for line in lines if any(secret in line for secret in secrets)]


def test_it_works_as_an_ordinary_user(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("every other test of this file is run by an ordinary user already")
    person = pwd.getpwnam("nobody")
    state = tmp_path / "state"
    state.mkdir()
    os.chown(state, person.pw_uid, person.pw_gid)
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        folder.chmod(0o711)
    # Where Python itself lives under /root, as with some version managers, the account is let through to it.
    account = (
        Account(uid=person.pw_uid, gid=person.pw_gid)
        if reaches_python(person)
        else Account(uid=person.pw_uid, gid=person.pw_gid, prefix=passing_prefix(person))
    )
    change: dict[str, Any] = (
        {} if account.prefix else {"user": person.pw_uid, "group": person.pw_gid, "extra_groups": []}
    )

    with up(state, command=account.command([ROOT / "scripts" / "up"]), **change) as run:
        run.wait_until_ready()

        assert set(run.ask_each(lambda process: process.uids().real)) == {person.pw_uid}
        assert status(run, "/healthz")[0] == 200
        assert run.stop() == 0
        assert run.processes() == []


def reaches_python(person: pwd.struct_passwd) -> bool:
    try:
        done = subprocess.run(
            [ROOT / ".venv" / "bin" / "python", "-c", "import django"],
            user=person.pw_uid,
            group=person.pw_gid,
            extra_groups=[],
            capture_output=True,
        )
    except PermissionError:
        return False
    return done.returncode == 0
