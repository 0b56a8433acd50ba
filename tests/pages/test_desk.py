"""The desk in a browser, on a desktop and a phone: the list of people, and every page in every look (S4, S10)."""

import asyncio
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.async_api import Browser, expect

from companion.models import Flag
from ops.models import Supervision
from tests.desk_socket import sign_staff_in
from tests.pages.staff_screens import (
    PHONE,
    OpenDesk,
)
from tests.pages.test_staff_turns import LOOKS, MARKUP, is_sound, open_staff_page
from tests.people import People, in_database
from tests.processes import Rehearsal, Web
from tests.staff import play_broken_turn, store_flag


async def test_a_pause_says_who_and_why_and_is_resumed_on_the_shift_page(
    open_desk: OpenDesk, people: People
) -> None:
    rosa = people.rosa
    sam = await (await open_desk()).open(rosa)
    await sam.button("Pause").click()
    await expect(sam.page.get_by_label(re.compile("^Why"))).to_be_focused()
    await sam.page.keyboard.type("Rosa asked for rest")
    await sam.page.keyboard.press("Enter")
    await expect(sam.page.locator("[data-standing]")).to_have_text("Robin is paused.")
    await expect(sam.button("Resume for this person")).to_be_visible()

    await sam.go("/ops/shift/")
    pauses = sam.page.get_by_role("region", name="Pauses in force")
    await expect(pauses).to_contain_text("Rosa asked for rest")
    await pauses.get_by_role("button", name="Resume").click()
    await expect(pauses).to_contain_text("Resumed.")


async def test_the_list_of_people_moves_neither_focus_nor_scroll(
    open_desk: OpenDesk, service: Web, people: People
) -> None:
    for name in ("Bea", "Cleo", "Dora", "Emma", "Fay", "Gwen"):
        people.add_participant(name).sign_in(service.url)
    sam = await (await open_desk(**PHONE)).go("/ops/people/")
    link = sam.page.get_by_role("link", name="Fay")
    await link.focus()
    top = await sam.page.evaluate("scrollY")

    people.add_participant("Ada").sign_in(service.url)

    await expect(sam.page.get_by_role("link", name="Ada")).to_be_visible()
    await expect(link).to_be_focused()
    assert abs(await sam.page.evaluate("scrollY") - top) < 200


async def test_a_withdrawn_right_empties_the_page_and_the_bell(open_desk: OpenDesk, people: People) -> None:
    rosa = people.rosa
    store_flag(rosa)
    sam = await (await open_desk()).open(rosa)
    await expect(sam.ringing).to_contain_text("Rosa")

    in_database(lambda: Supervision.objects.filter(user=sam.user).delete())

    await expect(sam.page.get_by_text("Rosa")).to_have_count(0)
    await expect(sam.page.get_by_role("heading", level=1)).to_be_visible()
    await expect(sam.page.get_by_text("Rosa")).to_have_count(0)


async def test_without_scripts_the_desk_is_a_list_with_links(
    browser: Browser, service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa, sam = people.rosa, people.add_sam()
    turn = await play_broken_turn(service, rosa, rehearsal)
    store_flag(rosa)
    cookie = await asyncio.to_thread(sign_staff_in, service, people, sam)
    async with open_staff_page(browser, service, java_script_enabled=False) as page:
        await page.context.add_cookies([{"name": "companion", "value": cookie, "url": service.url}])
        await page.goto("/ops/people/")
        await expect(page.locator("[data-bell-flags]")).to_contain_text("Wants to talk to a person")
        await page.locator("[data-people]").get_by_role("link", name="Rosa").click()
        await expect(page.get_by_text(turn.reply, exact=True)).to_be_visible()
        await expect(page.get_by_text("needs scripts")).to_be_visible()
        await expect(page.get_by_role("button", name="Take over")).to_have_count(0)


# `access/test_every_state.py` is the short form: the same pages in light and dark.
@pytest.mark.long
@pytest.mark.parametrize("look", LOOKS)
async def test_every_page_of_the_desk_is_sound_in_every_look(
    open_desk: OpenDesk, service: Web, people: People, rehearsal: Rehearsal, look: dict[str, Any]
) -> None:
    rosa = people.rosa
    turn = await play_broken_turn(service, rosa, rehearsal, question=MARKUP)
    sam = await open_desk(**look)
    store_flag(rosa, turn=turn.pk)
    owned = store_flag(rosa, turn=turn.pk, tier="amber", kind="not_eating", source="message")
    in_database(lambda: Flag.objects.filter(pk=owned.pk).update(**accepted_by(sam.user)))
    await sam.go("/ops/people/")
    await expect(sam.page.locator("[data-people] [data-person]")).to_have_count(1)
    await is_sound(sam.page)
    await sam.open(rosa)
    await expect(sam.page.get_by_text(MARKUP, exact=True)).to_have_count(1)
    await is_sound(sam.page)
    await sam.take_over()
    await is_sound(sam.page)
    await sam.button("Hand back").click()
    await sam.button("Pause").click()
    await is_sound(sam.page)
    for path in ("/ops/shift/", "/ops/record/?who=&person=Rosa"):
        await sam.go(path)
        await is_sound(sam.page)


def accepted_by(user: User) -> dict[str, Any]:
    return {
        "state": "accepted",
        "owner": user.pk,
        "owner_name": user.get_username(),
        "accepted_at": timezone.now(),
    }
