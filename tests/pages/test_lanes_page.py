"""The page about lanes in a real browser: by keyboard and without JavaScript, at 320 px, in light and dark."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from playwright.async_api import Browser, expect

from ops.alerts.kinds import AlertKind
from ops.alerts.rows import raise_alert
from ops.models import Alert, ContractCheck, LaneDay
from routing.lanes import NORMAL
from tests.pages.test_staff_turns import LOOKS, is_sound_in_every_look, open_session, open_staff_page
from tests.people import People, in_database
from tests.processes import Web
from tests.selections import (
    forget_lane_answers,
    insert,
    newest,
    select,
    select_normal,
    wait_until_selection_is_served,
)

TOOK = {
    "lane": "rehearsal_second",
    "calls": 12_034,
    "calls_told": 12_033,
    "input_tokens": 12_345_678,
    "output_tokens": 345_678,
    "currency": "EUR",
    "cost": "1234.5",
    "replies": 12_034,
    "replies_unmarked": 12_034,
}
FOUND = [
    {"lane": "rehearsal_second", "said": "replies hold Markdown, HTML or emoji", "matters": True},
    {"lane": "rehearsal_local", "said": "the first word comes later", "matters": False},
]


@pytest.fixture(autouse=True)
def _normal_afterwards(database: object) -> Iterator[None]:
    forget_lane_answers()
    in_database(lambda: Alert.objects.all().delete())
    yield
    select_normal()
    in_database(lambda: Alert.objects.all().delete())


@pytest.fixture(scope="module", autouse=True)
def _selection_is_served(database: object) -> Iterator[None]:
    yield
    wait_until_selection_is_served()


@pytest.fixture
def figures(database: object) -> Iterator[None]:
    """What a lane took today, and a contract check with findings."""

    def remove() -> None:
        LaneDay.objects.all().delete()
        ContractCheck.objects.all().delete()

    in_database(remove)
    in_database(lambda: LaneDay.objects.create(day=datetime.now(UTC).date(), **TOOK))
    in_database(lambda: ContractCheck.objects.create(preset=NORMAL, ok=False, document={"findings": FOUND}))
    yield
    in_database(remove)


# The states of these pages in one look are among those of `access/test_every_state.py`.
@pytest.mark.long
@pytest.mark.timeout(300)
async def test_the_page_is_sound_in_every_look_and_state(
    browser: Browser, service: Web, people: People, figures: None
) -> None:
    in_database(lambda: raise_alert(AlertKind.MISCONFIGURED, "rehearsal_second"))
    in_database(lambda: raise_alert(AlertKind.PIN_REVERTED, "version 3 (local_only)"))
    async with open_staff_page(browser, service) as page:
        await open_session(page, people.add_ines())
        await page.goto("/ops/turns/")
        await is_sound_in_every_look(page)
        await page.goto("/ops/routing/")
        await is_sound_in_every_look(page)
        await page.get_by_role("radio", name="local_only").check()
        await page.get_by_label("Why").fill("A long reason without a break: " + "x" * 160)
        await page.get_by_role("button", name="Select").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Select local_only all the same?")
        await is_sound_in_every_look(page)
        await page.get_by_role("button", name="Yes, select local_only").click()
        await expect(page.get_by_role("heading", name="In force: local_only")).to_be_visible()
        await is_sound_in_every_look(page)
        insert("of_the_next_release")
        await page.goto("/ops/routing/")
        await expect(page.get_by_text("Not in force:")).to_be_visible()
        await is_sound_in_every_look(page)
        await page.get_by_role("button", name="Sign out").click()
        await page.wait_for_url("**/staff/sign-in/")
        await open_session(page, people.add_sam())
        await page.goto("/ops/routing/")
        # The third is the row that this release cannot use; the processes come across it within ten seconds.
        told = page.get_by_text(re.compile(r"There are \d+ open problems for operators\."))
        await expect(told).to_be_visible()
        await is_sound_in_every_look(page)


async def test_what_lanes_took_and_what_was_compared_fit_on_the_page(
    browser: Browser, service: Web, people: People, figures: None
) -> None:
    async with open_staff_page(browser, service) as page:
        await open_session(page, people.add_ines())
        await page.goto("/ops/routing/")
        await expect(page.get_by_role("region", name="Contract check")).to_contain_text("People would notice")
        table = page.get_by_role("region", name="Tokens and cost as a table")
        row = table.get_by_role("row").nth(1)
        await expect(row).to_contain_text("12,345,678 in, 345,678 out (not reported for 1 call)")
        # On one line: no figure is broken, and what is too wide scrolls in a place of its own.
        for look in LOOKS:
            await page.set_viewport_size(look["viewport"])
            box = await row.bounding_box()
            assert box is not None and box["height"] < 50


async def test_traffic_is_moved_and_brought_back_with_the_keyboard_alone_and_without_scripts(
    browser: Browser, service: Web, people: People
) -> None:
    async with open_staff_page(browser, service, java_script_enabled=False) as page:
        await open_session(page, people.add_ines())
        await page.goto("/ops/routing/")
        await page.get_by_role("radio", name="pin_second").focus()
        await page.keyboard.press("Space")
        await page.keyboard.press("Tab")
        await expect(page.get_by_label("Why")).to_be_focused()
        await page.keyboard.type("The first lane is slow")
        await page.keyboard.press("Enter")
        await expect(
            page.get_by_text("comes first in this chain and has not answered in the last day")
        ).to_be_visible()
        assert newest().preset == NORMAL
        await page.get_by_role("button", name="Yes, select pin_second").press("Enter")
        told = page.get_by_role("status").filter(has_text="pin_second")
        await expect(told).to_contain_text("pin_second is selected")
        assert (newest().preset, newest().reason) == ("pin_second", "The first lane is slow")

        await page.get_by_role("button", name="Back to normal").press("Enter")
        await expect(page.get_by_role("heading", name="In force: normal")).to_be_visible()
        await expect(page.get_by_role("button", name="Back to normal")).to_have_count(0)
        assert newest().preset == NORMAL


async def test_no_leads_back_and_changes_nothing(browser: Browser, service: Web, people: People) -> None:
    before = newest()
    async with open_staff_page(browser, service) as page:
        await open_session(page, people.add_ines())
        await page.goto("/ops/routing/")
        await page.get_by_role("radio", name="pin_second").check()
        await page.get_by_label("Why").fill("A test")
        await page.get_by_role("button", name="Select").click()
        await page.get_by_role("link", name="No, go back").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Lanes")
    assert newest() == before


async def test_entered_text_is_kept_when_another_person_was_quicker(
    browser: Browser, service: Web, people: People
) -> None:
    async with open_staff_page(browser, service) as page:
        await open_session(page, people.add_ines())
        await page.goto("/ops/routing/")
        select("drop_first")
        await page.get_by_role("radio", name="pin_second").check()
        await page.get_by_label("Why").fill("The first lane is slow")
        await page.get_by_label("For", exact=True).select_option("one hour")
        await page.get_by_role("button", name="Select").click()

        told = page.get_by_role("main").get_by_role("alert").filter(has_text="Nothing was selected.")
        await expect(told).to_contain_text("Meanwhile Ines selected drop_first")
        await expect(page.get_by_role("radio", name="pin_second")).to_be_checked()
        await expect(page.get_by_label("Why")).to_have_value("The first lane is slow")
        await expect(page.get_by_label("For", exact=True)).to_have_value("1")
        await expect(page.get_by_role("heading", name="In force: drop_first")).to_be_visible()


async def test_an_alert_goes_once_an_operator_has_seen_it(
    browser: Browser, service: Web, people: People
) -> None:
    in_database(lambda: raise_alert(AlertKind.MISCONFIGURED, "rehearsal_second"))
    async with open_staff_page(browser, service) as page:
        await open_session(page, people.add_ines())
        await page.goto("/ops/turns/")
        alerts = page.get_by_role("region", name=re.compile("things? needs? a person"))
        alert = alerts.get_by_role("listitem").filter(has_text="Lane rehearsal_second")
        await expect(alert).to_contain_text("Lane rehearsal_second does not accept our key")
        await alert.get_by_role("button", name="I have seen it").click()
        await expect(page.get_by_text("Lane rehearsal_second does not accept our key")).to_have_count(0)
        await expect(page.get_by_role("heading", level=1)).to_have_text("Paused turns")
