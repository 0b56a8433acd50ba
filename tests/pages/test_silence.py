"""A line that falls silent is said to be away within seconds, and nothing looks alive while it is (P2, T17)."""

import asyncio
import itertools

import pytest
from playwright.async_api import expect

from tests.pages.conftest import OpenRoom
from tests.pages.door import Door
from tests.pages.room import Room
from tests.pages.script import Script
from tests.people import People

NOT_HERE = "The chat is not here right now. This page is trying to get it back."
BREATHES = """() => {
  const sign = document.querySelector("[data-part=sign]");
  return getComputedStyle(sign).visibility === "visible" && getComputedStyle(sign).animationName !== "none";
}"""


async def test_silence_in_the_middle_of_a_reply_is_said_within_ten_seconds(
    open_room: OpenRoom, people: People, door: Door
) -> None:
    room = await (await open_room(door.url)).enter(people.rosa)
    await room.page.clock.install()
    await _ask_and_hang(room)
    assert await room.page.evaluate(BREATHES)

    door.hold()
    await room.page.clock.fast_forward(5_000)
    await expect(room.away).to_be_hidden()
    await room.page.clock.fast_forward(4_500)

    await expect(room.away).to_have_text(NOT_HERE)
    assert not await room.page.evaluate(BREATHES)
    door.release()
    await expect(room.away).to_be_hidden(timeout=20_000)
    assert await room.page.evaluate(BREATHES)
    room.complaints.clear()


async def _ask_and_hang(room: Room) -> None:
    turn = await room.say("Are you there?")
    await room.becomes(turn, "waiting|speaking")


async def test_a_missed_heartbeat_is_said_within_ten_seconds_also_where_nothing_was_asked(
    open_room: OpenRoom, people: People, door: Door
) -> None:
    room = await open_room(door.url)
    await room.page.clock.install()
    await room.enter(people.rosa)

    door.hold()
    await room.page.clock.fast_forward(10_500)
    await expect(room.away).to_be_hidden()
    await room.page.clock.fast_forward(4_500)

    await expect(room.away).to_have_text(NOT_HERE)
    door.release()
    room.complaints.clear()


async def test_a_device_that_goes_offline_says_so_within_seconds_and_comes_back_by_itself(
    open_room: OpenRoom, people: People, door: Door
) -> None:
    room = await open_room(door.url)
    await room.page.clock.install()
    await room.enter(people.rosa)

    door.hold()
    await room.page.evaluate("dispatchEvent(new Event('offline'))")
    await room.page.clock.fast_forward(2_500)
    await expect(room.away).to_have_text(NOT_HERE)
    door.release()
    await room.page.evaluate("dispatchEvent(new Event('online'))")

    await expect(room.away).to_be_hidden(timeout=20_000)
    room.complaints.clear()


async def test_a_device_that_is_wrong_about_being_offline_says_nothing(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    await room.page.clock.install()
    script = await Script.behind(room, people.rosa)

    await room.page.evaluate("dispatchEvent(new Event('offline'))")
    await script.until_sent("ping")
    await room.until("!('line' in document.querySelector('[data-chat]').dataset)")
    await room.page.clock.fast_forward(3_000)

    await expect(room.away).to_be_hidden()
    assert await room.read_announcements() == []


@pytest.mark.parametrize("state", ["visible", "hidden"])
async def test_an_open_page_sends_often_enough_for_a_proxy_that_closes_after_a_minute_of_silence(
    open_room: OpenRoom, people: People, state: str
) -> None:
    room = await open_room()
    await room.page.clock.install()
    script = await Script.behind(room, people.rosa)
    await room.page.evaluate(
        """(state) => {
          Object.defineProperty(document, "visibilityState", { value: state });
          document.dispatchEvent(new Event("visibilitychange"));
        }""",
        state,
    )

    sent_at = [0]
    for second in range(1, 66):
        before = len(script.sent)
        await room.page.clock.run_for(1_000)
        if len(script.sent) > before:
            sent_at.append(second)

    assert max(later - earlier for earlier, later in itertools.pairwise([*sent_at, 65])) <= 40
    assert script.connections == 1


async def test_pings_are_at_least_five_seconds_apart_whatever_happens(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    await room.page.clock.install()
    script = await Script.behind(room, people.rosa)
    await room.say("Hello.")

    for _ in range(20):
        await room.page.evaluate(
            """() => {
              for (const name of ["online", "offline"]) dispatchEvent(new Event(name));
              document.dispatchEvent(new Event("visibilitychange"));
            }"""
        )
        await room.page.clock.run_for(1_000)
        await asyncio.sleep(0)

    assert 2 <= len(script.of("ping")) <= 5
