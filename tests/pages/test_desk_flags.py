"""Flags in a browser: they ring, they are accepted and handed over, and stay plain on a small screen (S2)."""

import re
from typing import Any

import pytest
from playwright.async_api import Locator, expect

from companion.models import Flag
from tests.long_forms import mark_long
from tests.page_socket import Page as Socket
from tests.pages.conftest import OpenRoom
from tests.pages.staff_screens import DANGER, PHONE, SIDEWAYS, ZOOMED, OpenDesk
from tests.people import People, in_database
from tests.processes import Web
from tests.staff import store_flag


async def test_a_worrying_sentence_rings_on_two_screens_and_one_person_steps_in_and_hands_back(
    open_desk: OpenDesk, open_room: OpenRoom, people: People
) -> None:
    rosa, ada = people.rosa, people.add_participant("Ada")
    sam, tess = await open_desk("sam"), await open_desk("tess", **PHONE)
    await sam.go("/ops/people/")
    await tess.go("/ops/routing/")
    plain = await sam.page.locator("link[rel=icon]").get_attribute("href")
    await sam.button("Switch the sound on").click()
    await expect(sam.page.locator("[data-sound-says]")).to_have_text("The sound is on.")
    rooms = [await (await open_room()).enter(person) for person in (rosa, ada)]

    await rooms[0].say(DANGER)

    for screen in (sam, tess):
        await expect(screen.ringing).to_contain_text("Rosa")
        await expect(screen.page).to_have_title(re.compile(r"^\(1\) RINGS – "))
        assert await screen.page.locator("link[rel=icon]").get_attribute("href") != plain
    # The list says it too, and no list holds the words.
    await expect(sam.page.locator("[data-person]", has_text="Rosa")).to_contain_text("Red flag")
    assert "kill" not in await sam.page.content()
    flag = in_database(lambda: Flag.objects.get(participant=rosa.row.pk, tier="red"))
    assert flag.seen_at is not None

    await tess.fold.tap()
    await tess.button("Accept").tap()

    await expect(sam.page.locator("[data-bell-flags]")).to_contain_text("Accepted by tess")
    for screen in (sam, tess):
        await expect(screen.ringing).to_have_count(0)
        await expect(screen.page).to_have_title(re.compile(r"^(?!\().* – Staff$"))
    await sam.page.locator("[data-people]").get_by_role("link", name="Rosa").click()
    await tess.open(rosa)
    # The words are behind one press.
    shown = tess.page.get_by_text(DANGER)
    await expect(shown).to_be_hidden()
    await tess.page.get_by_text("Show what Rosa wrote").tap()
    await expect(shown).to_be_visible()

    await tess.take_over()
    await tess.words.fill("Good day, Rosa.")
    await tess.words.press("Enter")

    await expect(tess.words).to_have_value("")
    await expect(sam.page.get_by_text("Good day, Rosa.")).to_be_visible()
    await expect(sam.page.locator("[data-standing]")).to_have_text(re.compile("^tess.* has taken over"))
    await expect(sam.button("Take over")).to_be_hidden()
    # The other person is not concerned.
    await rooms[1].ask("Good morning.")

    await tess.button("Hand back").tap()

    await expect(tess.button("Take over")).to_be_focused()
    await expect(sam.page.get_by_text("handed back")).to_be_visible()
    await expect(sam.button("Take over")).to_be_visible()


async def test_a_flag_is_accepted_noted_and_closed_with_the_keyboard_alone(
    open_desk: OpenDesk, people: People
) -> None:
    rosa = people.rosa
    flag = store_flag(rosa)
    sam = await (await open_desk()).open(rosa)
    item = sam.page.locator(f'[data-item="flag"][data-id="{flag.pk}"]')
    keys = sam.page.keyboard

    await item.get_by_role("button", name="Accept").focus()
    await keys.press("Enter")
    await expect(item).to_contain_text("Accepted by sam")
    # The focus is at the flag, whose form comes next.
    await expect(item).to_be_focused()
    await keys.press("Tab")
    await keys.type("She slept badly.")
    await keys.press("Tab")
    await keys.press("Enter")
    await expect(item.locator("q")).to_have_text("She slept badly.")
    await keys.press("Shift+Tab")
    await keys.type("She had tea.")
    await keys.press("Tab")
    await keys.press("Tab")
    await keys.press("ArrowDown")
    await keys.press("Tab")
    await keys.press("Enter")

    await expect(item).to_contain_text("Closed: No concern")
    stored = in_database(lambda: Flag.objects.get(pk=flag.pk))
    assert (stored.state, stored.outcome) == ("closed", "no_concern")


