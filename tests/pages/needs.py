"""Needs of a participant in the page tests."""

from typing import Any

from playwright.async_api import expect

from companion.needs import store
from companion.needs.models import Needs
from tests.pages.room import Room
from tests.people import Person, in_database

LOOK = "() => ({ ...document.documentElement.dataset })"


def set_needs(person: Person, **fields: Any) -> None:
    """Record needs of a participant, as staff do."""
    in_database(lambda: store.change_needs(person.row.pk, fields, by="sam"))


def get_needs(person: Person) -> Needs | None:
    """What is recorded of a participant."""
    return in_database(lambda: store.find_needs(person.row.pk))


async def open_choices(room: Room) -> None:
    """Go to the page of choices by the link that every page has."""
    await room.page.get_by_role("link", name="Make this easier").click()
    await expect(room.page.get_by_role("heading", name="Make this easier")).to_be_visible()
    # A press before the scripts are there sends the form itself.
    await room.page.wait_for_load_state("load")


async def choose(room: Room, name: str) -> None:
    """Press a choice and wait until it is stored."""
    button = room.page.get_by_role("button", name=name, exact=True)
    await button.click()
    await expect(button).to_have_attribute("aria-pressed", "true")
