"""A staff page with a person's words follows the session, the rights and the rows (S5, A2)."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest
from django.contrib.auth.models import User
from playwright.async_api import Browser, Page, expect

from companion.models import Turn
from ops.models import AuditEntry, Supervision
from tests.long_forms import mark_long
from tests.page_socket import Page as Socket
from tests.pages.conftest import OpenRoom
from tests.pages.door import Door
from tests.pages.leaving import close_in_time
from tests.pages.room import Room
from tests.pages.test_staff_turns import open_session, open_staff_page
from tests.people import People, in_database
from tests.processes import Rehearsal, Web
from tests.staff import play_broken_turn

SECRET = "My secret is a blue door."
PROMISED_MS = 2_000
PATHS = ["/ops/turns/{turn}/", "/ops/turns/?show=held", "/ops/"]
# A page says itself when its last word about a person was gone; `window.name` outlives a reload.
KEEP_WHEN_EMPTY = """() => {
  window.name = "";
  new MutationObserver((_, observer) => {
    if (document.documentElement.textContent.includes("Rosa")) return;
    window.name = String(Date.now());
    observer.disconnect();
  }).observe(document, { childList: true, subtree: true, characterData: true });
}"""
KEEP_WHEN_SUBMITTED = """() => document.querySelector("[data-leave]")
  .addEventListener("submit", () => { window.name = String(Date.now()); })"""


async def says_nothing(page: Page) -> None:
    """The page, and the one that follows it, say nothing of a person."""
    await expect(page.get_by_text("Rosa")).to_have_count(0)
    await expect(page.get_by_text(SECRET)).to_have_count(0)


async def is_emptied_in_time(page: Page, since_ms: float) -> None:
    """The page says nothing of a person, and stopped as soon after `since_ms` (of the Unix epoch) as is promised."""
    await says_nothing(page)
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    emptied_ms = float(await page.evaluate("window.name"))
    assert 0 <= emptied_ms - since_ms <= PROMISED_MS, page.url
    await says_nothing(page)


async def open_path(page: Page, turn: Turn, path: str) -> None:
    await page.goto(path.format(turn=turn.pk))
    await expect(page.get_by_text("Rosa").first).to_be_visible()


async def opened(page: Page, people: People, turn: Turn, path: str) -> User:
    """Sam is signed in and looks at a page about Rosa."""
    sam = people.add_sam()
    await open_session(page, sam)
    await open_path(page, turn, path)
    return sam


async def open_every_page(first: Page, people: People, turn: Turn) -> tuple[User, list[Page]]:
    """Sam is signed in and looks at every kind of page about Rosa, each in a tab that keeps when it was emptied."""
    sam = people.add_sam()
    await open_session(first, sam)
    pages = [first, *[await first.context.new_page() for _ in PATHS[1:]]]
    for page, path in zip(pages, PATHS, strict=True):
        await open_path(page, turn, path)
        await page.evaluate(KEEP_WHEN_EMPTY)
    return sam, pages


@pytest.mark.whole_browser
async def test_signing_out_in_another_tab_empties_every_page_in_time(
    browser: Browser, service: Web, people: People, rehearsal: Rehearsal
) -> None:
    turn = await play_broken_turn(service, people.rosa, rehearsal, question=SECRET)
    async with open_staff_page(browser, service) as first:
        _, pages = await open_every_page(first, people, turn)
        elsewhere = await first.context.new_page()
        await elsewhere.goto("/ops/routing/")
        await elsewhere.evaluate(KEEP_WHEN_SUBMITTED)
        await elsewhere.get_by_role("button", name="Sign out").click()
        # Its own script may lead there first, with the way back in the address.
        await elsewhere.wait_for_url("**/staff/sign-in/**")
        signed_out_ms = float(await elsewhere.evaluate("window.name"))
        for page in pages:
            await page.wait_for_url("**/staff/sign-in/**")
            await is_emptied_in_time(page, signed_out_ms)


async def test_a_participants_card_opened_in_the_same_browser_empties_every_page_in_time(
    browser: Browser, service: Web, people: People, rehearsal: Rehearsal
) -> None:
    turn = await play_broken_turn(service, people.rosa, rehearsal, question=SECRET)
    async with open_staff_page(browser, service) as first:
        _, pages = await open_every_page(first, people, turn)
        room = Room(await first.context.new_page(), service.url)
        async with room.page.expect_request(lambda request: request.method == "POST") as posted:
            await room.enter_by_card(people.otto)
        opened_ms = (await posted.value).timing["startTime"]
        for page in pages:
            await page.wait_for_url("**/staff/sign-in/**")
            await is_emptied_in_time(page, opened_ms)


def supervises_no_more(sam: User) -> None:
    Supervision.objects.filter(user=sam).delete()


def is_staff_no_more(sam: User) -> None:
    User.objects.filter(pk=sam.pk).update(is_staff=False)


def has_another_password(sam: User) -> None:
    sam.set_password("another password")
    sam.save()


@pytest.mark.parametrize("change", [supervises_no_more, *mark_long([is_staff_no_more, has_another_password])])
async def test_withdrawn_rights_empty_every_page_in_time(
    browser: Browser,
    service: Web,
    people: People,
    rehearsal: Rehearsal,
    change: Callable[[User], None],
) -> None:
    turn = await play_broken_turn(service, people.rosa, rehearsal, question=SECRET)
    context = await browser.new_context(base_url=service.url)
    try:
        sam, pages = await open_every_page(await context.new_page(), people, turn)
        withdrawn_ms = time.time() * 1000
        in_database(lambda: change(sam))
        for page in pages:
            await is_emptied_in_time(page, withdrawn_ms)
    finally:
        await close_in_time(context.close())


async def test_a_live_story_reads_along_and_ends_by_itself_and_is_on_record_once(
    browser: Browser, service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    rehearsal.inject({"pace_ms": 40, "words": 120}, times=1)
    async with (
        open_staff_page(browser, service) as page,
        Socket(service.socket_url, rosa.sign_in(service.url)) as socket,
    ):
        await open_session(page, people.add_sam())
        await socket.say(SECRET)
        turn = (await socket.until("words"))["turn"]
        await page.goto(f"/ops/turns/{turn}/")
        reply = page.locator("[data-reply]")
        await expect(page.get_by_text("This page reads along by itself.")).to_be_visible()
        before = await reply.text_content() or ""
        await expect(reply).not_to_have_text(before)
        assert (await reply.text_content() or "").startswith(before)
        opened = in_database(lambda: AuditEntry.objects.filter(about=rosa.row.pk).count())

        await socket.ending()

        await expect(page.get_by_text("complete").first).to_be_visible(timeout=10_000)
        await expect(page.locator("blockquote.words").last).to_have_text(rosa.turns()[0].reply)
        await expect(page.get_by_role("heading", name="Attempts")).to_be_visible()
    # The page was opened, and opened again at the end: the words in between are the same opening.
    assert in_database(lambda: AuditEntry.objects.filter(about=rosa.row.pk).count()) == opened + 1


async def test_a_held_question_that_is_answered_meanwhile_is_shown_as_answered(
    browser: Browser, service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    turn = await play_broken_turn(service, rosa, rehearsal, question=SECRET)
    async with open_staff_page(browser, service) as page:
        await opened(page, people, turn, "/ops/turns/{turn}/")
        await expect(page.get_by_text("paused, held")).to_be_visible()
        async with Socket(service.socket_url, rosa.sign_in(service.url)) as socket:
            await socket.say("Good day.")
            await socket.ending()
        await expect(page.get_by_text("paused, answered since")).to_be_visible(timeout=10_000)


async def test_a_list_says_when_a_turn_no_longer_stands_as_it_is_listed(
    browser: Browser, service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    turn = await play_broken_turn(service, rosa, rehearsal, question=SECRET)
    async with open_staff_page(browser, service) as page:
        await opened(page, people, turn, "/ops/turns/?show=held")
        changed = page.get_by_role("link", name="Show the list as it is now")
        await expect(changed).to_be_hidden()
        async with Socket(service.socket_url, rosa.sign_in(service.url)) as socket:
            await socket.say("Good day.")
            await socket.ending()
        await expect(changed).to_be_visible(timeout=10_000)
        await changed.click()
        await expect(page.get_by_role("link", name=re.compile(f"Turn {turn.pk}:"))).to_have_count(0)


async def walked_on(page: Page) -> None:
    await page.goto("/ops/routing/")


async def left_the_site(page: Page) -> None:
    await page.goto("/static/companion/mark.svg")


@pytest.mark.parametrize("leave", [left_the_site, *mark_long([walked_on])])
@pytest.mark.whole_browser
async def test_back_after_the_session_ended_elsewhere_shows_nothing(
    browser: Browser,
    service: Web,
    people: People,
    rehearsal: Rehearsal,
    leave: Callable[[Page], Awaitable[None]],
) -> None:
    turn = await play_broken_turn(service, people.rosa, rehearsal, question=SECRET)
    context = await browser.new_context(base_url=service.url)
    try:
        _, pages = await open_every_page(await context.new_page(), people, turn)
        for page in pages:
            await leave(page)
        other = await browser.new_context(base_url=service.url, storage_state=await context.storage_state())
        elsewhere = await other.new_page()
        await elsewhere.goto("/ops/routing/")
        await elsewhere.get_by_role("button", name="Sign out").click()
        # Its own script may lead there first, with the way back in the address.
        await elsewhere.wait_for_url("**/staff/sign-in/**")
        await close_in_time(other.close())
        for page in pages:
            if leave is walked_on:
                # That page is of staff as well, and goes by itself.
                await page.wait_for_url("**/staff/sign-in/**")

            async with page.expect_event("framenavigated"):
                await page.evaluate("() => { setTimeout(() => history.back()); }")

            await expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
            await expect(page.get_by_text("Rosa")).to_have_count(0)
    finally:
        await close_in_time(context.close())


@pytest.mark.whole_browser
async def test_a_page_that_the_browser_keeps_is_kept_empty(
    browser: Browser, service: Web, people: People, rehearsal: Rehearsal
) -> None:
    turn = await play_broken_turn(service, people.rosa, rehearsal, question=SECRET)
    async with open_staff_page(browser, service) as page:
        await opened(page, people, turn, "/ops/turns/{turn}/")
        await page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
        assert SECRET not in await page.content()
        async with page.expect_event("framenavigated"):
            await page.evaluate(
                "() => { setTimeout(() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))); }"
            )
        await expect(page.get_by_text(SECRET)).to_be_visible()


@pytest.mark.whole_browser
async def test_words_are_concealed_while_nothing_can_tell_whether_they_may_be_shown(
    browser: Browser, service: Web, people: People, rehearsal: Rehearsal, door: Door
) -> None:
    turn = await play_broken_turn(service, people.rosa, rehearsal, question=SECRET)
    # Not by `open_staff_page`: a browser complains of every attempt to come back that finds the door shut.
    context = await browser.new_context(base_url=door.url)
    page = await context.new_page()
    try:
        await opened(page, people, turn, "/ops/turns/{turn}/")
        await door.shut()
        await expect(page.get_by_text("This page cannot be kept right")).to_be_visible(timeout=15_000)
        await expect(page.get_by_text(SECRET)).to_be_hidden()
        await door.open()
        await expect(page.get_by_text(SECRET)).to_be_visible(timeout=20_000)
    finally:
        await close_in_time(context.close())


# A page's own clock tells when each load of it began; `window.name` outlives a reload.
KEEP_TIMES = """if (location.pathname === "%s") window.name = `${window.name} ${performance.timeOrigin}`;"""


async def waits_before_reloads(page: Page, path: str, begin: Callable[[], Awaitable[object]]) -> list[float]:
    """Milliseconds from each load of the page at this path to the next, over four loads."""
    loads: asyncio.Queue[None] = asyncio.Queue()
    page.on("domcontentloaded", lambda page: loads.put_nowait(None) if page.url.endswith(path) else None)
    await page.add_init_script(KEEP_TIMES % path)
    await begin()
    for _ in range(4):
        await asyncio.wait_for(loads.get(), 60)
    times = [float(time) for time in (await page.evaluate("window.name")).split()]
    return [later - earlier for earlier, later in pairwise(times)]


async def test_a_page_whose_socket_is_always_refused_reloads_ever_more_slowly(
    browser: Browser, service: Web, people: People
) -> None:
    async with open_staff_page(browser, service) as page:
        await open_session(page, people.add_sam())
        # Both of its sockets: the driver writes to one that it does not answer for while the page goes away.
        await page.route_web_socket("**/ws/**", lambda socket: socket.close(code=4401))
        waits_ms = await waits_before_reloads(page, "/ops/", lambda: page.goto("/ops/"))
        assert waits_ms[1] >= 500 and waits_ms[2] >= 1_000
        await page.unroute_all()


async def test_a_chat_whose_conversation_always_differs_reloads_ever_more_slowly(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    numbers = iter(range(1, 1_000))
    hello = '{"type":"hello","v":1,"persona":{"name":"Robin"},"conversation":{"id":%d,"turns":[]}}'

    def connected(socket: object) -> None:
        for _ in range(2):
            socket.send(hello % next(numbers))  # type: ignore[attr-defined]

    await room.page.route_web_socket("**/ws/chat/", connected)
    waits_ms = await waits_before_reloads(room.page, "/chat/", lambda: room.open_card(people.rosa))

    assert waits_ms[1] >= 500 and waits_ms[2] >= 1_000
