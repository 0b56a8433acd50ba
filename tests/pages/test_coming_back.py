"""The service goes away and returns: the page says so calmly, goes on where it was, and shows no browser error."""

import re

from playwright.async_api import expect

from tests.pages.conftest import OpenRoom
from tests.pages.door import Door
from tests.people import People
from tests.processes import Rehearsal

UNAVAILABLE = "The chat is not working now. This is not because of you. You can talk to the staff here."


async def test_a_reply_cut_off_by_the_line_goes_on_with_every_word_once(
    open_room: OpenRoom, people: People, door: Door, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    room = await (await open_room(door.url)).enter(rosa)
    rehearsal.inject({"words": 150, "pace_ms": 20}, times=1)
    turn = await room.say("Tell me a long story.")
    await room.becomes(turn, "speaking")

    for _ in range(3):
        length = len(await room.text_of(room.reply(turn)))
        await door.shut()
        await door.open()
        await room.until(
            "(length) => document.querySelector('[data-part=reply]').textContent.length > length", length
        )
    await room.becomes(turn, "complete")

    [stored] = rosa.turns()
    assert (await room.text_of(room.reply(turn))).split() == stored.reply.split()
    room.complaints.clear()


async def test_a_service_that_stays_away_is_said_calmly_and_its_return_silently(
    open_room: OpenRoom, people: People, door: Door
) -> None:
    room = await open_room(door.url)
    await room.page.clock.install()
    await room.enter(people.rosa)
    turn = await room.ask("Good morning.")

    await door.shut()
    await expect(room.away).to_contain_text("The chat is not here right now.")
    await room.page.clock.fast_forward(9_000)
    await expect(room.away).to_have_text(UNAVAILABLE)
    # What was said stays, and so does the page.
    await expect(room.reply(turn)).to_be_visible()
    await room.page.clock.run_for(1_000)
    assert (await room.read_announcements())[-1] == UNAVAILABLE
    await door.open()
    await room.page.clock.fast_forward(10_000)
    await expect(room.away).to_be_hidden()

    await room.ask("Are you back?")
    assert (await room.read_announcements()).count(UNAVAILABLE) == 1
    room.complaints.clear()


async def test_a_short_cut_is_not_worth_a_word(open_room: OpenRoom, people: People, door: Door) -> None:
    room = await (await open_room(door.url)).enter(people.rosa)

    await door.shut()
    await door.open()
    await room.ask("Good morning.")

    assert not [line for line in await room.read_announcements() if "not here right now" in line]
    room.complaints.clear()


async def test_a_line_that_only_looks_open_is_noticed_when_something_is_said(
    open_room: OpenRoom, people: People, door: Door, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    room = await open_room(door.url)
    await room.page.clock.install()
    await room.enter(rosa)
    door.hold()

    await room.box.fill("Are you there?")
    await room.send.click()
    await room.page.clock.fast_forward(8_000)
    await expect(room.away).not_to_be_empty()
    door.release()
    await room.becomes(room.turns.first, "complete")

    assert len(rosa.turns()) == len(rehearsal.list_requests()) == 1
    room.complaints.clear()


async def test_coming_online_tries_again_at_once(open_room: OpenRoom, people: People, door: Door) -> None:
    room = await (await open_room(door.url)).enter(people.rosa)
    # Without the event it would wait, by this dice, for a hundred times its longest pause.
    await room.page.evaluate("Math.random = () => 100")
    await door.shut()
    await expect(room.away).to_contain_text("The chat is not here right now.")

    await door.open()
    await room.page.evaluate("window.dispatchEvent(new Event('online'))")

    await expect(room.away).to_be_hidden(timeout=2_000)
    room.complaints.clear()


async def test_a_pause_keeps_the_words_on_the_page_and_the_next_turn_says_he_is_back(
    open_room: OpenRoom, people: People, door: Door, rehearsal: Rehearsal
) -> None:
    room = await (await open_room(door.url)).enter(people.rosa)
    rehearsal.inject({"after": 8, "cut": "reset"}, times=1)
    turn = await room.ask("What could I do first?", "paused")
    said = await room.text_of(room.reply(turn))
    assert said

    # The same page keeps what was read on it, whatever the line does.
    await door.shut()
    await door.open()
    following = await room.ask("Are you there?")
    assert await room.text_of(room.reply(turn)) == said
    await expect(room.line(turn)).to_contain_text("I have kept your question safe.")
    await expect(following.locator("[data-kind=i_am_back]")).to_have_text(re.compile("^I am back."))

    # A page opened anew never had it.
    await room.page.reload()
    await room.ready()
    await expect(room.reply(room.turns.first)).to_be_empty()
    await expect(room.line(room.turns.first)).to_contain_text("I have kept your question safe.")
    room.complaints.clear()


async def test_finishing_while_the_service_is_away_empties_the_page_and_ends_the_visit_when_it_is_back(
    open_room: OpenRoom, people: People, door: Door
) -> None:
    room = await open_room(door.url)
    await room.page.clock.install()
    await room.enter(people.rosa)
    await room.ask("My secret is a blue door.")
    await door.shut()

    await room.finished.click()

    await expect(room.page.get_by_text("This chat is closing now.")).to_be_visible()
    assert "blue door" not in await room.whole_text()
    await room.page.clock.fast_forward(10_000)
    await expect(room.page.get_by_text("This chat is not closed yet.")).to_be_visible()
    await door.open()
    await room.page.wait_for_url("**/finished/")
    await expect(room.page.get_by_text("You are signed out.")).to_be_visible()
    room.complaints.clear()
