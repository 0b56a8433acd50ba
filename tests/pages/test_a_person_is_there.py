"""A person writes along, and the companion is quiet: who speaks is in the text, once, in order (S1, S4)."""

import re
from typing import Any

import pytest
from playwright.async_api import expect

from tests.pages.conftest import OpenRoom
from tests.pages.room import Room
from tests.pages.script import JOINS_LINE, LEAVES_LINE, Script, entry, person, said, snapshot
from tests.people import People

SAFETY = "Thank you for telling me. You can call 0808 157 0123 at any time. You can keep writing here."
HELD = "Your words are safe. Staff here can read them."
PAUSED = "Staff here have paused the chat for now. This is not because of you. Your words are safe."
OVER = "The chat is not paused any more. You can go on when you like."
GOODBYE = "Goodbye. Thank you for talking with me. You can come back when you like."
READING = "Staff are reading along."
WORKS_HERE = "A person who works here"
ORDER = """() => [...document.querySelectorAll("[data-turns] > *")].map((node) =>
  node.dataset.turn ? `turn ${node.dataset.turn}` : `entry ${node.dataset.entry}`)"""


async def with_person(room: Room, people: People, *items: dict[str, Any]) -> Script:
    """A room in which Sam is there already."""
    rosa = people.rosa
    script = Script(rosa.conversation.pk, list(items))
    script.who["person"] = {"name": "Sam", "since": "2026-12-01T10:00:00+00:00"}
    await script.stand_behind(room, rosa)
    return script


async def draw_entries(room: Room, count: int) -> None:
    """Let the time of a page whose clock is stopped go on until so many entries are drawn."""
    while await room.entries.count() < count:
        await room.page.clock.run_for(1)


