"""The screen of a shared machine in a browser."""

import re
from typing import Any

from playwright.async_api import Locator, Page, expect

from companion.machines.models import Machine
from companion.machines.pairing import PairingRefusal, pair
from tests.pages.conftest import OpenRoom
from tests.pages.room import Room
from tests.people import People, in_database


async def open_machine(
    open_room: OpenRoom, people: People, name: str = "Front room", **profile: Any
) -> tuple[Room, Machine]:
    """A tab on the waiting page of a machine, paired by the code on its screen."""
    room = await open_room(**profile)
    await room.go_to("/machine/")
    shown = room.page.locator("[data-code-text]")
    await expect(shown).to_have_text(re.compile(r"^\w{4}-\w{4}$"))
    code = await shown.inner_text()
    machine = in_database(lambda: pair(code, site=people.site.pk, name=name, by="Sam"))
    assert not isinstance(machine, PairingRefusal), machine
    await expect(room.page.get_by_text("You can talk here.")).to_be_visible()
    return room, machine


def question(page: Page) -> Locator:
    """What the machine asks."""
    return page.locator("[data-question-text]")


def yes(page: Page) -> Locator:
    """The button that answers it with *yes*."""
    return page.get_by_role("button", name="Yes, this is me")


def no(page: Page) -> Locator:
    """The button that answers it with *no*."""
    return page.get_by_role("button", name="No, this is not me")
