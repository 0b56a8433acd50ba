"""Valkey and the worker may die at any time: nobody who is talking notices (T11)."""

import re
from pathlib import Path

import httpx
import pytest

from tests.acceptance.running_up import Up, up
from tests.page_socket import Page
from tests.patience import until


# It starts everything: a machine that runs everything else as well is slow, not broken.
@pytest.mark.timeout(600)
async def test_a_reply_goes_on_while_the_queue_and_the_worker_are_killed(tmp_path: Path) -> None:
    with up(tmp_path / "state") as serving:
        serving.ready()
        async with Page(
            serving.address.replace("http", "ws") + "/ws/chat/", cookie_of("Rosa", serving)
        ) as page:
            await page.say("Good evening. Tell me about the garden.")
            turn = (await page.until("words"))["turn"]
            for words in ("valkey-server", "celery"):
                serving.running(words).kill()
            assert (await page.ending(turn, within_s=60))["type"] == "complete"
            await page.say("And about the pond?")
            assert (await page.ending(within_s=60))["type"] == "complete"
        # Both are started again by themselves, and the jobs with them.
        for words in ("valkey-server", "celery"):
            await until(lambda words=words: is_running(serving, words), within_s=120)  # type: ignore[misc]


def cookie_of(name: str, serving: Up) -> str:
    """Type the code that the start printed below this person's name."""
    found = re.search(rf"{name}: .*\n.*; code (\S+)", serving.text)
    assert found is not None
    with httpx.Client(base_url=serving.address, trust_env=False) as browser:
        browser.post("/card/", data={"code": found[1]}, headers={"Origin": serving.address})
        return browser.cookies["companion"]


def is_running(serving: Up, words: str) -> bool:
    return any(serving.each(lambda process: words in " ".join(process.cmdline())))
