"""The waiting room in a browser: the line at once, nothing to do, the words back when it took too long (Q2, Q3)."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import expect

from tests.ceilings import set_ceiling
from tests.page_socket import Page as Socket
from tests.pages.conftest import OpenRoom
from tests.people import People
from tests.processes import Rehearsal, Web

QUEUED = "Lots of people are talking to me right now. I will come to you in a moment."
TRY_AGAIN = "I could not get to you this time. Your words are still in the box. Please try again a bit later."
TAKEN_BACK = "I have not read this yet. Your words are back in the box. You can send them again."
SLOW = {"pace_ms": 20, "words": 2_000}


@pytest.fixture(autouse=True)
def one_at_a_time(service: Web) -> Iterator[None]:
    """One may speak; the rest wait."""
    with set_ceiling(1):
        yield


@asynccontextmanager
async def occupy_the_only_place(
    service: Web, people: People, rehearsal: Rehearsal
) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """The one place is taken, until what is yielded is awaited or the block ends."""
    rehearsal.inject(SLOW, times=1, match="Take the place.")
    async with Socket(service.socket_url, people.otto.sign_in(service.url)) as socket:
        await socket.say("Take the place.")
        turn = (await socket.until("words"))["turn"]

        async def go() -> None:
            if "stopped" not in socket.kinds(turn):
                await socket.send({"type": "stop", "turn": turn})
                await socket.ending(turn)

        yield go
        await go()


async def test_a_waiting_participant_reads_the_drafted_line_at_once_and_no_number(
    open_room: OpenRoom, service: Web, people: People, rehearsal: Rehearsal
) -> None:
    async with occupy_the_only_place(service, people, rehearsal) as make_room:
        room = await (await open_room()).enter(people.rosa)
        turn = await room.say("May I come in?")
        await expect(room.line(turn)).to_have_text(QUEUED, timeout=2_000)
        assert not re.search(r"\d", await turn.inner_text())
        await room.hears(QUEUED)
        # The message is stored, so it is out of the box, and another could be written.
        await expect(room.box).to_have_value("")
        await make_room()
        await room.becomes(turn, "complete")
        await expect(room.line(turn)).not_to_contain_text(QUEUED)
        assert await room.text_of(room.reply(turn))


async def test_stop_leaves_the_waiting_room(
    open_room: OpenRoom, service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    async with occupy_the_only_place(service, people, rehearsal):
        room = await (await open_room()).enter(rosa)
        turn = await room.say("I change my mind.")
        await expect(room.line(turn)).to_have_text(QUEUED)
        await room.stop.click()
        await room.becomes(turn, "stopped")
        await expect(room.line(turn)).to_have_text(TAKEN_BACK)
        await expect(room.box).to_have_value("I change my mind.")
    assert rosa.turns()[0].state == "stopped"
    assert not any("I change my mind." in one["messages"][-1]["content"] for one in rehearsal.list_requests())


async def test_at_the_wait_ceiling_the_words_are_back_in_the_box_and_can_be_sent_again(
    open_room: OpenRoom,
    service: Web,
    another_web: Callable[..., Web],
    people: People,
    rehearsal: Rehearsal,
) -> None:
    hurried = another_web(COMPANION_WAIT_CEILING_S="1")
    async with occupy_the_only_place(service, people, rehearsal) as make_room:
        room = await (await open_room(hurried.url)).enter(people.rosa)
        turn = await room.say("What about me?")
        await room.becomes(turn, "refused")
        await expect(room.line(turn)).to_have_text(TRY_AGAIN)
        await expect(room.box).to_have_value("What about me?")
        await room.until("(line) => window.heard.includes(line)", TRY_AGAIN)
        await make_room()
        count = await room.turns.count()
        await room.box.press("Enter")
        await room.becomes(room.turns.nth(count), "complete")


async def test_a_reload_while_waiting_shows_the_same_line_and_then_the_reply(
    open_room: OpenRoom, service: Web, people: People, rehearsal: Rehearsal
) -> None:
    async with occupy_the_only_place(service, people, rehearsal) as make_room:
        room = await (await open_room()).enter(people.rosa)
        await room.say("May I come in?")
        await expect(room.line(room.turns.first)).to_have_text(QUEUED)
        await room.page.reload()
        await expect(room.line(room.turns.first)).to_have_text(QUEUED)
        await make_room()
        await room.becomes(room.turns.first, "complete")


async def test_a_chat_that_is_open_in_too_many_places_says_so_in_drafted_words(
    open_room: OpenRoom, another_web: Callable[..., Web], people: People
) -> None:
    web = another_web(COMPANION_PAGES_PER_PERSON="1")
    first = await (await open_room(web.url)).enter(people.rosa)
    second = await first.context.new_page()
    await second.goto(f"{web.url}/chat/")
    away = second.locator("[data-away]")
    await expect(away).to_have_text(
        "This chat is open in many places. You can close some of them. Then come back to this page."
    )
    await first.page.close()
    # Coming back to the page tries again.
    await second.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await expect(away).to_be_hidden()
    await expect(second.locator("[data-greeting]")).to_be_visible()