async def test_a_flag_is_handed_over_and_stays_with_its_owner_until_it_is_taken_on_by_name(
    open_desk: OpenDesk, people: People
) -> None:
    sam, tess = await open_desk("sam"), await open_desk("tess")
    flag = store_flag(people.rosa)
    await sam.go("/ops/shift/")
    await sam.page.locator("main").get_by_role("button", name="Accept").click()
    await expect(sam.page.get_by_text("It is yours.")).to_be_focused()
    await sam.go("/ops/shift/")
    await sam.page.get_by_label("Hand over to").select_option(str(tess.user.pk))
    await sam.button("Hand over").click()
    await expect(sam.page.get_by_text("It stays yours until")).to_be_visible()
    assert in_database(lambda: Flag.objects.get(pk=flag.pk)).owner == sam.user.pk

    await tess.go("/ops/shift/")
    await tess.page.get_by_role("button", name=re.compile("^Take it on as tess")).click()

    await expect(tess.page.get_by_text("It is yours now.")).to_be_visible()
    assert in_database(lambda: Flag.objects.get(pk=flag.pk)).owner == tess.user.pk


@pytest.mark.parametrize(
    "small", [SIDEWAYS, *mark_long([PHONE, ZOOMED])], ids=["sideways", "phone", "zoomed"]
)
async def test_on_a_small_screen_the_bell_is_one_line_that_a_press_opens(
    open_desk: OpenDesk, people: People, small: dict[str, Any]
) -> None:
    rosa = people.rosa
    store_flag(rosa)
    store_flag(people.add_participant("Ada"))
    store_flag(rosa, tier="amber", kind="not-eating", source="message")
    sam = await (await open_desk(**small)).open(rosa)
    accept = sam.page.locator("[data-bell]").get_by_role("button", name="Accept")
    await expect(sam.fold).to_have_text(re.compile(r"^\s*3 flags, 2 red\s+silent\s*$"))
    assert await height(sam.page.locator("[data-bell]")) < 80
    says, trouble = (
        await top(sam.page.locator("[data-bell-says]")),
        await top(sam.page.locator("[data-bell-trouble]")),
    )
    assert abs(says - trouble) < 10
    # It stays in sight.
    await sam.page.mouse.wheel(0, 2_000)
    await expect(sam.fold).to_be_in_viewport(ratio=1)
    await expect(accept.first).to_be_hidden()

    await sam.fold.press("Enter")

    await expect(sam.fold).to_have_attribute("aria-expanded", "true")
    await accept.first.click()
    await expect(sam.fold).to_have_text(re.compile(r"^\s*2 flags, 1 red\s+silent\s*$"))
    await expect(sam.button("Switch the sound on")).to_be_visible()
    assert await height(sam.page.locator("[data-bell]")) <= small["viewport"]["height"]
    await sam.page.keyboard.press("Escape")
    await expect(sam.fold).to_be_focused()
    await expect(accept.first).to_be_hidden()


async def top(place: Locator) -> float:
    box = await place.bounding_box()
    assert box is not None
    return box["y"]


async def height(place: Locator) -> float:
    box = await place.bounding_box()
    assert box is not None
    return box["height"]


async def test_a_wide_screen_shows_every_flag_without_a_press(open_desk: OpenDesk, people: People) -> None:
    store_flag(people.rosa)
    sam = await (await open_desk()).go("/ops/routing/")
    await expect(sam.page.locator("[data-bell]").get_by_role("button", name="Accept")).to_be_visible()
    await expect(sam.fold).to_be_hidden()


async def test_flags_and_speakers_have_plain_names(open_desk: OpenDesk, service: Web, people: People) -> None:
    rosa = people.rosa
    async with Socket(service.socket_url, rosa.sign_in(service.url)) as socket:
        await socket.say(DANGER)
        await socket.ending()
    sam = await (await open_desk()).open(rosa)
    await expect(sam.ringing).to_contain_text("Red flag: Speaks of ending their life")
    await expect(sam.page.locator('[data-item="flag"]')).to_contain_text("Speaks of ending their life")
    await expect(sam.page.get_by_role("heading", name="Robin", exact=True)).to_have_count(1)
    await expect(sam.button("Let Robin speak again")).to_be_visible()
