"""A voice of the machine, in the browser's own speech: what it is given to say, and when it falls silent (A6).

Debian's Chromium has no voice of its own. An extension of the browser is one, as those that people install are: the
page calls nothing but the browser, and the browser hands the voice the words.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest_asyncio
from playwright.async_api import Playwright, Worker, expect

from tests.pages.conftest import ARGUMENTS, CHROMIUM
from tests.pages.leaving import close_in_time
from tests.pages.needs import set_needs
from tests.pages.room import Room
from tests.people import People
from tests.processes import Rehearsal, Web

VOICES = [
    {"voice_name": "Cloud", "lang": "en-GB", "remote": True, "event_types": ["start", "end"]},
    {"voice_name": "Kit", "lang": "en-GB", "event_types": ["start", "end"]},
]
MANIFEST = {
    "manifest_version": 3,
    "name": "Voices",
    "version": "1",
    "permissions": ["ttsEngine"],
    "background": {"service_worker": "voice.js"},
    "tts_engine": {"voices": VOICES},
}
# A text is spoken until the test ends it.
VOICE = """
self.heard = [];
self.endSpoken = () => {};
chrome.ttsEngine.onSpeak.addListener((text, { voiceName }, send) => {
  heard.push([voiceName, text]);
  send({ type: "start", charIndex: 0 });
  self.endSpoken = () => send({ type: "end", charIndex: text.length });
});
chrome.ttsEngine.onStop.addListener(() => heard.push(["", "(stopped)"]));
"""
UNTIL_HEARD = """async (count) => {
  while (self.heard.length < count) await new Promise((resolve) => setTimeout(resolve, 50));
  return self.heard;
}"""
STOPPED = "(stopped)"


class Voice:
    """What the voices of a browser were given to say."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    async def hears(self, *texts: str) -> None:
        """Wait until so much was spoken, and fail if it was not this, by the machine's voice alone."""
        async with asyncio.timeout(10):
            heard: list[list[str]] = await self._worker.evaluate(UNTIL_HEARD, len(texts))
        assert heard == [["" if text == STOPPED else "Kit", text] for text in texts]

    async def end_spoken(self) -> None:
        await self._worker.evaluate("self.endSpoken()")


@pytest_asyncio.fixture(loop_scope="session")
async def speaking_room(
    playwright: Playwright, service: Web, tmp_path: Path
) -> AsyncIterator[tuple[Room, Voice]]:
    """A tab in a browser with two voices: one of the machine, and one of another one."""
    folder = tmp_path / "voices"
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps(MANIFEST), encoding="utf-8")
    (folder / "voice.js").write_text(VOICE, encoding="utf-8")
    left_on: list[Any] = ["--disable-extensions"]
    context = await playwright.chromium.launch_persistent_context(
        str(tmp_path / "profile"),
        executable_path=CHROMIUM,
        args=[*ARGUMENTS, f"--load-extension={folder}", f"--disable-extensions-except={folder}"],
        ignore_default_args=left_on,
    )
    workers = context.service_workers
    worker = workers[0] if workers else await context.wait_for_event("serviceworker")
    yield Room(context.pages[0], service.url), Voice(worker)
    await close_in_time(context.close())


async def test_each_sentence_is_given_to_the_voice_of_the_machine_once_and_it_is_silent_at_the_end(
    speaking_room: tuple[Room, Voice], people: People, rehearsal: Rehearsal
) -> None:
    (room, voice), rosa = speaking_room, people.rosa
    await room.enter(rosa)
    await room.ask("Hello.")
    voices = "speechSynthesis.getVoices().map((voice) => voice.localService).sort()"
    await room.until(f"{voices}.join() === 'false,true'")

    set_needs(rosa, read_aloud="each")
    await room.until("document.documentElement.dataset.aloud === 'each'")
    rehearsal.inject({"say": "Good morning, Rosa. It is late. Sit down."}, times=1)

    turn = await room.say("Hello again.")
    await room.becomes(turn, "complete")

    await voice.hears("Good morning, Rosa.")
    await voice.end_spoken()
    await voice.hears("Good morning, Rosa.", "It is late.")
    await expect(turn.get_by_role("button", name="Stop reading")).to_be_visible()
    await room.finished.click()
    await room.page.wait_for_url("**/finished/")
    await voice.hears("Good morning, Rosa.", "It is late.", STOPPED)
    assert not [address for address in room.requests if not address.split("://")[1].startswith("127.0.0.1")]
    assert room.complaints == []
