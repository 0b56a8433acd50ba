"""A card's link: out of the address before anything is shown, and useless from the browser's history (A2)."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, async_playwright, expect

from companion.models import Visit
from tests.long_forms import mark_long
from tests.pages.axe import find_violations
from tests.pages.conftest import ARGUMENTS, CHROMIUM, LEFT_ON, OpenRoom
from tests.pages.leaving import close_in_time
from tests.pages.profiles import find_files_with
from tests.pages.room import Room
from tests.people import People, Person, in_database
from tests.processes import Web

FIRST = "Press the first picture on your card."
SECOND = "Now press the second picture on your card."
WRONG = "Those are not the pictures on your card. You can try again."


def visits(person: Person) -> int:
    return in_database(lambda: Visit.objects.filter(participant=person.row).count())


@asynccontextmanager
async def profile(folder: Path) -> AsyncIterator[BrowserContext]:
    """A browser that keeps its profile on disk, as a shared machine does."""
    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(
            str(folder), executable_path=CHROMIUM, args=ARGUMENTS, ignore_default_args=LEFT_ON
        )
        yield context
        await close_in_time(context.close())


def history(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "Default" / "History")) as database:
        return [str(url) for (url,) in database.execute("SELECT url FROM urls ORDER BY id")]


@pytest.mark.whole_browser
async def test_what_the_browser_keeps_of_a_card_opens_nothing_for_the_next_person(
    service: Web, people: People, tmp_path: Path
) -> None:
    rosa = people.rosa
    async with profile(tmp_path) as context:
        room = await Room(context.pages[0], service.url).enter_by_card(rosa)
        await room.ask("My secret is a blue door.")
        await room.finished.click()
        await room.page.wait_for_url("**/finished/")
    kept = history(tmp_path)
    # The browser writes the link down whatever a page does, so the link must not be the whole card.
    assert f"{service.url}/card/#{rosa.card.link}" in kept
    assert not any(rosa.card.code in url for url in kept)
    # Nor is the rest of it in any other file of the profile: neither the code nor which pictures were pressed.
    assert find_files_with(tmp_path, rosa.card.link) != []
    first, second = rosa.card.pictures
    for words in (rosa.card.code, f"first={first}", f"second={second}"):
        assert find_files_with(tmp_path, words) == [], words

    async with profile(tmp_path) as context:
        for url in kept:
            page = await context.new_page()
            await page.goto(url)
            await expect(page.get_by_role("heading", level=1)).to_be_visible()
            for button in await page.get_by_role("button").all():
                assert await button.get_attribute("aria-pressed") != "true"
            assert "blue door" not in await page.content()
            assert "/chat/" not in page.url
    assert visits(rosa) == 1


@pytest.mark.whole_browser
async def test_the_link_leaves_the_address_before_anything_is_shown(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await open_room()
    shown: list[str] = []
    # Called by the page for its first paint, before any frame of it can be seen.
    await room.page.expose_function("painted", lambda address: shown.append(address))
    await room.page.add_init_script("requestAnimationFrame(() => painted(location.href))")

    await room.page.goto(f"{room.base_url}/card/#{rosa.card.link}")
    await expect(room.page.get_by_text(FIRST)).to_be_visible()

    assert shown == [f"{room.base_url}/card/"]
    assert room.page.url == f"{room.base_url}/card/"
    assert not any(rosa.card.link in url for url in room.requests)
    assert visits(rosa) == 0


async def test_pressing_the_two_pictures_with_the_keyboard_alone_comes_in(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await open_room(viewport={"width": 320, "height": 640})
    await room.page.goto(f"{room.base_url}/card/#{rosa.card.link}")
    await expect(room.page.get_by_label("Type the code from your card")).to_be_hidden()
    first, second = (
        room.page.get_by_role("button", name=picture.capitalize(), exact=True)
        for picture in rosa.card.pictures
    )

    await first.press("Enter")
    await expect(room.page.get_by_role("status")).to_have_text(SECOND)
    await expect(first).to_have_attribute("aria-pressed", "true")
    await first.press("Space")
    await expect(room.page.get_by_role("status")).to_have_text(FIRST)
    await first.press("Space")
    await second.press("Enter")

    await room.ready()
    assert visits(rosa) == 1


async def test_wrong_pictures_are_told_kindly_and_can_be_mended(open_room: OpenRoom, people: People) -> None:
    rosa = people.rosa
    room = await open_room()
    await room.page.goto(f"{room.base_url}/card/#{rosa.card.link}")
    await room.press_pictures(*reversed(rosa.card.pictures))
    await expect(room.page.get_by_role("alert")).to_have_text(WRONG)
    assert rosa.card.link not in room.page.url

    await room.press_pictures(*rosa.card.pictures)

    await room.ready()
    # The browser tells its console of every 403.
    room.complaints.clear()


async def test_another_card_in_the_same_tab_is_asked_for_its_own_pictures(
    open_room: OpenRoom, people: People
) -> None:
    rosa, otto = people.rosa, people.otto
    room = await open_room()
    await room.page.goto(f"{room.base_url}/card/#{rosa.card.link}")
    await expect(room.page.get_by_text(FIRST)).to_be_visible()

    await room.enter_by_card(otto)

    assert (visits(rosa), visits(otto)) == (0, 1)


async def test_a_card_of_an_earlier_release_leaves_the_address_too(open_room: OpenRoom) -> None:
    room = await open_room()

    await room.go_to("/card/abcdef-ghjkmn-pqrstu/")

    await expect(room.page.get_by_text("This card or code does not work here.")).to_be_visible()
    assert room.page.url == f"{room.base_url}/card/"
    room.complaints.clear()


@pytest.mark.parametrize("colours", ["active", *mark_long(["none"])])
async def test_a_pressed_picture_has_an_edge_of_its_own_and_still_shows_where_the_focus_is(
    open_room: OpenRoom, people: People, colours: str
) -> None:
    room = await open_room(forced_colors=colours)
    await room.page.goto(f"{room.base_url}/card/#{people.rosa.card.link}")
    button = room.page.get_by_role("button", name="Apple", exact=True)
    edge = "(node) => getComputedStyle(node).borderWidth"
    outline = "(node) => getComputedStyle(node).outlineStyle"
    plain = await button.evaluate(edge)

    await button.press("Enter")

    assert await button.evaluate(edge) != plain
    assert await button.evaluate(outline) == "solid"
    await room.page.keyboard.press("Tab")
    assert await button.evaluate(outline) == "none"
    assert await button.evaluate(edge) != plain


async def test_the_pictures_are_for_everyone(open_room: OpenRoom, people: People) -> None:
    room = await open_room()
    await room.page.goto(f"{room.base_url}/card/#{people.rosa.card.link}")
    await expect(room.page.get_by_text(FIRST)).to_be_visible()

    for width in (320, 1280):
        await room.page.set_viewport_size({"width": width, "height": 800})
        await room.page.emulate_media(color_scheme="light")
        assert await find_violations(room.page) == [], width
        await room.page.emulate_media(color_scheme="dark")
        assert await find_violations(room.page) == [], width
        assert await room.page.evaluate("document.documentElement.scrollWidth") <= width


async def test_what_to_press_next_stays_in_sight_on_a_phone(open_room: OpenRoom, people: People) -> None:
    room = await open_room(viewport={"width": 320, "height": 568})
    await room.page.goto(f"{room.base_url}/card/#{people.rosa.card.link}")

    await room.page.get_by_role("button", name="Tree", exact=True).click()

    assert await room.page.evaluate("() => scrollY") > 0
    await expect(room.page.get_by_text(SECOND)).to_be_in_viewport(ratio=1)
