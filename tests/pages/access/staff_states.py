"""The states of the staff's pages."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone
from playwright.async_api import Browser, expect

from companion.models import Flag
from companion.needs import store
from tests.machines import add_machine, offer
from tests.page_socket import Page as Socket
from tests.pages.access.checks import Scene
from tests.pages.conftest import OpenRoom
from tests.pages.staff_screens import OpenDesk, Screen
from tests.people import People, Person, in_database
from tests.processes import Web
from tests.staff import store_flag

NAME = "Rosalinda-Maximiliana Lind-Oberhuber"
WORDS = "x" * 200 + " What helps against fear?"


@dataclass(frozen=True, kw_only=True)
class StaffStage:
    """What a state needs: screens of staff, people, and the service."""

    browser: Browser
    open_desk: OpenDesk
    open_room: OpenRoom
    people: People
    service: Web


StaffState = Callable[[StaffStage], Awaitable[Scene]]


async def people_with_a_ringing_flag(stage: StaffStage) -> Scene:
    rosa = stage.people.add_participant(NAME)
    store_flag(rosa)
    screen = await (await stage.open_desk()).go("/ops/people/")
    await expect(screen.ringing).to_contain_text(NAME)

    async def arrive() -> None:
        ada = stage.people.add_participant("Ada")
        ada.sign_in(stage.service.url)
        await expect(screen.page.get_by_role("link", name="Ada")).to_be_visible()

    return _scene(screen, arrive)


async def conversation(stage: StaffStage) -> Scene:
    rosa = await _talked(stage)
    store_flag(rosa)
    screen = await (await stage.open_desk()).open(rosa)
    owned = store_flag(rosa, tier="amber", kind="not_eating", source="message")
    accepted = {
        "state": "accepted",
        "owner": screen.user.pk,
        "owner_name": screen.user.get_username(),
        "accepted_at": timezone.now(),
    }
    in_database(lambda: Flag.objects.filter(pk=owned.pk).update(**accepted))
    await screen.open(rosa)
    await expect(screen.page.locator('[data-item="flag"]')).to_have_count(2)
    return _scene(screen)


async def taken_over(stage: StaffStage) -> Scene:
    screen = await (await stage.open_desk()).open(await _talked(stage))
    await screen.take_over()
    return _scene(screen)


async def pausing(stage: StaffStage) -> Scene:
    screen = await (await stage.open_desk()).open(await _talked(stage))
    await screen.button("Pause").click()
    await expect(screen.page.get_by_label("Why")).to_be_focused()
    return _scene(screen)


async def shift(stage: StaffStage) -> Scene:
    store_flag(stage.people.add_participant(NAME))
    return _scene(await (await stage.open_desk()).go("/ops/shift/"))


async def times_of_flags(stage: StaffStage) -> Scene:
    store_flag(stage.people.add_participant(NAME))
    scene = _scene(await (await stage.open_desk()).go("/ops/shift/times/"))
    await scene.page.set_viewport_size({"width": 320, "height": 568})
    wide = (
        "Array.from(document.querySelectorAll('.narrows'), (table) => table.scrollWidth - table.clientWidth)"
    )
    found = await scene.page.evaluate(wide)
    assert found == [0, 0], found
    return scene


async def machines(stage: StaffStage) -> Scene:
    _, machine = add_machine(
        stage.service, stage.people.site, "A machine with a rather long name, left of the door"
    )
    offer(machine, stage.people.add_participant(NAME))
    return _scene(await (await stage.open_desk()).go("/ops/machines/"))


async def one_machine(stage: StaffStage) -> Scene:
    _, machine = add_machine(
        stage.service, stage.people.site, "A machine with a rather long name, left of the door"
    )
    offer(machine, stage.people.add_participant(NAME))
    return _scene(await (await stage.open_desk()).go(f"/ops/machines/{machine.pk}/"))


async def cards(stage: StaffStage) -> Scene:
    stage.people.add_participant(NAME)
    return _scene(await (await stage.open_desk()).go("/ops/cards/"))


async def print_sheet(stage: StaffStage) -> Scene:
    stage.people.add_participant(NAME)
    screen = await (await stage.open_desk()).go("/ops/cards/")
    await screen.page.get_by_label(NAME, exact=True).check()
    await screen.button("Make the sheet").click()
    await expect(screen.page.locator(".card")).to_have_count(1)
    return _scene(screen)


async def needs_of_a_person(stage: StaffStage) -> Scene:
    rosa = stage.people.add_participant(NAME)
    return _scene(await (await stage.open_desk()).go(f"/ops/people/{rosa.conversation.pk}/needs/"))


async def needs_to_review(stage: StaffStage) -> Scene:
    rosa = stage.people.add_participant(NAME)
    yesterday = timezone.localdate() - timedelta(days=1)
    in_database(lambda: store.change_needs(rosa.row.pk, {"type_percent": 150}, review_by=yesterday))
    screen = await (await stage.open_desk()).go("/ops/needs/")
    await expect(screen.page.get_by_role("link", name=NAME)).to_be_visible()
    return _scene(screen)


async def record(stage: StaffStage) -> Scene:
    rosa = stage.people.add_participant(NAME)
    screen = await (await stage.open_desk()).open(rosa)
    return _scene(await screen.go("/ops/record/"))


async def dashboard(stage: StaffStage) -> Scene:
    return _scene(await (await stage.open_desk()).go("/ops/"))


async def turns(stage: StaffStage) -> Scene:
    await _talked(stage)
    return _scene(await (await stage.open_desk()).go("/ops/turns/?show=answered"))


async def a_turn(stage: StaffStage) -> Scene:
    rosa = await _talked(stage)
    return _scene(await (await stage.open_desk()).go(f"/ops/turns/{rosa.turns()[0].pk}/"))


async def lanes(stage: StaffStage) -> Scene:
    return _scene(await (await stage.open_desk()).go("/ops/routing/"))


async def sign_in(stage: StaffStage) -> Scene:
    room = await stage.open_room()
    await room.go_to("/staff/sign-in/")
    await room.page.get_by_label("Name").fill("nobody")
    await room.page.get_by_label("Password").fill("wrong")
    await room.page.get_by_role("button", name="Sign in").click()
    await expect(room.page.get_by_role("alert")).to_contain_text("Not signed in.")
    room.complaints.clear()
    return Scene(page=room.page, is_participants=False)


def _scene(screen: Screen, arrive: Callable[[], Awaitable[object]] | None = None) -> Scene:
    return Scene(page=screen.page, arrive=arrive, is_participants=False)


async def _talked(stage: StaffStage) -> Person:
    """A participant who has asked something and got an answer."""
    rosa = stage.people.add_participant(NAME)
    async with Socket(stage.service.socket_url, rosa.sign_in(stage.service.url)) as socket:
        await socket.say(WORDS)
        await socket.ending()
    return rosa


STAFF_STATES: list[StaffState] = [
    people_with_a_ringing_flag,
    conversation,
    taken_over,
    pausing,
    shift,
    times_of_flags,
    machines,
    one_machine,
    cards,
    print_sheet,
    needs_of_a_person,
    needs_to_review,
    record,
    dashboard,
    turns,
    a_turn,
    lanes,
    sign_in,
]
