"""One person's whole way: card, first words, reply, reload, second tab, away and back, stop, goodbye, Back."""

import pytest
from playwright.async_api import expect

from tests.pages.conftest import OpenRoom
from tests.people import People
from tests.processes import Rehearsal

DISCLOSURE = "I am a computer program. I am not a person. Staff here can read what we write."


@pytest.mark.whole_browser
async def test_a_card_leads_to_the_room_which_says_what_he_is_and_who_can_read(
    open_room: OpenRoom, people: People
) -> None:
    room = await (await open_room()).enter_by_card(people.rosa)

    assert room.page.url.endswith("/chat/")
    await expect(room.page.get_by_role("heading", level=1)).to_have_text("Robin")
    await expect(room.page.get_by_text(DISCLOSURE)).to_be_visible()
    await expect(room.greeting).to_contain_text("Hello. I am glad you are here.")


async def test_a_question_is_answered_word_by_word_and_stands_as_it_was_stored(
    open_room: OpenRoom, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    rehearsal.inject({"say": "Good morning, Rosa.\n\nI am glad you wrote. Tell me more."}, times=1)

    turn = await room.say("Good morning.\n\nI slept well.")
    await room.becomes(turn, "speaking|complete")
    await room.becomes(turn, "complete")

    [stored] = rosa.turns()
    assert await room.text_of(room.question(turn)) == stored.question == "Good morning.\n\nI slept well."
    assert await room.text_of(room.reply(turn)) == stored.reply
    assert await room.reply(turn).locator("p").count() == 2
    await expect(room.box).to_have_value("")
    await expect(room.stop).to_be_hidden()


async def test_you_and_he_are_told_apart_by_name(open_room: OpenRoom, people: People) -> None:
    room = await (await open_room()).enter(people.rosa)

    turn = await room.ask("Good morning.")

    assert await turn.get_by_role("heading", level=2).all_text_contents() == ["You said:", "Robin said:"]


async def test_a_reload_shows_everything_again(open_room: OpenRoom, people: People) -> None:
    room = await (await open_room()).enter(people.rosa)
    turn = await room.ask("Good morning.")
    before = await room.text_of(room.reply(turn))

    await room.page.reload()
    await room.ready()

    await expect(room.turns).to_have_count(1)
    assert await room.text_of(room.reply(room.turns.first)) == before
    await expect(room.question(room.turns.first)).to_have_text("Good morning.")


async def test_a_second_tab_sees_the_same_question_and_the_same_reply(
    open_room: OpenRoom, people: People
) -> None:
    room = await (await open_room()).enter(people.rosa)
    second = await room.another_tab()

    turn = await room.ask("Can you see me twice?")

    await room.becomes(second.turns.first, "complete")
    await expect(second.question(second.turns.first)).to_have_text("Can you see me twice?")
    assert await second.text_of(second.reply(second.turns.first)) == await room.text_of(room.reply(turn))
    await expect(second.turns).to_have_count(1)


@pytest.mark.whole_browser
async def test_a_tab_closed_in_the_middle_of_a_reply_finds_it_whole_when_it_is_opened_again(
    open_room: OpenRoom, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    rehearsal.inject({"words": 80, "pace_ms": 20}, times=1)
    await room.becomes(await room.say("Tell me a long story."), "speaking")

    context = room.context
    await room.page.close()
    again = type(room)(await context.new_page(), room.base_url)
    await again.go("/chat/")
    await room.becomes(again.turns.first, "speaking|complete")
    await room.becomes(again.turns.first, "complete")

    [stored] = rosa.turns()
    assert (await again.text_of(again.reply(again.turns.first))).split() == stored.reply.split()
    assert len(stored.reply.split()) >= 60


async def test_stop_keeps_what_was_said_and_goes_away_again(
    open_room: OpenRoom, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    rehearsal.inject({"words": 400, "pace_ms": 30}, times=1)
    turn = await room.say("Tell me a long story.")
    await room.becomes(turn, "speaking")

    await room.stop.click()
    await room.becomes(turn, "stopped")

    [stored] = rosa.turns()
    assert await room.text_of(room.reply(turn)) == stored.reply.strip()
    await expect(room.line(turn)).to_have_text("I have stopped. We can go on when you like.")
    # It keeps the focus until the person moves on.
    await expect(room.stop).to_be_focused()
    await room.box.focus()
    await expect(room.stop).to_be_hidden()


async def test_stop_is_there_while_nothing_has_been_said_yet(
    open_room: OpenRoom, people: People, rehearsal: Rehearsal
) -> None:
    room = await (await open_room()).enter(people.rosa)
    rehearsal.inject({"hang": "before_word"}, times=1)
    turn = await room.say("Are you there?")

    await room.stop.click()
    await room.becomes(turn, "stopped")

    await expect(room.line(turn)).to_be_visible()


@pytest.mark.whole_browser
async def test_finished_says_goodbye_and_back_leads_nowhere(open_room: OpenRoom, people: People) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter_by_card(rosa)
    await room.ask("My secret is a blue door.")

    await room.finished.click()
    await room.page.wait_for_url("**/finished/")

    await expect(room.page.get_by_role("main")).to_contain_text("Goodbye. Thank you for talking with me.")
    await expect(room.page.get_by_role("main")).to_contain_text("You are signed out.")
    # The chat's place in the history was taken by the goodbye: before it there is only the way in.
    await room.back()
    await expect(room.page.get_by_label("Type the code from your card")).to_be_visible()
    assert room.page.url == f"{room.base_url}/card/"
    assert "blue door" not in await room.whole_text()
    assert rosa.card.link not in await room.page.content()
