"""Where a person cannot come in, and what the service says when it cannot answer; and the chat in Spanish."""

import re

from django.template.loader import render_to_string
from playwright.async_api import expect

from companion.models import Site
from ops.people.machines import withdraw_machine
from personas.load import DEFAULT, load
from tests.pages.access.checks import Scene
from tests.pages.access.stage import EARLIER, Stage, State, open_scripted, scene_of
from tests.pages.machine_screens import open_machine
from tests.pages.room import Room
from tests.people import Person, in_database


async def card_site_closed(stage: Stage) -> Scene:
    rosa = stage.people.rosa
    in_database(lambda: Site.objects.filter(pk=stage.people.site.pk).update(is_open=False))
    room = await stage.open_room()
    return await _refuse(room, rosa, "The chat is closed")


async def card_of_another_place(stage: Stage) -> Scene:
    room, _ = await open_machine(stage.open_room, stage.people)
    return await _refuse(room, stage.people.otto, "This card is for another place.")


async def card_for_machines_alone(stage: Stage) -> Scene:
    in_database(lambda: Site.objects.filter(pk=stage.people.site.pk).update(cards_only_on_machines=True))
    room = await stage.open_room()
    return await _refuse(room, stage.people.rosa, "This card works on the screens at your place.")


async def too_many_tries(stage: Stage) -> Scene:
    # No wrong card is counted here: the service of these tests has no Valkey.
    lines = load(DEFAULT).lines
    page = render_to_string("companion/card_unknown.html", {"line": lines.too_many_tries, "lines": lines})
    return await _stand_in(stage, page, status=429, line="That did not work too many times from here.")


async def machine_withdrawn(stage: Stage) -> Scene:
    room, machine = await open_machine(stage.open_room, stage.people)
    in_database(lambda: withdraw_machine(machine.pk, sites={stage.people.site.pk}, by="Sam"))
    await expect(room.page.get_by_text("The chat is not on this screen any more.")).to_be_visible()
    return Scene(page=room.page)


async def something_went_wrong(stage: Stage) -> Scene:
    page = render_to_string("500.html")
    return await _stand_in(stage, page, status=500, line="The chat is not working now.")


async def in_spanish(stage: Stage) -> Scene:
    room, script = await open_scripted(stage, *EARLIER, language="es")
    await expect(room.page.get_by_role("button", name="Ya terminé")).to_be_visible()
    return scene_of(room, script)


async def _stand_in(stage: Stage, page: str, *, status: int, line: str) -> Scene:
    room = await stage.open_room()
    await room.page.route(
        "**/card/", lambda route: route.fulfill(status=status, body=page, content_type="text/html")
    )
    await room.go_to("/card/")
    await expect(room.page.get_by_text(line)).to_be_visible()
    room.complaints.clear()
    return Scene(page=room.page)


async def _refuse(room: Room, person: Person, line: str) -> Scene:
    await room.go_to("/card/")
    await room.page.get_by_label("Type the code").fill(person.card.code)
    await room.page.get_by_role("button", name="Come in").click()
    await expect(room.page.get_by_text(re.compile(line))).to_be_visible()
    room.complaints.clear()
    return Scene(page=room.page)


WAY_IN_STATES: list[State] = [
    card_site_closed,
    card_of_another_place,
    card_for_machines_alone,
    too_many_tries,
    machine_withdrawn,
    something_went_wrong,
    in_spanish,
]
