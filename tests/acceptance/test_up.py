"""`scripts/up` on free ports and in a folder of its own: how it starts, how it ends, what it survives."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ops.stack.account import Account, passing_prefix
from tests.acceptance.running_up import LIMIT_S, ROOT, SCRIPT, Up, status, up
from tests.folders import allow_traversal
from tests.patience import wait_until

PERSONA = ROOT / "personas" / "files" / "robin.toml"

pytestmark = pytest.mark.timeout(600)


@dataclass(frozen=True, kw_only=True)
class Person:
    """An ordinary user, who starts `scripts/up`: `nobody` where these tests are run by root."""

    uid: int
    command: tuple[str, ...] = SCRIPT
    popen: Mapping[str, Any] = field(default_factory=dict)

    def up(self, state: Path, **options: Any) -> AbstractContextManager[Up]:
        """Start `scripts/up` as this user."""
        return up(state, command=self.command, **self.popen, **options)


@dataclass(frozen=True, kw_only=True)
class Mended:
    """An `up` that serves since its persona file was mended, and what it answered before."""

    run: Up
    persona: Path
    chat: tuple[int, str]
    chat_socket: tuple[int, str]


@pytest.fixture(scope="module")
def person() -> Person:
    if os.geteuid() != 0:
        return Person(uid=os.geteuid())
    entry = pwd.getpwnam("nobody")
    # Where Python itself lives under /root, as with some version managers, the account is let through to it.
    if reaches_python(entry):
        own = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        return Person(uid=entry.pw_uid, popen=own)
    account = Account(uid=entry.pw_uid, gid=entry.pw_gid, prefix=passing_prefix(entry))
    return Person(uid=entry.pw_uid, command=tuple(map(str, account.command(SCRIPT))))


@pytest.fixture(scope="module")
def used_before(person: Person, tmp_path_factory: pytest.TempPathFactory) -> Up:
    """An `up` that has run in a new state folder until Ctrl-C."""
    state = tmp_path_factory.mktemp("used-before") / "state"
    state.mkdir()
    os.chown(state, person.uid, -1)
    allow_traversal(state.parent)
    with person.up(state) as first:
        first.wait_until_ready()
        assert len(first.processes()) > 5
        assert set(first.ask_each(lambda process: process.uids().real)) == {person.uid}
        assert status(first, "/healthz")[0] == 200
        first.start_used_s = first.processor_seconds()
        first.stop(signal.SIGINT)
        assert_nothing_left(first)
    return first


@pytest.fixture(scope="module")
def killed(person: Person, used_before: Up) -> Iterator[Up]:
    """The second start in that folder, killed once it served. Its guard lives on."""
    with person.up(used_before.state, port=used_before.port) as second:
        second.wait_until_ready()
        second.start_used_s = second.processor_seconds()
        second.find_process("ops.stack.up").kill()
        second.wait_for_exit()
        yield second


@pytest.fixture(scope="module")
def mended(person: Person, killed: Up, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mended]:
    """The start after that: with a broken persona file, which is then mended."""
    persona = allow_traversal(tmp_path_factory.mktemp("personas")) / "robin.toml"
    persona.write_text(PERSONA.read_text().replace("pause =", "paws =", 1))
    shutil.copy(PERSONA.with_name("robin.es.toml"), persona.parent)
    with person.up(killed.state, port=killed.port, environment={"COMPANION_PERSONA": str(persona)}) as run:
        run.until("says that the chat is not working")
        upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
        chat, chat_socket = status(run, "/chat/"), status(run, "/ws/chat/", headers=upgrade)
        shutil.copyfile(PERSONA, persona)
        run.wait_until_ready()
        yield Mended(run=run, persona=persona, chat=chat, chat_socket=chat_socket)


def assert_nothing_left(ended: Up) -> None:
    """Assert that it ended in order and left neither a process nor an address."""
    assert ended.popen.returncode == 0
    assert ended.processes() == []
    assert "Nothing is left running." in ended.text
    assert not (ended.state / "run" / "environment.json").exists()


def test_a_first_start_by_an_ordinary_user_makes_the_database_and_ctrl_c_ends_it_in_order(
    used_before: Up,
) -> None:
    assert "newly made" in used_before.text
    assert used_before.popen.returncode == 0
    assert "Nothing is left running." in used_before.text


def test_a_second_start_is_less_work_than_the_first_and_prints_the_same_cards(
    used_before: Up, killed: Up
) -> None:
    assert killed.start_used_s < used_before.start_used_s
    before, now = ([line for line in one.lines if line.startswith("  ")] for one in (used_before, killed))
    assert now == before


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


def test_a_broken_persona_stands_behind_a_drafted_page_until_it_is_mended(mended: Mended) -> None:
    assert "paws" in mended.run.text or "pause" in mended.run.text
    assert str(mended.persona) in mended.run.text
    code, page = mended.chat
    assert code == 503
    assert "This is not because of you." in page
    assert mended.chat_socket[0] == 503
    assert status(mended.run, "/healthz")[0] == 200


def test_when_up_is_killed_the_next_start_is_clean_and_so_is_the_one_after_its_guard_was_killed_too(
    person: Person, mended: Mended
) -> None:
    following = mended.run
    assert status(following, "/healthz")[0] == 200

    web = following.find_process("manage.py serve")
    for one in [following.find_process("ops.stack.guard"), following.find_process("ops.stack.up")]:
        one.kill()
    following.wait_for_exit()
    assert web.is_running()
    # The web process still has the port; another is asked for so that this alone is tested.
    with person.up(following.state) as last:
        last.wait_until_ready()
        assert "broken off" in last.text
        assert web.pid not in {process.pid for process in last.processes()}
        last.stop(signal.SIGHUP)
    assert_nothing_left(last)


def test_a_setting_that_makes_no_sense_is_said_and_ends_it(tmp_path: Path) -> None:
    # With a database of another server: none of its own is made before the settings are read.
    settings = {"COMPANION_CEILING": "many", "DATABASE_URL": "postgresql://elsewhere/companion"}
    with up(tmp_path, environment=settings) as run:
        assert run.wait_for_exit() == 78

    assert "COMPANION_CEILING" in run.text
    assert "Traceback" not in run.text


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
