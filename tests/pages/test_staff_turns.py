"""The staff's pages in a real browser: by keyboard, without JavaScript, at 320 px, in light and dark."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.async_api import Browser, Page, expect

from companion.models import Turn
from ops.transcripts.records import TurnList
from tests.pages.axe import find_violations
from tests.pages.leaving import LEFT_EARLY, close_in_time
from tests.people import People
from tests.processes import Rehearsal, Web
from tests.staff import expire_hold, open_staff_session, play_broken_turn, play_turn

MARKUP = "<b>bold</b><script>document.title = 'taken'</script> **stars** <img src=x onerror=alert(1)>"
LOOKS: list[dict[str, Any]] = [
    {"viewport": {"width": 1200, "height": 900}},
    {"viewport": {"width": 320, "height": 640}},
    {"viewport": {"width": 1000, "height": 800}, "color_scheme": "dark"},
    {"viewport": {"width": 320, "height": 640}, "forced_colors": "active"},
]


@asynccontextmanager
async def open_staff_page(browser: Browser, service: Web, **profile: Any) -> AsyncIterator[Page]:
    """A browser profile of its own, in which nothing may complain and nothing may leave the service's origin."""
    context = await browser.new_context(base_url=service.url, **profile)
    complaints: list[str] = []
    context.on("weberror", lambda error: complaints.append(str(error.error)))
    context.on(
        "console", lambda message: complaints.extend([message.text] * (LEFT_EARLY not in message.text))
    )
    context.on(
        "request",
        lambda request: complaints.extend([request.url] * (not request.url.startswith(service.url))),
    )
    context.on("dialog", lambda dialog: complaints.append(dialog.message))
    try:
        yield await context.new_page()
    finally:
        await close_in_time(context.close())
    assert complaints == []


async def open_session(page: Page, user: User) -> None:
    """Sign in without the form, for tests that are not about it."""
    cookie = open_staff_session(user)
    await page.context.add_cookies(
        [{"name": "companion", "value": cookie, "domain": "127.0.0.1", "path": "/", "httpOnly": True}]
    )


async def sign_in(page: Page, user: User, password: str) -> None:
    """With the keyboard alone."""
    await page.goto("/staff/sign-in/?next=/ops/turns/")
    await expect(page.get_by_label("Name")).to_be_focused()
    await page.keyboard.type(user.get_username())
    await page.keyboard.press("Tab")
    await page.keyboard.type(password)
    await page.keyboard.press("Enter")
    # A password is slow to check on purpose, and slower where much else runs.
    await expect(page.get_by_role("heading", level=1)).to_have_text("Paused turns", timeout=20_000)


async def is_sound(page: Page) -> None:
    """No violation of the accessibility rules, and nothing to scroll sideways."""
    assert await find_violations(page) == []
    assert await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


async def is_sound_in_every_look(page: Page) -> None:
    """The same in every look, one after the other on the open page."""
    for look in LOOKS:
        await page.set_viewport_size(look["viewport"])
        await page.emulate_media(
            color_scheme=look.get("color_scheme", "light"), forced_colors=look.get("forced_colors", "none")
        )
        await is_sound(page)


async def story_of_every_kind(service: Web, people: People, rehearsal: Rehearsal) -> list[Turn]:
    ada, bea = people.add_participant("Ada"), people.add_participant("Bea")
    rehearsal.inject({"status": 429, "error": "rate_limit"}, times=4)
    turns = [
        await play_broken_turn(service, ada, rehearsal),
        await play_turn(service, ada, rehearsal, question=MARKUP),
        await play_broken_turn(service, bea, rehearsal, question="x" * 400),
        await play_broken_turn(service, bea, rehearsal, fault={"refusal": True}),
    ]
    expire_hold(turns[2])
    return turns


# More than fifty checks in a row: a minute and a half where the machine is busy. The short form, in light and dark, is
# `access/test_every_state.py`.
@pytest.mark.long
@pytest.mark.timeout(300)
async def test_every_page_for_staff_is_sound_in_every_look(
    browser: Browser, service: Web, people: People, rehearsal: Rehearsal
) -> None:
    turns = await story_of_every_kind(service, people, rehearsal)
    async with open_staff_page(browser, service) as page:
        await page.goto("/staff/sign-in/")
        await is_sound_in_every_look(page)
        await page.get_by_label("Name").fill("nobody")
        await page.get_by_label("Password").fill("wrong")
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("alert")).to_contain_text("Not signed in.")
        await is_sound_in_every_look(page)
        await sign_in(page, people.add_sam(), people.password)
        for path in (
            "/ops/",
            *(
                f"/ops/turns/?show={shelf}"
                for shelf in ("now", "answered", "paused", "held", "expired", "stopped")
            ),
        ):
            await page.goto(path)
            await is_sound_in_every_look(page)
        for turn in turns:
            await page.goto(f"/ops/turns/{turn.pk}/")
            await is_sound_in_every_look(page)


async def test_everything_works_without_javascript_and_with_the_keyboard_alone(
    browser: Browser, service: Web, people: People, rehearsal: Rehearsal
) -> None:
    turn = await play_broken_turn(service, people.rosa, rehearsal)
    async with open_staff_page(browser, service, java_script_enabled=False) as page:
        await sign_in(page, people.add_sam(), people.password)
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        await page.keyboard.press("Enter")
        story = page.get_by_role("link", name=f"Turn {turn.pk}: Rosa")
        # Past the lists, to the one after them.
        for _ in range(len(TurnList) + 1):
            await page.keyboard.press("Tab")
        await expect(story).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", level=1)).to_contain_text(f"Turn {turn.pk}: Rosa")
        await expect(page.get_by_text(turn.reply, exact=True)).to_be_visible()
        await page.get_by_role("button", name="Sign out").press("Enter")
        await page.wait_for_url("**/staff/sign-in/")
        await page.goto(f"/ops/turns/{turn.pk}/")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")


async def test_markup_in_a_message_is_shown_as_letters_on_the_page(
    browser: Browser, service: Web, people: People, rehearsal: Rehearsal
) -> None:
    turn = await play_turn(service, people.rosa, rehearsal, question=MARKUP, fault={"say": MARKUP})
    async with open_staff_page(browser, service) as page:
        await sign_in(page, people.add_sam(), people.password)
        await page.goto(f"/ops/turns/{turn.pk}/")
        await expect(page.get_by_text(MARKUP, exact=True)).to_have_count(2)
        await expect(page).to_have_title(f"Turn {turn.pk} – Staff")


@pytest.mark.whole_browser
async def test_after_signing_out_back_shows_nothing_of_a_story(
    browser: Browser, service: Web, people: People, rehearsal: Rehearsal
) -> None:
    turn = await play_broken_turn(service, people.rosa, rehearsal)
    async with open_staff_page(browser, service) as page:
        await sign_in(page, people.add_sam(), people.password)
        await page.goto(f"/ops/turns/{turn.pk}/")
        await page.get_by_role("button", name="Sign out").click()
        await page.wait_for_url("**/staff/sign-in/")
        await page.go_back()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
        assert turn.reply not in await page.content()
