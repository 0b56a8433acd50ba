"""Needs follow the person: chosen on one page, kept, and on every page before its first paint (A6)."""

from typing import Any

from playwright.async_api import expect

from companion.needs import store
from companion.needs.models import Needs
from tests.pages.conftest import OpenRoom
from tests.pages.room import Room
from tests.people import People, Person, in_database

LOOK = "() => ({ ...document.documentElement.dataset })"


def set_needs(person: Person, **fields: Any) -> None:
    in_database(lambda: store.change_needs(person.row.pk, fields))


def get_needs(person: Person) -> Needs | None:
    return in_database(lambda: store.find_needs(person.row.pk))


async def choose(room: Room, name: str) -> None:
    await room.page.get_by_role("button", name=name, exact=True).click()


async def open_choices(room: Room) -> None:
    await room.page.get_by_role("link", name="Make this easier").click()
    await expect(room.page.get_by_role("heading", name="Make this easier")).to_be_visible()


async def test_a_choice_is_kept_at_once_seen_at_once_and_can_be_changed_back(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    await open_choices(room)

    await choose(room, "Biggest")
    await expect(room.page.get_by_role("button", name="Biggest", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    assert (await room.page.evaluate(LOOK))["type"] == "200"
    needs = get_needs(rosa)
    assert needs is not None and needs.type_percent == 200 and needs.set_by == ""
    await choose(room, "Change it back")
    await expect(room.page.get_by_text("It is as it was before.")).to_be_visible()

    assert await room.page.evaluate(LOOK) == {}
    assert get_needs(rosa) is None
