"""What is announced, counted in the accessibility tree that the browser hands to a screen reader (A4, A6)."""

from typing import Any

import pytest
from playwright.async_api import CDPSession

from tests.long_forms import mark_long
from tests.pages.conftest import OpenRoom
from tests.pages.needs import set_needs
from tests.pages.room import DISCLOSURE, Room
from tests.pages.script import JOINS_LINE, Script, person, said
from tests.people import People, Person

STILL_HERE = "I am still here. I need a bit more time to answer you."
STEP_MS = 50
"""Shorter than an announcement stands."""
WAYS: dict[str, dict[str, Any]] = {
    "as written": {"whole_messages": False},
    "slowly": {"whole_messages": False, "pace": "slow"},
    "as a whole": {"whole_messages": True},
}
AS_WRITTEN, *OTHER_WAYS = WAYS.values()
any_way = pytest.mark.parametrize("way", [AS_WRITTEN, *mark_long(OTHER_WAYS)], ids=WAYS)


class Listener:
    """Reads the live regions of the tree, while the page's clock goes on step by step: no announcement is missed."""

    def __init__(self, room: Room, cdp: CDPSession) -> None:
        self.heard: list[str] = []
        self._room = room
        self._cdp = cdp
        self._nodes: set[int] = set()

    async def listen(self, ms: int = 2_000) -> list[str]:
        """Let so much time pass on the page; returns everything that was announced so far."""
        for _ in range(0, ms, STEP_MS):
            await self._room.page.clock.run_for(STEP_MS)
            await self._read()
        return self.heard

    async def listen_until(self, last: str) -> list[str]:
        """Let time pass until this is announced, and two seconds more."""
        for _ in range(600):
            if last in self.heard:
                break
            await self.listen(STEP_MS)
        return await self.listen()

    async def _read(self) -> None:
        tree = (await self._cdp.send("Accessibility.getFullAXTree"))["nodes"]
        by_id = {node["nodeId"]: node for node in tree}
        for region in tree:
            facts = {fact["name"]: fact["value"].get("value") for fact in region.get("properties", [])}
            # The children of a live region count once each: none of them is live itself.
            if facts.get("live") not in ("polite", "assertive") or facts.get("root"):
                continue
            for child in (by_id[one] for one in region["childIds"] if one in by_id):
                if child["backendDOMNodeId"] not in self._nodes:
                    self._nodes.add(child["backendDOMNodeId"])
                    self.heard.append(_text_of(child, by_id))


def _text_of(node: dict[str, Any], by_id: dict[str, dict[str, Any]]) -> str:
    if node["role"]["value"] == "StaticText":
        return str(node["name"]["value"])
    return "".join(_text_of(by_id[one], by_id) for one in node["childIds"] if one in by_id)


async def say_hello(open_room: OpenRoom, rosa: Person, way: dict[str, Any]) -> tuple[Listener, Script]:
    """Say something in a room with these needs, behind a script, and stop the clock of the page before it."""
    set_needs(rosa, **way)
    room = await open_room()
    await room.page.clock.install()
    script = await Script.behind(room, rosa)
    await room.stop_clock()
    listener = Listener(room, await room.context.new_cdp_session(room.page))
    await room.box.fill("Hello.")
    await room.box.press("Enter")
    await script.until_sent("say")
    return listener, script


@any_way
async def test_each_finished_sentence_is_announced_once_and_no_token(
    open_room: OpenRoom, people: People, way: dict[str, Any]
) -> None:
    listener, script = await say_hello(open_room, people.rosa, way)
    await listener.listen(500)
    script.say(1, "Good ", "morn", "ing. ", "It is 3.5 ", "miles. ", "Shall we")
    await listener.listen(3_000)
    script.say(1, " go?", after=6)
    script.tell({"type": "complete", "turn": 1, "seq": 7})

    heard = await listener.listen_until("Shall we go?")

    assert heard == ["Good morning.", "It is 3.5 miles.", "Shall we go?"]


@any_way
async def test_nothing_is_announced_again_after_a_new_connection(
    open_room: OpenRoom, people: People, way: dict[str, Any]
) -> None:
    listener, script = await say_hello(open_room, people.rosa, way)
    script.say(1, "One. ", "Two. ", "Thr")
    await listener.listen(3_000)
    script.turns[0] |= {"reply": "One. Two. Three. Fo", "seq": 5}
    await script.close(4408)
    for _ in range(100):
        await listener.listen(STEP_MS)
        if script.connections == 2:
            break
    script.say(1, "ur.", after=5)
    script.tell({"type": "complete", "turn": 1, "seq": 6})

    heard = await listener.listen_until("Four.")

    # That he is still there is said once, where no word is shown for some seconds.
    assert heard.count(STILL_HERE) <= (1 if way["whole_messages"] else 0)
    assert [text for text in heard if text != STILL_HERE] == ["One.", "Two.", "Three.", "Four."]


@any_way
async def test_lines_about_the_state_and_words_of_a_person_are_announced_at_once(
    open_room: OpenRoom, people: People, way: dict[str, Any]
) -> None:
    listener, script = await say_hello(open_room, people.rosa, way)
    script.tell({"type": "waiting", "turn": 1, "line": "I will come to you."})
    assert await listener.listen(500) == ["I will come to you."]
    script.tell({"type": "safety", "turn": 1, "line": "Thank you for telling me."})
    assert (await listener.listen(500))[1:] == ["Thank you for telling me."]
    script.tell(person(1, "joins"))
    script.tell(said(2, "I am here. How are you?"))

    heard = await listener.listen_until("Sam: I am here. How are you?")

    assert heard[2:] == [JOINS_LINE, "Sam: I am here. How are you?"]
    assert DISCLOSURE not in heard
