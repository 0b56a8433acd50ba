"""`scripts/up` on free ports and in a folder of its own: how it starts, how it ends, what it survives."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ops.stack.account import Account, passing_prefix
from tests.acceptance.running_up import LIMIT_S, ROOT, Up, status, up
from tests.folders import allow_traversal
from tests.patience import wait_until

PERSONA = ROOT / "personas" / "files" / "robin.toml"

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def used_before(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """An `up` that has run in a new state folder until Ctrl-C."""
    with up(tmp_path_factory.mktemp("used-before")) as first:
        first.wait_until_ready()
        assert len(first.processes()) > 5
        first.start_used_s = first.processor_seconds()
        first.stop(signal.SIGINT)
    yield first


def assert_nothing_left(ended: Up) -> None:
    """Assert that it ended in order and left neither a process nor an address."""
    assert ended.popen.returncode == 0
    assert ended.processes() == []
    assert "Nothing is left running." in ended.text
    assert not (ended.state / "run" / "environment.json").exists()


def test_a_first_start_makes_the_database_and_ctrl_c_leaves_nothing_running(used_before: Up) -> None:
    assert "newly made" in used_before.text
    assert_nothing_left(used_before)


def test_a_second_start_is_less_work_than_the_first_prints_the_same_cards_and_ends_on_sigterm(
    used_before: Up,
) -> None:
    with up(used_before.state, port=used_before.port) as run:
        run.wait_until_ready()
        used_s = run.processor_seconds()
        run.stop(signal.SIGTERM)

    assert used_s < used_before.start_used_s
    before, now = ([line for line in one.lines if line.startswith("  ")] for one in (used_before, run))
    assert now == before
    assert_nothing_left(run)


@pytest.mark.long
def test_a_first_start_killed_while_the_database_is_made_and_one_stopped_later_are_mended_by_the_next(
    tmp_path: Path,
) -> None:
    with up(tmp_path) as run:
        wait_until((tmp_path / "postgres" / "data.partial").exists, within_s=LIMIT_S)
        run.ask_each(lambda process: process.kill())
        run.wait_for_exit()

    with up(tmp_path) as run:
        run.until("Queue:")
        assert run.stop() == 130
        assert run.processes() == []

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


def test_when_up_is_killed_the_next_start_is_clean_and_so_is_the_one_after_its_guard_was_killed_too(
    used_before: Up,
) -> None:
    with up(used_before.state) as run:
        run.wait_until_ready()
        run.find_process("ops.stack.up").kill()
        run.wait_for_exit()

        with up(run.state, port=run.port) as following:
            following.wait_until_ready()
            assert status(following, "/healthz")[0] == 200

            web = following.find_process("manage.py serve")
            for one in [following.find_process("ops.stack.guard"), following.find_process("ops.stack.up")]:
                one.kill()
            following.wait_for_exit()
            assert web.is_running()
            # The web process still has the port; another is asked for so that this alone is tested.
            with up(run.state) as last:
                last.wait_until_ready()
                assert "broken off" in last.text
                assert web.pid not in {process.pid for process in last.processes()}
                last.stop(signal.SIGHUP)
    assert_nothing_left(last)


def test_a_broken_persona_stands_behind_a_drafted_page_until_it_is_mended(
    used_before: Up, tmp_path: Path
) -> None:
    persona = tmp_path / "robin.toml"
    persona.write_text(PERSONA.read_text().replace("pause =", "paws =", 1))
    shutil.copy(PERSONA.with_name("robin.es.toml"), tmp_path)
    with up(used_before.state, environment={"COMPANION_PERSONA": str(persona)}) as run:
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


def test_a_setting_that_makes_no_sense_is_said_and_ends_it(used_before: Up) -> None:
    with up(used_before.state, environment={"COMPANION_CEILING": "many"}) as run:
        assert run.wait_for_exit() == 78

    assert "COMPANION_CEILING" in run.text
    assert "Traceback" not in run.text


def test_it_works_as_an_ordinary_user(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("every other test of this file is run by an ordinary user already")
    person = pwd.getpwnam("nobody")
    state = tmp_path / "state"
    state.mkdir()
    os.chown(state, person.pw_uid, person.pw_gid)
    allow_traversal(tmp_path)
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
