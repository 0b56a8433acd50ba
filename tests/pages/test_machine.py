"""A shared machine in a browser: it is paired, it waits, it asks, with touch and with keys alone (A1, A3)."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Route, expect

from companion.machines.models import Machine, PairingCode
from ops.people.machines import withdraw_machine
from tests.machines import add_machine, last_visit, live_visits, offer, pass_time, read_machine, read_offer
from tests.pages.axe import find_violations
from tests.pages.conftest import OpenRoom
from tests.pages.machine_screens import no, open_machine, question, yes
from tests.pages.room import Room
from tests.pages.staff_screens import DESKTOP, PHONE, OpenDesk
from tests.people import People, in_database
from tests.processes import Web

PHONE_ROOM: dict[str, Any] = {"viewport": {"width": 320, "height": 568}}
WITHIN_MS = 1_000


def withdraw(machine: Machine, people: People) -> None:
    in_database(lambda: withdraw_machine(machine.pk, sites={people.site.pk}, by="Sam"))


async def test_a_screen_is_paired_by_its_code_and_asks_within_a_second(
    open_room: OpenRoom, people: People
) -> None:
    room, machine = await open_machine(open_room, people)
    rosa = people.add_participant("Rosa Lind")
    await expect(room.page.locator("[data-no-script]")).to_have_count(0)

    offer(machine, rosa)

    await expect(question(room.page)).to_have_text("Hello Rosa. Is this you?", timeout=WITHIN_MS)
    await yes(room.page).click()
    await room.ready()
    assert [visit.way for visit in live_visits(rosa)] == ["staff"]


async def test_a_screen_whose_code_was_replaced_shows_another_one_within_seconds(open_room: OpenRoom) -> None:
    room = await open_room()
    await room.go_to("/machine/")
    shown = room.page.locator("[data-code-text]")
    await expect(shown).to_have_text(re.compile(r"^\w{4}-\w{4}$"))
    replaced = await shown.inner_text()

    in_database(lambda: PairingCode.objects.filter(machine=None).delete())

    await expect(shown).not_to_have_text(replaced)
    assert in_database(lambda: PairingCode.objects.filter(machine=None).count()) == 1


async def test_no_says_that_the_staff_can_see_it_and_the_page_waits_again(
    open_room: OpenRoom, people: People
) -> None:
    room, machine = await open_machine(open_room, people)
    rosa = people.rosa
    asked = offer(machine, rosa)

    await no(room.page).click()

    await expect(room.page.locator("[data-news]")).to_contain_text("The staff can see that this is not you.")
    await expect(room.page.get_by_text("You can talk here.")).to_be_visible()
    assert "Rosa" not in await room.whole_text()
    assert read_offer(asked).answer == "no"


async def test_the_question_is_answered_with_keys_alone_and_the_focus_stays_where_it_was(
    open_room: OpenRoom, people: People
) -> None:
    room, machine = await open_machine(open_room, people)
    rosa = people.rosa
    offer(machine, rosa)
    await expect(question(room.page)).to_be_visible()
    assert await room.page.evaluate("document.activeElement === document.body")

    # After the strip, which is the first on every page.
    button = yes(room.page)
    for _ in range(await room.page.locator("[data-strip] :is(a, button)").count() + 1):
        await room.page.keyboard.press("Tab")
    await expect(button).to_be_focused()
    await expect(button).to_be_enabled()
    await room.page.keyboard.press("Enter")

    await room.ready()
    assert len(live_visits(rosa)) == 1


async def test_the_question_is_spoken_once(open_room: OpenRoom, people: People) -> None:
    room, machine = await open_machine(open_room, people)
    await room.page.evaluate(
        """() => { window.heard = [];
        new MutationObserver((all) => all.forEach((one) => one.addedNodes.forEach((node) =>
          window.heard.push(node.textContent)))).observe(
          document.querySelector("[data-status]"), { childList: true, subtree: true }); }"""
    )

    offer(machine, people.rosa)

    await room.until("window.heard.length > 0")
    await expect(question(room.page)).to_be_visible()
    assert await room.page.evaluate("window.heard") == ["Hello Rosa. Is this you?"]


async def test_an_offer_that_is_taken_back_leaves_no_name(
    open_room: OpenRoom, open_desk: OpenDesk, people: People
) -> None:
    room, machine = await open_machine(open_room, people)
    rosa = people.rosa
    sam = await (await open_desk(**PHONE)).go(f"/ops/machines/{machine.pk}/")
    await sam.button("Rosa").click()
    await expect(question(room.page)).to_be_visible()

    await sam.button("Take it back").click()

    await expect(room.page.get_by_text("You can talk here.")).to_be_visible()
    assert "Rosa" not in await room.whole_text()
    assert live_visits(rosa) == []


async def test_a_press_that_was_meant_for_the_question_before_answers_no_other(
    open_room: OpenRoom, people: People
) -> None:
    room, machine = await open_machine(open_room, people)
    rosa, tomas = people.rosa, people.add_participant("Tomas")
    offer(machine, rosa)
    await expect(question(room.page)).to_have_text("Hello Rosa. Is this you?")
    # Rosa's finger comes down as the question becomes that of Tomas.
    await room.page.evaluate(
        """() => { const yes = document.querySelector("[data-asks] [value=yes]");
        new MutationObserver(() => { yes.click(); window.pressed = getComputedStyle(yes).color; }).observe(
          document.querySelector("[data-question-text]"), { childList: true }); }"""
    )

    asked = offer(machine, tomas)

    await room.until("window.pressed")
    button = yes(room.page)
    await expect(button).to_be_enabled()
    await expect(question(room.page)).to_have_text("Hello Tomas. Is this you?")
    assert read_offer(asked).answer == "" and live_visits(tomas) == []
    # It could be read all the time.
    assert await button.evaluate("(button) => getComputedStyle(button).color === window.pressed")
    await button.click()
    await room.ready()
    assert len(live_visits(tomas)) == 1


async def test_a_question_that_comes_while_an_answer_is_under_way_is_asked_afterwards(
    open_room: OpenRoom, people: People
) -> None:
    room, machine = await open_machine(open_room, people)
    tomas = people.add_participant("Tomas")
    offer(machine, people.rosa)
    is_stored, has_arrived = asyncio.Event(), asyncio.Event()

    def hear(frame: str | bytes) -> None:
        if "Tomas" in str(frame):
            has_arrived.set()

    async def answer_late(route: Route) -> None:
        told = await route.fetch()
        is_stored.set()
        await has_arrived.wait()
        await route.fulfill(response=told)

    room.page.on("websocket", lambda socket: socket.on("framereceived", hear))
    await room.page.reload()
    await room.page.route("**/machine/answer/", answer_late)
    async with asyncio.timeout(20):
        await no(room.page).click()
        await is_stored.wait()
        offer(machine, tomas)
        await has_arrived.wait()

    await expect(question(room.page)).to_have_text("Hello Tomas. Is this you?")
    await expect(yes(room.page)).to_be_enabled()


async def test_a_name_with_signs_of_a_pattern_is_asked_for_as_it_is(
    open_room: OpenRoom, people: People
) -> None:
    room, machine = await open_machine(open_room, people)

    offer(machine, people.add_participant("$&Ana"))

    await expect(question(room.page)).to_have_text("Hello $&Ana. Is this you?")


async def test_the_desk_says_what_the_person_answered_without_a_reload(
    open_room: OpenRoom, open_desk: OpenDesk, people: People
) -> None:
    room, _ = await open_machine(open_room, people)
    rosa = people.rosa
    sam = await (await open_desk()).open(rosa)
    await sam.page.get_by_label("Open a visit on").select_option(label="Front room (Waits)")
    await sam.button("Ask there").click()
    offers = sam.page.locator("[data-offer-list]")
    await expect(offers).to_contain_text("Rosa is asked: Is this you?")

    await no(room.page).click()
    await expect(offers).to_contain_text("was asked; the person there said no", timeout=3_000)

    await sam.button("Ask there").click()
    await yes(room.page).click()
    await room.ready()
    await expect(offers).to_contain_text("said yes, and is here", timeout=3_000)
    await sam.go("/ops/people/")
    await expect(sam.page.locator("[data-people]")).to_contain_text("Front room")
    await sam.page.get_by_label("Find by name or machine").fill("front")
    await expect(sam.page.locator("[data-people] [data-person]")).to_have_count(1)


async def test_coming_in_elsewhere_empties_the_earlier_page_and_says_so_on_both(
    open_room: OpenRoom, people: People
) -> None:
    front, _ = await open_machine(open_room, people)
    back, machine = await open_machine(open_room, people, "Back room")
    rosa = people.rosa
    await front.enter(rosa)
    await front.ask("My secret is a blue door.")

    offer(machine, rosa)
    await yes(back.page).click()

    await expect(front.page.get_by_text("Your words are not on this screen any more.")).to_be_visible(
        timeout=3_000
    )
    assert "blue door" not in await front.whole_text()
    await back.ready()
    await expect(back.page.locator("[data-moved-here]")).to_have_text(
        "Your chat has moved here. It is closed on the other screen."
    )
    await expect(back.turns).to_have_count(1)


async def test_after_a_goodbye_a_machine_asks_for_the_next_person(
    open_room: OpenRoom, people: People
) -> None:
    room, machine = await open_machine(open_room, people)
    await room.enter(people.rosa)
    await room.finished.click()
    await room.page.wait_for_url("**/finished/")

    offer(machine, people.add_participant("Tomas"))

    await expect(question(room.page)).to_have_text("Hello Tomas. Is this you?")


async def test_back_after_a_visit_asks_nothing_and_shows_nothing(open_room: OpenRoom, people: People) -> None:
    room, machine = await open_machine(open_room, people)
    rosa = people.rosa
    offer(machine, rosa)
    await yes(room.page).click()
    await room.ready()
    await room.ask("My secret is a blue door.")
    await room.finished.click()
    await room.page.wait_for_url("**/finished/")

    await room.back()

    await expect(room.page.locator("body")).to_be_visible()
    text = await room.whole_text()
    assert "blue door" not in text and "Hello Rosa" not in text
    assert live_visits(rosa) == []


async def test_a_withdrawn_machine_says_so_calmly_in_the_waiting_page_and_in_a_visit(
    open_room: OpenRoom, people: People
) -> None:
    waiting, first = await open_machine(open_room, people)
    room, second = await open_machine(open_room, people, "Back room")
    rosa = people.rosa
    await room.enter(rosa)

    for machine in (first, second):
        withdraw(machine, people)

    await expect(waiting.page.get_by_text("The chat is not on this screen any more.")).to_be_visible()
    await expect(room.box).to_have_count(0)
    assert last_visit(rosa).end_reason == "withdrawn"


async def test_a_waiting_page_that_cannot_reach_the_service_says_so_and_comes_back(
    open_room: OpenRoom, people: People, door: Any
) -> None:
    room, machine = await open_machine(open_room, people)
    other: Room = await open_room(door.url)
    for cookie in await room.context.cookies():
        await other.context.add_cookies([{"name": cookie["name"], "value": cookie["value"], "url": door.url}])
    pass_time(machine)
    await room.page.close()
    await other.go_to("/machine/")
    await expect(other.page.get_by_text("You can talk here.")).to_be_visible()

    await door.shut()
    await expect(other.page.get_by_text("The chat is not working now.")).to_be_visible()
    await door.open()
    offer(read_machine(machine.pk), people.rosa)

    await expect(question(other.page)).to_be_visible(timeout=20_000)
    await expect(other.page.get_by_text("The chat is not working now.")).to_have_count(0)
    other.complaints.clear()


# `access/test_every_state.py` is the short form: each of these pages, with short names.
@pytest.mark.long
async def test_no_page_of_a_machine_has_a_fault_that_axe_finds(
    open_room: OpenRoom, people: People, tmp_path: Path
) -> None:
    for profile in (PHONE_ROOM, DESKTOP):
        room: Room = await open_room(**profile)
        await room.go_to("/machine/")
        await expect(room.page.locator("[data-shown]")).to_be_visible()
        await is_sound(room, "pair")
        room, machine = await open_machine(
            open_room, people, f"Machine {profile['viewport']['width']}", **profile
        )
        await is_sound(room, "waits")
        offer(machine, people.add_participant("Rosalinda-Maximiliana Lind"))
        await expect(question(room.page)).to_be_visible()
        await is_sound(room, "asks")
        await no(room.page).click()
        await expect(room.page.locator("[data-news]")).not_to_be_empty()
        await is_sound(room, "no")


async def is_sound(room: Room, state: str) -> None:
    """axe finds nothing, nothing is wider than the screen, and targets are 44 px."""
    assert await find_violations(room.page) == [], state
    assert await room.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), state
    sizes = await room.page.evaluate(
        """() => [...document.querySelectorAll("button, a, summary, input:not([type=hidden])")]
          .filter((one) => one.checkVisibility()).map((one) => one.getBoundingClientRect().height)"""
    )
    assert all(size >= 44 for size in sizes), (state, sizes)


@pytest.mark.long
@pytest.mark.parametrize("profile", [PHONE, DESKTOP], ids=["phone", "desktop"])
async def test_the_staffs_pages_about_machines_have_no_fault_that_axe_finds(
    open_desk: OpenDesk, service: Web, people: People, profile: dict[str, Any]
) -> None:
    _, machine = add_machine(service, people.site, "A machine with a rather long name, left of the door")
    rosa = people.add_participant("Rosalinda-Maximiliana Lind-Oberhuber")
    offer(machine, rosa)
    sam = await open_desk(**profile)
    for path in (
        "/ops/machines/",
        f"/ops/machines/{machine.pk}/",
        "/ops/cards/",
        "/ops/people/",
        f"/ops/people/{rosa.conversation.pk}/",
    ):
        await sam.go(path)
        assert await find_violations(sam.page) == [], path
        assert await sam.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), path