async def test_words_of_a_person_carry_the_name_and_look_unlike_the_companions(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await with_person(room, people, snapshot(1))

    script.tell(said(2, "Hello Rosa.\n\nI am here."))

    message = room.entries.first
    await expect(message.get_by_role("heading")).to_have_text("Sam said:")
    await expect(message).to_contain_text(WORKS_HERE)
    assert await room.text_of(message.locator("[data-part=text]")) == "Hello Rosa.\n\nI am here."
    shape = """(node) => { const style = getComputedStyle(node);
      return [style.borderTopStyle, style.borderTopWidth, style.borderInlineStartWidth]; }"""
    of_the_companion = room.turns.first.locator(".by-character")
    assert await message.evaluate(shape) != await of_the_companion.evaluate(shape)
    await room.hears("Sam: Hello Rosa.\n\nI am here.")


async def test_words_come_once_and_in_order_however_often_they_are_sent(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await with_person(room, people, snapshot(1), entry(1, "joins", JOINS_LINE, "Sam"))
    script.tell(said(2, "One."), said(2, "One."), said(3, "Two."))
    await expect(room.entries).to_have_count(3)
    await room.hears("Sam: One.", "Sam: Two.")

    # Away for a moment; the rest comes with the next hello.
    script.turns += [entry(2, "said", "One.", "Sam"), entry(3, "said", "Two.", "Sam")]
    script.turns += [snapshot(2, state="handed_over", reply="", seq=0), entry(4, "said", "Three.", "Sam")]
    await script.close(4408)
    await script.until_connected(2)
    await expect(room.entries).to_have_count(4)

    await room.hears("Sam: One.", "Sam: Two.", "Sam: Three.")
    assert await room.page.evaluate(ORDER) == [
        *("turn 1", "entry 1", "entry 2", "entry 3", "turn 2", "entry 4")
    ]


async def test_words_that_arrive_late_take_the_place_where_they_were_stored(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await with_person(room, people, snapshot(1), snapshot(2))

    script.tell(said(7, "Here.") | {"after": 1}, said(8, "There.") | {"after": 0}, said(9, "Last."))

    await expect(room.entries).to_have_count(3)
    assert await room.page.evaluate(ORDER) == ["entry 8", "turn 1", "entry 7", "turn 2", "entry 9"]


async def test_what_stood_there_before_is_not_read_out_on_arrival(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await with_person(room, people, entry(1, "said", "Old words.", "Sam"))
    await expect(room.entries).to_have_count(1)

    script.tell(said(2, "New words."))

    await room.hears("Sam: New words.")


async def test_who_comes_and_goes_is_said_and_the_box_tells_where_words_go(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    box = room.box
    await expect(room.recipient).to_be_hidden()
    await room.box.focus()

    script.tell(person(1, "joins"))
    await expect(room.recipient).to_have_text("You are writing to Sam now.")
    await expect(box).to_have_accessible_name("Write to Sam")
    script.tell(person(2, "leaves", LEAVES_LINE))

    await expect(room.recipient).to_be_hidden()
    await expect(box).to_have_accessible_name("Write to Robin")
    await expect(room.entries).to_have_text([JOINS_LINE, LEAVES_LINE])
    await room.hears(JOINS_LINE, LEAVES_LINE)
    await expect(box).to_be_focused()


async def test_a_message_to_a_person_is_stored_and_waits_for_no_reply_of_the_companion(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await with_person(room, people)

    turn = await room.say("I am in my room.")
    script.tell({"type": "handed_over", "turn": 1, "seq": 0})
    await room.becomes(turn, "handed_over")

    await expect(turn.locator("[data-part=answer]")).to_be_hidden()
    await expect(room.stop).to_be_hidden()
    await expect(room.box).to_have_value("")


async def test_that_a_person_is_writing_is_shown_and_heard_once_until_they_have_written(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    await room.page.clock.install()
    script = await with_person(room, people)
    writing = {"type": "person_writing", "line": "Sam is writing."}
    # On a slow machine more than six seconds may pass between two steps: time goes on by `run_for` alone.
    await room.stop_clock()

    script.tell(writing)
    await expect(room.recipient).to_have_text("Sam is writing.")
    await room.page.clock.run_for(4_000)
    # The second changes nothing that is seen. Frames arrive in order, so it is there once the next one is.
    script.tell(writing, {"type": "reading", "id": 1, "line": READING})
    await draw_entries(room, 1)
    await room.page.clock.run_for(4_000)
    await expect(room.recipient).to_have_text("Sam is writing.")
    script.tell(said(2, "Good."))
    await draw_entries(room, 2)
    await expect(room.recipient).to_have_text("You are writing to Sam now.")
    script.tell(writing)
    await expect(room.recipient).to_have_text("Sam is writing.")
    await room.page.clock.run_for(7_000)

    await expect(room.recipient).to_have_text("You are writing to Sam now.")
    assert await room.read_announcements() == [*("Sam is writing.", READING, "Sam: Good.", "Sam is writing.")]


async def test_typing_is_told_to_a_person_who_is_there_at_most_every_two_seconds(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    await room.page.clock.install()
    script = await Script.behind(room, people.rosa)
    box = room.box
    await box.press_sequentially("Hi")
    script.tell(person(1, "joins"))
    await expect(room.recipient).to_be_visible()
    assert script.of("writing") == []

    await box.press_sequentially(" there")
    await script.until_sent("writing")
    assert len(script.of("writing")) == 1
    await room.page.clock.run_for(2_100)
    await box.press_sequentially("!!")
    await script.until_sent("writing", times=2)
    await room.page.clock.run_for(2_100)
    await box.fill("")
    script.tell(person(2, "leaves", LEAVES_LINE))
    await expect(room.recipient).to_be_hidden()
    await box.press_sequentially("Bye")

    assert script.of("writing") == [{"type": "writing"}] * 2


async def test_a_safety_line_is_the_services_and_the_person_can_go_on_writing(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    turn = await room.say("I do not want to live.")

    script.tell({"type": "safety", "turn": 1, "line": SAFETY})

    await room.becomes(turn, "safety")
    await expect(room.line(turn)).to_have_text(SAFETY)
    await expect(turn.get_by_role("heading")).to_have_text(["You said:"])
    await expect(room.recipient).to_have_text("Staff here can read what you write now.")
    await expect(room.box).to_have_accessible_name("Write to the staff")
    await room.hears(SAFETY)
    await room.box.fill("Are you there?")
    await room.send.click()
    script.tell({"type": "held", "turn": 2, "line": HELD})
    second = await room.becomes(room.turns.nth(1), "handed_over")
    await expect(room.line(second)).to_have_text(HELD)
    await room.hears(SAFETY, HELD)


async def test_a_reply_that_a_person_ends_keeps_the_words_that_were_shown(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    turn = await room.say("Hello.")
    script.say(1, "Good ", "morning.")
    await expect(room.reply(turn)).to_have_text("Good morning.")

    script.tell({"type": "handed_over", "turn": 1, "seq": 2}, person(1, "joins"))

    await room.becomes(turn, "handed_over")
    await expect(room.reply(turn)).to_have_text("Good morning.")
    await expect(turn.get_by_role("heading")).to_have_text(["You said:", "Robin said:"])
    await expect(room.stop).to_be_hidden()


async def test_a_reader_further_up_is_not_moved_by_words_of_a_person(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room(viewport={"width": 320, "height": 568})
    script = await with_person(room, people, *[snapshot(number) for number in range(1, 30)])
    await room.page.evaluate("scrollTo(0, 900)")
    before = await room.turns.nth(5).bounding_box()

    script.tell(said(1, "Hello. " * 20), {"type": "person_writing", "line": "Sam is writing."})
    await expect(room.recipient).to_have_text("Sam is writing.")

    assert await room.turns.nth(5).bounding_box() == before


async def test_a_pause_by_staff_is_said_over_the_box_until_the_companion_speaks(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    rosa = people.rosa
    script = Script(rosa.conversation.pk, [])
    script.who["paused"] = True
    await script.stand_behind(room, rosa)
    await expect(room.recipient).to_have_text("This chat is paused for now. You can keep writing here.")

    await room.say("Hello.")
    script.say(1, "Good morning.")

    await expect(room.recipient).to_be_hidden()


@pytest.mark.parametrize("kind", ["reading", "help", "lost"])
async def test_a_drafted_line_beside_the_turns_has_its_own_sign(
    open_room: OpenRoom, people: People, kind: str
) -> None:
    room = await open_room()
    frame = person(1, "lost", "A line.") if kind == "lost" else {"type": kind, "id": 1, "line": "A line."}
    script = await Script.behind(room, people.rosa)

    script.tell(frame, frame)

    await expect(room.entries).to_have_text(["A line."])
    await expect(room.entries.locator("use")).to_have_attribute("href", f"#sign-{kind}")
    assert await room.page.locator(f"#sign-{kind}").count() == 1
    await room.hears("A line.")


async def test_nothing_of_a_person_stays_on_a_page_that_was_left(open_room: OpenRoom, people: People) -> None:
    room = await open_room()
    script = await with_person(room, people, entry(1, "said", "Between us.", "Sam"))
    await expect(room.entries).to_have_count(1)

    await script.close(4401)

    await expect(room.page.get_by_text("You are signed out.")).to_be_visible()
    assert not re.search(r"Between us|\bSam\b", await room.whole_text())


async def test_a_pause_and_its_end_are_shown_and_said_while_no_word_is_written(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa, [snapshot(1)])
    await expect(room.recipient).to_be_hidden()

    script.tell({"type": "staff_pause", "paused": True, "line": PAUSED})
    await expect(room.recipient).to_have_text(PAUSED)
    script.tell({"type": "staff_pause", "paused": False, "line": OVER})
    await expect(room.recipient).to_have_text(OVER)
    script.tell({"type": "accepted", "key": "00000000-0000-4000-8000-000000000002", "turn": 2})
    script.say(2, "I am here.")

    await expect(room.recipient).to_be_hidden()
    await room.hears(PAUSED, OVER)


async def test_a_pause_that_the_turn_says_is_not_said_twice(open_room: OpenRoom, people: People) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa, [snapshot(1, state="speaking", reply="", seq=0)])

    script.tell({"type": "paused", "turn": 1, "seq": 0, "line": PAUSED})
    await room.becomes(room.turns.first, "paused")
    script.tell({"type": "staff_pause", "paused": True, "line": PAUSED})

    await expect(room.recipient).to_have_text("This chat is paused for now. You can keep writing here.")
    await room.hears(PAUSED)


async def test_a_goodbye_stands_under_its_own_sign_and_is_said_once(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    turn = await room.say("Goodbye, see you tomorrow")

    script.tell({"type": "complete", "turn": 1, "seq": 0, "line": GOODBYE, "kind": "goodbye"})
    await room.becomes(turn, "complete")

    await expect(room.line(turn)).to_have_text(GOODBYE)
    await expect(room.line(turn)).to_have_attribute("data-kind", "goodbye")
    await expect(room.box).to_be_enabled()
    await room.hears(GOODBYE)
