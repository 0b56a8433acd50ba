"""One `scripts/up` that goes on serving: what it prints, what it keeps to itself, and what may die below it."""

import json
import os
import pwd
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from ops.stack.account import Account, passing_prefix
from ops.stack.version import VERSION
from tests.acceptance.running_up import LIMIT_S, ROOT, Up, clean_environment, find_free_ports, status, up
from tests.page_socket import Page
from tests.patience import until, wait_until
from tests.prefork import prefork

BACK = "I am back. First, what you asked me before."
PAUSE = "I have to stop for a little while. You did nothing wrong. I have kept your question safe."

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """One `up` that goes on serving while several tests look at it, and ends in order on SIGTERM."""
    with up(tmp_path_factory.mktemp("serving")) as run:
        yield run.wait_until_ready()
        assert run.stop(signal.SIGTERM) == 0
        assert run.processes() == []


def test_it_prints_what_a_newcomer_needs_and_serves(serving: Up) -> None:
    assert status(serving, "/healthz")[0] == 200
    assert f"ready: {serving.address}" in serving.lines
    assert f"Care companion {VERSION}." in serving.lines
    for name in ("Sam", "Ines", "Rosa", "Tomas", "Ada"):
        assert name in serving.text
    assert f"{serving.address}/card/" in serving.text
    assert f"{serving.address}/staff/sign-in/" in serving.text


def test_the_story_of_an_outage_is_played_line_by_line_before_it(serving: Up) -> None:
    played = rehearse_outage(serving, "--pause-between", typed="\n\n\n")

    told = played.stdout
    assert (played.returncode, played.stderr) == (0, "")
    places = [
        told.index(part)
        for part in (
            "A reply breaks off",
            "Nora: I did not sleep well.",
            f"Robin: {PAUSE}",
            "loads the page again",
            "What operators see",
            "network: The connection to the provider was refused, or broke off.",
            "The question is held until",
            f"{serving.address}/ops/turns/",
            "Nora: Are you there again?",
            f"Robin: {BACK}",
            "What was promised",
            "As promised: 12 of 12",
        )
    ]
    assert places == sorted(places)
    assert told.count("Press Enter") == 3
    assert "NOT KEPT" not in told
    # Once more, with what the first playing has left.
    again = prefork.run(["manage.py", "rehearse_outage"], env=build_environment(serving), timeout_s=LIMIT_S)
    assert (again.returncode, "Press Enter" in again.stdout) == (0, False)


def build_environment(run: Up) -> dict[str, str]:
    return clean_environment({"COMPANION_STATE_DIR": str(run.state)})


def rehearse_outage(run: Up, *arguments: str, typed: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "manage.py", "rehearse_outage", *arguments],
        cwd=ROOT,
        env=build_environment(run),
        input=typed,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )


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


def test_a_second_up_on_the_same_folder_is_refused_and_the_first_goes_on(serving: Up) -> None:
    with up(serving.state) as second:
        assert second.wait_for_exit() == 1

    assert "Another scripts/up" in second.text
    assert status(serving, "/healthz")[0] == 200


def test_a_folder_of_another_account_is_refused_by_name(serving: Up) -> None:
    if os.geteuid() != 0:
        pytest.skip(
            "only root can start it as another account; tests/unit/test_stack_state.py asks an ordinary user"
        )
    account = Account(uid=65534, gid=65534, prefix=passing_prefix(pwd.getpwnam("nobody")))

    with up(serving.state, command=account.command([ROOT / "scripts" / "up"])) as other:
        assert other.wait_for_exit() == 1

    assert "another account" in other.text
    assert "Traceback" not in other.text
    assert status(serving, "/healthz")[0] == 200


@pytest.mark.long
def test_two_side_by_side_have_nothing_in_common(serving: Up, tmp_path: Path) -> None:
    with up(tmp_path, "--processes", "2", port=find_free_ports(2)) as other:
        other.wait_until_ready()

        assert status(other, "/healthz", port=other.port + 1)[0] == 200
        assert status(serving, "/healthz")[0] == 200
        ours, theirs = (
            json.loads((state / "run" / "environment.json").read_text())
            for state in (serving.state, other.state)
        )
        assert ours["DATABASE_URL"] != theirs["DATABASE_URL"]
        assert ours["VALKEY_URL"] != theirs["VALKEY_URL"]
        assert theirs["ports"] == [other.port, other.port + 1]


def test_a_web_process_that_dies_is_replaced_and_callers_only_wait(serving: Up) -> None:
    serving.read_lines()
    serving.find_process("manage.py serve").kill()

    assert status(serving, "/healthz")[0] == 200
    serving.until("has ended by itself")


@pytest.mark.parametrize("server", ["postgres", "valkey-server"])
def test_an_embedded_server_that_dies_is_started_again_at_its_old_address(serving: Up, server: str) -> None:
    killed = serving.find_process(server)
    serving.read_lines()
    killed.kill()

    serving.until("It is started again.")
    wait_until(
        lambda: any(serving.ask_each(lambda one: server in one.name() and one.pid != killed.pid)),
        within_s=LIMIT_S,
    )
    wait_until(lambda: status(serving, "/healthz")[0] == 200, within_s=LIMIT_S)


async def test_a_reply_goes_on_while_the_queue_and_the_worker_are_killed(serving: Up) -> None:
    """Participants who are talking do not notice (T11)."""
    # Tests before this one have killed the database too.
    await until(lambda: status(serving, "/readyz")[0] == 200, within_s=LIMIT_S)
    address = serving.address.replace("http", "ws") + "/ws/chat/"
    name, cookie = sign_in_by_name("Rosa", serving)
    async with Page(address, cookie, name=name) as page:
        await page.say("Good evening. Tell me about the garden.")
        turn = (await page.until("words"))["turn"]
        for words in ("valkey-server", "celery"):
            serving.find_process(words).kill()
        assert (await page.ending(turn, within_s=60))["type"] == "complete"
        await page.say("And about the pond?")
        assert (await page.ending(within_s=60))["type"] == "complete"
    # The supervisor restarts both, and the jobs with them.
    for words in ("valkey-server", "celery"):
        await until(lambda words=words: is_running(serving, words), within_s=120)  # type: ignore[misc]


def sign_in_by_name(name: str, serving: Up) -> tuple[str, str]:
    """Sign in with the code that the start printed for this person; returns name and value of the session cookie."""
    match = re.search(rf"{name}: .*\n.*; code (\S+)", serving.text)
    assert match is not None
    with httpx.Client(base_url=serving.address, trust_env=False) as browser:
        browser.post("/card/", data={"code": match[1]}, headers={"Origin": serving.address})
        [cookie] = [one for one in browser.cookies.jar if one.name.startswith("companion")]
        return cookie.name, cookie.value or ""


def is_running(serving: Up, words: str) -> bool:
    return any(serving.ask_each(lambda process: words in " ".join(process.cmdline())))
