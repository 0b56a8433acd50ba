"""Reading aloud by a voice of this machine: on a press, or each message; it stops at once (A6)."""

import json
from typing import Any

import pytest
from playwright.async_api import expect

from tests.long_forms import mark_long
from tests.pages.conftest import OpenRoom
from tests.pages.needs import choose, open_choices, set_needs
from tests.pages.room import Room
from tests.pages.script import Script, said, snapshot
from tests.people import People, Person

# Stands in for the voices of a machine, of which Debian's Chromium has none. `spoken` is what a person hears; a text is
# spoken until the test ends it.
VOICES = """(voices) => {
  window.spoken = [];
  const target = new EventTarget();
  let queue = [];
  Object.assign(target, {
    getVoices: () => voices,
    speak: (utterance) => {
      queue.push(utterance);
      window.spoken.push(utterance.text);
      window.voiceUsed = utterance.voice.name;
    },
    cancel: () => {
      if (queue.length) window.spoken.push("(stopped)");
      queue = [];
    },
  });
  window.endSpoken = () => queue.shift()?.onend();
  Object.defineProperty(window, "speechSynthesis", { value: target });
  window.SpeechSynthesisUtterance = class {
    constructor(text) {
      this.text = text;
    }
  };
}"""
AWAY = {"name": "Cloud", "lang": "en-GB", "localService": False}
FRENCH = {"name": "Amélie", "lang": "fr-FR", "localService": True}
HERE = {"name": "Kit", "lang": "en_US", "localService": True}


async def give_voices(room: Room, *voices: dict[str, Any]) -> None:
    await room.context.add_init_script(f"({VOICES})({json.dumps(voices)})")


async def hears_aloud(room: Room, *texts: str) -> None:
    await room.until("(texts) => window.spoken.length >= texts.length", list(texts))
    assert await room.page.evaluate("window.spoken") == list(texts)


async def enter(room: Room, rosa: Person, turns: list[dict[str, Any]] | None = None, **needs: Any) -> Script:
    await give_voices(room, AWAY, FRENCH, HERE)
    set_needs(rosa, whole_messages=False, **needs)
    return await Script.behind(room, rosa, turns)


async def test_a_press_reads_a_message_by_a_voice_of_this_machine_and_another_press_stops_it(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    await enter(room, people.rosa, [snapshot(1, reply="It is late. Sleep well.")], read_aloud="button")
    button = room.turns.first.get_by_role("button", name="Read aloud")

    await button.click()

    await hears_aloud(room, "It is late.")
    assert await room.page.evaluate("window.voiceUsed") == "Kit"
    stop = room.turns.first.get_by_role("button", name="Stop reading")
    await expect(stop).to_be_focused()
    await room.page.evaluate("window.endSpoken()")
    await hears_aloud(room, "It is late.", "Sleep well.")
    await stop.click()
    await hears_aloud(room, "It is late.", "Sleep well.", "(stopped)")
    await expect(button).to_be_visible()
    assert not [address for address in room.requests if not address.split("://")[1].startswith("127.0.0.1")]


async def test_each_new_message_is_read_once_and_what_was_there_before_is_not(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await enter(room, people.rosa, [snapshot(1, reply="An old one.")], read_aloud="each")
    turn = await room.say("Hello.")

    script.say(2, "Good morn", "ing. ", "Sit")
    await hears_aloud(room, "Good morning.")
    script.say(2, " down.", after=3)
    script.tell({"type": "complete", "turn": 2, "seq": 4})
    await room.becomes(turn, "complete")
    await room.page.evaluate("window.endSpoken()")

    await hears_aloud(room, "Good morning.", "Sit down.")


@pytest.mark.parametrize("newest", [True, False], ids=["the new one at once", "the old one to its end"])
async def test_a_new_message_stops_the_one_that_is_read_if_it_is_so_chosen(
    open_room: OpenRoom, people: People, newest: bool
) -> None:
    room = await open_room()
    script = await enter(room, people.rosa, read_aloud="each", reads_newest=newest)
    await room.say("Hello.")
    script.say(1, "First. ", "More.")
    script.tell({"type": "complete", "turn": 1, "seq": 2})
    await hears_aloud(room, "First.")

    script.tell(said(5, "I am here."))

    await expect(room.entries).to_have_count(1)
    if newest:
        await hears_aloud(room, "First.", "(stopped)", "Sam: I am here.")
    else:
        await room.page.evaluate("window.endSpoken()")
        await room.page.evaluate("window.endSpoken()")
        await hears_aloud(room, "First.", "More.", "Sam: I am here.")


async def test_a_press_on_stop_silences_what_still_comes_of_the_message(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await enter(room, people.rosa, read_aloud="each")
    turn = await room.say("Hello.")
    script.say(1, "One. ", "Two. ", "Th")
    await hears_aloud(room, "One.")

    await room.page.locator("[data-composer]").get_by_role("button", name="Stop reading").click()
    script.say(1, "ree. ", after=3)
    script.tell({"type": "complete", "turn": 1, "seq": 4})
    await room.becomes(turn, "complete")

    await hears_aloud(room, "One.", "(stopped)")


@pytest.mark.parametrize("end", ["hidden", "finished in another tab", *mark_long(["left", "signed out"])])
async def test_it_is_silent_at_once_when_the_page_is_left_or_emptied(
    open_room: OpenRoom, people: People, end: str
) -> None:
    room = await open_room()
    script = await enter(
        room, people.rosa, [snapshot(1, reply="It is late. Sleep well.")], read_aloud="button"
    )
    await room.turns.first.get_by_role("button", name="Read aloud").click()
    await hears_aloud(room, "It is late.")

    match end:
        case "left":
            await room.page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide'))")
        case "hidden":
            await room.page.evaluate(
                """() => {
                  Object.defineProperty(document, "visibilityState", { value: "hidden" });
                  document.dispatchEvent(new Event("visibilitychange"));
                }"""
            )
        case "signed out":
            await script.close(4401)
        case _:
            await room.page.evaluate("new BroadcastChannel('companion-visit').postMessage('ended')")

    await hears_aloud(room, "It is late.", "(stopped)")


async def test_where_the_machine_has_no_voice_the_choice_says_so_and_no_button_is_there(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await open_room()
    await give_voices(room, AWAY, FRENCH)
    set_needs(rosa, read_aloud="each")
    script = await Script.behind(room, rosa, [snapshot(1)])

    await expect(room.page.get_by_role("button", name="Read aloud")).to_have_count(0)
    await room.say("Hello.")
    script.say(2, "Good morning.")
    script.tell({"type": "complete", "turn": 2, "seq": 1})
    await room.becomes(room.turns.last, "complete")
    assert await room.page.evaluate("window.spoken") == []
    await open_choices(room)

    await expect(room.page.get_by_text("This screen has no voice of its own.")).to_be_visible()


async def test_the_sample_is_read_on_the_page_of_choices(open_room: OpenRoom, people: People) -> None:
    room = await open_room()
    await give_voices(room, HERE)
    await room.enter(people.rosa)
    await open_choices(room)
    await choose(room, "With a button at each answer")

    await room.page.get_by_role("button", name="Read aloud").click()

    await hears_aloud(room, "Hello.")
    await room.page.get_by_role("button", name="Stop reading").click()
    await hears_aloud(room, "Hello.", "(stopped)")
    await expect(room.page.get_by_text("This screen has no voice of its own.")).to_be_hidden()
