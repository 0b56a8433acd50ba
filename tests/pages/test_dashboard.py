"""The page *Right now* in a real browser: it keeps itself right, and says so when it cannot (Q5)."""

import asyncio
import re
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from ops.alerts.kinds import AlertKind
from ops.alerts.rows import raise_alert
from ops.models import Alert
from tests.long_forms import mark_long
from tests.page_socket import Page as Socket
from tests.pages.door import Door
from tests.pages.leaving import close_in_time
from tests.pages.test_staff_turns import is_sound, open_session, open_staff_page
from tests.people import People, in_database
from tests.processes import Rehearsal, Web
from tests.selections import select, select_normal, wait_until_selection_is_served
from tests.staff import play_broken_turn

LIVE = re.compile(r"They change by themselves\.")


async def look(page: Page, people: People) -> None:
    """Sam opens the page; its script has taken over."""
    await open_session(page, people.add_sam())
    await page.goto("/ops/")
    await expect(page.locator("[data-how]")).to_have_text(LIVE)


def figure(page: Page, name: str) -> Any:
    return page.locator(f'[data-text="{name}"]')


async def test_who_speaks_and_what_is_held_come_and_go_without_a_reload(
    browser: Browser, service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa, otto = people.rosa, people.otto
    await play_broken_turn(service, otto, rehearsal)
    async with open_staff_page(browser, service) as page:
        await look(page, people)
        held = page.locator('[data-list="held"] a')
        await expect(held).to_have_count(0)
        rehearsal.inject({"pace_ms": 20, "words": 200, "cut": "fin", "after": 120}, times=1)
        async with Socket(service.socket_url, rosa.sign_in(service.url)) as socket:
            await socket.say("Good day.")
            await expect(figure(page, "in_flight")).to_have_text("1")
            await socket.ending()
        await expect(figure(page, "in_flight")).to_have_text("0")
        turn = rosa.turns()[0]
        # Sam sees the question of Rosa, whom he supervises, and not the one of Otto.
        await expect(held).to_have_text(f"Turn {turn.pk}: Rosa, {people.site.name}")
        await expect(page.locator('[data-list="reasons"]')).to_contain_text("network")
        await held.click()
        await expect(page.get_by_role("heading", level=1)).to_contain_text(f"Turn {turn.pk}: Rosa")


async def test_figures_that_are_old_say_so_and_are_right_again_when_the_line_is_back(
    browser: Browser, service: Web, people: People, rehearsal: Rehearsal, door: Door
) -> None:
    # Not by `open_staff_page`: a browser complains of every attempt to come back that finds the door shut.
    context = await browser.new_context(base_url=door.url)
    page = await context.new_page()
    try:
        await look(page, people)
        warning = page.get_by_role("status").and_(page.locator("[data-old-says]"))
        await expect(warning).to_be_empty()
        await door.shut()
        await expect(warning).to_contain_text("These figures are old", timeout=15_000)
        await expect(page.locator("[data-dashboard]")).to_have_attribute("data-old", "")
        await is_sound(page)
        rehearsal.inject({"pace_ms": 20, "words": 2_000}, times=1)
        async with Socket(service.socket_url, people.rosa.sign_in(service.url)) as socket:
            await socket.say("Good day.")
            turn = (await socket.until("accepted"))["turn"]
            await socket.until("words")
            await door.open()
            await expect(figure(page, "in_flight")).to_have_text("1", timeout=20_000)
            await expect(warning).to_have_text("The figures are live again.")
            await socket.send({"type": "stop", "turn": turn})
            await socket.ending()
    finally:
        await close_in_time(context.close())


async def test_the_last_hour_is_drawn_and_said_by_a_table(
    browser: Browser, service: Web, people: People, rehearsal: Rehearsal
) -> None:
    await play_broken_turn(service, people.rosa, rehearsal)
    async with open_staff_page(browser, service) as page:
        await look(page, people)
        drawing = page.locator("svg[data-hour]")
        await expect(drawing.locator("path.speaking")).to_have_count(1)
        assert await drawing.locator("path.paused").count() >= 1
        await expect(drawing.locator("text", has_text="ceiling 32")).to_have_count(1)
        summary = page.get_by_text("The last hour as a table, newest first")
        await summary.press("Enter")
        rows = page.locator("tbody[data-minutes] tr")
        await expect(rows).to_have_count(60)
        paused = [int(text) for text in await rows.locator("td:nth-child(5)").all_text_contents()]
        assert sum(paused) >= 1
        await is_sound(page)


async def test_without_scripts_the_page_says_everything_and_how_to_have_it_newer(
    browser: Browser, service: Web, people: People, rehearsal: Rehearsal
) -> None:
    turn = await play_broken_turn(service, people.rosa, rehearsal)
    async with open_staff_page(browser, service, java_script_enabled=False) as page:
        await open_session(page, people.add_sam())
        await page.goto("/ops/")
        await expect(page.locator("[data-how]")).to_have_text("Reload the page for newer ones.")
        await expect(page.get_by_role("link", name=f"Turn {turn.pk}: Rosa")).to_be_visible()
        await expect(page.locator("tbody[data-minutes] tr")).to_have_count(60)
        await expect(page.locator(".legend")).to_be_hidden()
        for name in ("COMPANION_CEILING", "COMPANION_WAIT_CEILING_S", "messages_per_minute", "lease_s"):
            await expect(page.get_by_text(name, exact=True)).to_be_visible()


async def test_a_link_that_has_the_focus_keeps_it_when_the_list_changes(
    browser: Browser, service: Web, people: People, rehearsal: Rehearsal
) -> None:
    first = await play_broken_turn(service, people.rosa, rehearsal)
    async with open_staff_page(browser, service) as page:
        await look(page, people)
        link = page.get_by_role("link", name=f"Turn {first.pk}: Rosa")
        await link.focus()
        second = await play_broken_turn(service, people.add_participant("Ada"), rehearsal)
        await expect(page.get_by_role("link", name=f"Turn {second.pk}: Ada")).to_be_visible()
        await expect(link).to_be_focused()


@pytest.mark.parametrize("width", [320, *mark_long([1280])])
async def test_the_great_figures_stand_above_everything_and_fit_on_a_phone(
    browser: Browser, service: Web, people: People, width: int
) -> None:
    async with open_staff_page(browser, service, viewport={"width": width, "height": 720}) as page:
        await look(page, people)
        box = await page.locator(".figures strong").first.bounding_box()
        assert box is not None
        assert box["y"] < 720 and box["height"] >= 36
        await is_sound(page)


async def test_signing_out_in_another_window_takes_the_figures_away(
    browser: Browser, service: Web, people: People
) -> None:
    async with open_staff_page(browser, service) as page:
        await look(page, people)
        elsewhere = await page.context.new_page()
        await elsewhere.goto("/ops/turns/")
        await elsewhere.get_by_role("button", name="Sign out").click()
        await elsewhere.wait_for_url("**/staff/sign-in/")
        await page.wait_for_url("**/staff/sign-in/**", timeout=15_000)


async def test_a_new_alert_and_another_preset_come_and_go_without_a_reload(
    browser: Browser, service: Web, people: People
) -> None:
    in_database(lambda: Alert.objects.all().delete())
    async with open_staff_page(browser, service) as page:
        await open_session(page, people.add_ines())
        await page.goto("/ops/")
        await expect(page.locator("[data-how]")).to_have_text(LIVE)
        credit = page.get_by_role("listitem").filter(has_text="Our account for lane primary has no credit")
        await expect(credit).to_have_count(0)
        try:
            select("pin_second")
            await expect(figure(page, "preset")).to_have_text("pin_second", timeout=15_000)
            in_database(lambda: raise_alert(AlertKind.QUOTA, "primary"))
            await expect(credit).to_be_visible()
            await expect(page.get_by_role("region", name="need")).to_be_visible()
            await is_sound(page)
            in_database(lambda: raise_alert(AlertKind.QUOTA, "primary"))
            await expect(credit).to_contain_text("2 times")
            await credit.get_by_role("button", name="I have seen it").click()
            await expect(page.locator("[data-how]")).to_have_text(LIVE)
            await expect(credit).to_have_count(0)
            assert in_database(lambda: Alert.objects.get(about="primary")).acknowledged_at is not None
        finally:
            select_normal()
        await expect(figure(page, "preset")).to_have_text("normal", timeout=15_000)
        await page.goto("/ops/turns/")
    wait_until_selection_is_served()


async def remove_alerts_until_hidden(banner: Locator) -> None:
    """Remove every alert, again and again: the processes of other tests may raise some meanwhile."""
    async with asyncio.timeout(60):
        while not await banner.is_hidden():
            in_database(lambda: Alert.objects.all().delete())
            await asyncio.sleep(0.2)


async def test_a_supervisor_is_shown_how_many_problems_are_open_without_a_reload(
    browser: Browser, service: Web, people: People
) -> None:
    async with open_staff_page(browser, service) as page:
        await look(page, people)
        told = page.locator("[data-alerts]")
        await remove_alerts_until_hidden(told)
        in_database(lambda: raise_alert(AlertKind.QUOTA, "primary"))
        await expect(told).to_have_text(re.compile(r"There (is 1|are \d+) open problems? for operators\."))
        await remove_alerts_until_hidden(told)
