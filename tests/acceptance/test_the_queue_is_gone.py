"""Valkey and the worker may die at any time: participants who are talking do not notice (T11)."""

import re
from pathlib import Path

import httpx
import pytest

from tests.acceptance.running_up import Up, up
from tests.page_socket import Page
from tests.patience import until


# Starts the whole product: slow on a busy machine.
@pytest.mark.timeout(600)
async def test_a_reply_goes_on_while_the_queue_and_the_worker_are_killed(tmp_path: Path) -> None:
    with up(tmp_path / "state") as serving:
        serving.wait_until_ready()
        async with Page(
            serving.address.replace("http", "ws") + "/ws/chat/", sign_in_by_name("Rosa", serving)
        ) as page:
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


def sign_in_by_name(name: str, serving: Up) -> str:
    """Sign in with the code that the start printed for this person; returns the session cookie."""
    match = re.search(rf"{name}: .*\n.*; code (\S+)", serving.text)
    assert match is not None
    with httpx.Client(base_url=serving.address, trust_env=False) as browser:
        browser.post("/card/", data={"code": match[1]}, headers={"Origin": serving.address})
        return browser.cookies["companion"]


def is_running(serving: Up, words: str) -> bool:
    return any(serving.ask_each(lambda process: words in " ".join(process.cmdline())))
