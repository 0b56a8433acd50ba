"""Whole messages: a reply is shown and heard when it is complete, and not before; half a reply never (A6)."""

import pytest
from playwright.async_api import expect

from tests.pages.conftest import OpenRoom
from tests.pages.needs import set_needs
from tests.pages.room import Room
from tests.pages.script import Script, person, snapshot
from tests.people import People, Person
from tests.processes import Rehearsal

STILL_HERE = "I am still here. I need a bit more time to answer you."
I_AM_BACK = {"kind": "i_am_back", "line": "I am back. First, what you asked me before."}


async def behind(room: Room, rosa: Person, turns: list[dict[str, object]] | None = None) -> Script:
    """A scripted service before the page of a person who has whole messages."""
    set_needs(rosa, type_percent=125)
    return await Script.behind(room, rosa, turns)


async def until_received(room: Room, script: Script, seq: int) -> None:
    """Wait until the page has this chunk of turn 1: a page that wakes up says how far it has come."""
    while True:
        known = len(script.of("catch_up"))
        await room.page.evaluate("dispatchEvent(new Event('online'))")
        await script.until_sent("catch_up", times=known + 2)
        if script.of("catch_up")[-1].get("after") == seq:
            return


async def sees_nothing_of(room: Room, words: str) -> None:
    """Nothing of the reply is anywhere in the page, seen or not."""
    assert words not in await room.whole_text()


async def test_a_reply_is_shown_and_heard_once_it_is_complete_and_never_before(
    open_room: OpenRoom, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    set_needs(rosa, type_percent=125)
    room = await (await open_room()).enter(rosa)
    await room.page.evaluate(
        """() => {
          window.states = [];
          new MutationObserver(() => {
            const [turn] = document.querySelectorAll("[data-turn]");
            const reply = turn?.querySelector("[data-part=reply]").textContent ?? "";
            if (reply) window.states.push([turn.dataset.state, reply]);
          }).observe(document.body, { subtree: true, childList: true, characterData: true });
        }"""
    )
    rehearsal.inject({"say": "Good morning. It is a fine day. Shall we go?", "split": 4}, times=1)

    turn = await room.ask("Hello.")

    await expect(room.reply(turn)).to_have_text("Good morning. It is a fine day. Shall we go?")
    states = await room.page.evaluate("window.states")
    assert {tuple(state) for state in states} == {
        ("complete", "Good morning. It is a fine day. Shall we go?")
    }
    await room.hears("Good morning.", "It is a fine day.", "Shall we go?")


async def test_while_words_come_there_is_a_sign_of_life_and_the_line_that_he_is_still_there(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await behind(room, people.rosa)
    turn = await room.say("Hello.")

    script.say(1, "Good morning. ", "How are ")
    await until_received(room, script, 2)
    await expect(turn.locator("[data-part=sign]")).to_be_visible()
    await expect(room.line(turn)).to_have_text(STILL_HERE, timeout=15_000)
    await sees_nothing_of(room, "morning")
    await expect(room.stop).to_be_visible()
    script.say(1, "you?", after=2)
    script.tell({"type": "complete", "turn": 1, "seq": 3})
    await room.becomes(turn, "complete")

    await expect(room.reply(turn)).to_have_text("Good morning. How are you?")
    await expect(room.line(turn)).to_be_hidden()
    await room.hears(STILL_HERE, "Good morning.", "How are you?")


async def test_it_holds_through_a_drop_a_catch_up_and_a_reload(open_room: OpenRoom, people: People) -> None:
    room = await open_room()
    script = await behind(room, people.rosa)
    turn = await room.say("Hello.")
    script.say(1, "One. ", "Two. ")
    await until_received(room, script, 2)

    script.turns[0] |= {"reply": "One. Two. Three. ", "seq": 3}
    await script.close(4408)
    await script.until_connected(2)
    await sees_nothing_of(room, "Three")
    known = len(script.of("catch_up"))
    script.say(1, "Five. ", after=4)
    asked = await script.until_sent("catch_up", times=known + 1)
    assert asked["after"] == 3
    await sees_nothing_of(room, "One")
    await room.page.reload()
    await room.ready()
    await script.until_connected(3)
    await sees_nothing_of(room, "One")
    script.say(1, "Four. ", after=3)
    script.tell({"type": "complete", "turn": 1, "seq": 4})
    await room.becomes(turn, "complete")

    await expect(room.reply(turn)).to_have_text("One. Two. Three. Four.")
    await room.hears("One.", "Two.", "Three.", "Four.")


@pytest.mark.parametrize(
    ("ending", "state"),
    [
        ({"type": "paused", "seq": 2, "line": "I have to stop."}, "paused"),
        ({"type": "handed_over", "seq": 2, "line": ""}, "handed_over"),
        ({"type": "safety", "line": "Thank you for telling me."}, "safety"),
    ],
    ids=["paused", "handed over", "safety"],
)
async def test_no_half_reply_is_shown_and_its_end_is_as_it_is(
    open_room: OpenRoom, people: People, ending: dict[str, object], state: str
) -> None:
    room = await open_room()
    script = await behind(room, people.rosa)
    turn = await room.say("Hello.")
    script.tell({"type": "opening", "turn": 1, **I_AM_BACK})
    script.say(1, "Half a sentence. ", "And ano")
    await until_received(room, script, 2)

    script.tell({"turn": 1, **ending})
    await room.becomes(turn, state)

    await sees_nothing_of(room, "Half a")
    await sees_nothing_of(room, "I am back")
    line = str(ending["line"])
    if line:
        await expect(room.line(turn)).to_have_text(line)
        await room.hears(line)
    else:
        script.tell(person(7, "joins"))
        await room.hears("Sam is here now. Sam is a person who works here.")


async def test_what_was_said_before_stop_is_shown_because_it_stays_in_the_conversation(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await behind(room, people.rosa)
    turn = await room.say("Hello.")
    script.say(1, "Once upon a time. ", "There")
    await until_received(room, script, 2)

    await room.stop.click()
    await script.until_sent("stop")
    script.tell({"type": "stopped", "turn": 1, "seq": 2})
    await room.becomes(turn, "stopped")

    await expect(room.reply(turn)).to_have_text("Once upon a time. There")
    await room.hears("Once upon a time.", "There", "I have stopped. We can go on when you like.")


async def test_what_it_is_is_said_before_the_reply_and_what_opens_the_words_comes_with_them(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    disclosure = {"kind": "disclosure", "line": "I am a computer program."}
    turns = [snapshot(1, state="speaking", reply="So far", seq=1, openings=[disclosure, I_AM_BACK])]
    script = await behind(room, people.rosa, turns)
    turn = room.turns.first

    await expect(turn.get_by_text("I am a computer program.")).to_be_visible()
    await sees_nothing_of(room, I_AM_BACK["line"])
    script.say(1, " so good.", after=1)
    script.tell({"type": "complete", "turn": 1, "seq": 2})
    await room.becomes(turn, "complete")

    await expect(turn.get_by_text(I_AM_BACK["line"])).to_be_visible()
    await expect(room.reply(turn)).to_have_text("So far so good.")
