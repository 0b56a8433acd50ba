"""A release while pages are being opened: a page is whole, of one release or of the other, or comes again by itself."""

import asyncio
import re

from playwright.async_api import Route, expect

from tests.pages.conftest import OpenRoom
from tests.pages.room import Room
from tests.people import People, Person

HASHED = re.compile(r"/static/(companion|ops)/[a-z_]+\.[0-9a-f]{12}\.(js|css|svg)$")
ASK_THE_STAFF = "Please ask the staff to help."
# A clock of the test's own would also take the page's word for whether it was loaded again. And only a page that is
# not up is in a hurry: the line to the service has waits of its own, which a busy machine needs.
HURRY = """const later = setTimeout;
window.setTimeout = (call, ms) => later(call, document.querySelector("[data-no-script]") ? ms / 50 : ms);"""
PAST_THE_LONGEST_WAIT = "new Promise((passed) => setTimeout(passed, 15_000))"


async def test_every_file_of_a_page_has_a_name_of_its_own_release(
    open_room: OpenRoom, people: People
) -> None:
    room = await (await open_room()).enter_by_card(people.rosa)

    files = [address for address in room.requests if "/static/" in address]
    assert len(files) > 15
    assert [address for address in files if not HASHED.search(address)] == []


async def test_a_page_of_another_release_comes_up_with_the_files_of_this_one(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()

    async def as_another_release_wrote_it(route: Route) -> None:
        answer = await route.fetch()
        page = re.sub(r"(/static/companion/\w+)\.[0-9a-f]{12}\.", r"\1.0123456789ab.", await answer.text())
        assert page.count(".0123456789ab.") >= 5
        await route.fulfill(response=answer, body=page)

    await room.page.route("**/chat/", as_another_release_wrote_it)
    await room.enter(people.rosa)

    await room.ask("Good morning.")
    # One set of modules: those that the entry of this release names itself. On a busy machine the page may have come
    # again meanwhile, because it was not up in time: then what it asked for the last time counts.
    opened = max(place for place, address in enumerate(room.requests) if address == f"{room.base_url}/chat/")
    turns = [address for address in room.requests[opened:] if "/turns." in address]
    assert len(turns) == 1 and "0123456789ab" not in turns[0]


async def a_room_in_a_hurry(open_room: OpenRoom) -> Room:
    """A tab in which, until the page is up, a second of waiting is over in a fiftieth of one."""
    room = await open_room()
    await room.page.add_init_script(HURRY)
    return room


async def one_part_is_lost(room: Room, person: Person, *, times: int | None = None) -> None:
    """Open the page; a module of it does not arrive, so often or always."""
    await room.page.route("**/turns.*.js", lambda route: route.abort(), times=times)
    await room.open_card(person)


async def test_a_page_whose_part_did_not_arrive_comes_again_by_itself(
    open_room: OpenRoom, people: People
) -> None:
    room = await a_room_in_a_hurry(open_room)

    await one_part_is_lost(room, people.rosa, times=1)

    await expect(room.greeting).to_be_visible(timeout=10_000)
    await room.ask("Good morning.")
    await expect(room.page.get_by_text(ASK_THE_STAFF)).to_have_count(0)
    room.complaints.clear()


async def test_a_page_that_does_not_come_up_again_either_says_whom_to_ask_and_stays(
    open_room: OpenRoom, people: People
) -> None:
    room = await a_room_in_a_hurry(open_room)
    loads: list[str] = []
    room.page.on("domcontentloaded", lambda page: loads.extend([page.url] * page.url.endswith("/chat/")))
    await one_part_is_lost(room, people.rosa)
    async with asyncio.timeout(20):
        while len(loads) < 2:
            await room.page.wait_for_event("domcontentloaded")
    await room.page.wait_for_load_state()

    await room.page.evaluate(PAST_THE_LONGEST_WAIT)

    assert len(loads) == 2
    await expect(room.page.get_by_text(ASK_THE_STAFF)).to_be_visible(timeout=10_000)
    room.complaints.clear()


async def test_words_written_into_a_page_that_did_not_come_up_are_not_taken_away(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    await room.page.clock.install()
    await one_part_is_lost(room, people.rosa)
    await room.box.fill("I began to write.")

    await room.page.clock.fast_forward(15_000)

    await expect(room.box).to_have_value("I began to write.")
    room.complaints.clear()


async def test_a_page_that_is_up_is_never_taken_away(open_room: OpenRoom, people: People) -> None:
    room = await open_room()
    await room.page.clock.install()
    await room.enter(people.rosa)
    await room.page.evaluate("window.untouched = true")

    await room.page.clock.fast_forward(15_000)

    assert await room.page.evaluate("window.untouched")
