"""Where a person cannot come in, and what the service says when it cannot answer; and the chat in Spanish."""

import re

from django.template.loader import render_to_string
from playwright.async_api import expect

from companion.models import Site
from ops.people.machines import withdraw_machine
from tests.pages.access.checks import Scene
from tests.pages.access.stage import EARLIER, Stage, State, open_scripted, scene_of
from tests.pages.machine_screens import open_machine
from tests.pages.room import Room
from tests.people import Person, in_database

TRIES = 500
"""More wrong cards than one machine may try, also if some are not counted because the counter was slow to answer."""


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
    # Counted for the machine, so that no other state is limited by it.
    room, _ = await open_machine(stage.open_room, stage.people)
    for _ in range(TRIES):
        answer = await room.context.request.post(
            f"{room.base_url}/card/", form={"code": "abc"}, headers={"Origin": room.base_url}
        )
        if answer.status == 429:
            break
    return await _refuse(room, None, "That did not work too many times from here.")


async def machine_withdrawn(stage: Stage) -> Scene:
    room, machine = await open_machine(stage.open_room, stage.people)
    in_database(lambda: withdraw_machine(machine.pk, sites={stage.people.site.pk}, by="Sam"))
    await expect(room.page.get_by_text("The chat is not on this screen any more.")).to_be_visible()
    return Scene(page=room.page)


async def something_went_wrong(stage: Stage) -> Scene:
    room = await stage.open_room()
    page = render_to_string("500.html")
    await room.page.route(
        "**/card/", lambda route: route.fulfill(status=500, body=page, content_type="text/html")
    )
    await room.go_to("/card/")
    await expect(room.page.get_by_text("The chat is not working now.")).to_be_visible()
    room.complaints.clear()
    return Scene(page=room.page)


async def in_spanish(stage: Stage) -> Scene:
    room, script = await open_scripted(stage, *EARLIER, language="es")
    await expect(room.page.get_by_role("button", name="Ya terminé")).to_be_visible()
    return scene_of(room, script)


async def _refuse(room: Room, person: Person | None, line: str) -> Scene:
    await room.go_to("/card/")
    await room.page.get_by_label("Type the code").fill(person.card.code if person else "abc")
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
