"""Without a sign of life a page warns, then locks: its words leave it, and come back to the same person alone (A2)."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.async_api import Page, Route, expect

from companion.models import Draft, Flag, Site, Visit
from tests.pages.answers import ANSWERS
from tests.pages.axe import find_violations
from tests.pages.conftest import OpenRoom
from tests.pages.room import Room
from tests.pages.script import Script, snapshot
from tests.patience import until
from tests.people import People, Person, in_database
from tests.processes import Rehearsal

SECRET = "My secret is a blue door."
WARNING = "Are you still there? Press any key or touch the screen to stay. Nothing will be lost."
LOCKED = "Your words are not on this screen any more. Your card brings you back to them."
LOCKING = "Your words are not on this screen any more. Your card brings them back."
NOT_LOCKED = "This page is not locked yet. It keeps trying. You can ask the staff to help."
IDLE_S = 6


def shorten(people: People, idle_s: int = IDLE_S) -> None:
    """Seconds, where a site may have minutes: the page warns after half of so short a time."""
    in_database(lambda: Site.objects.filter(pk=people.site.pk).update(idle_s=idle_s))


def last_visit(person: Person) -> Visit:
    return in_database(lambda: Visit.objects.filter(participant=person.row).latest("opened_at"))


def let_time_pass(person: Person) -> None:
    """As if there had been no sign of life, and no page that could lock itself."""
    past = timezone.now() - timedelta(seconds=1)
    in_database(lambda: Visit.objects.filter(participant=person.row).update(locks_at=past))


async def lock(room: Room, person: Person) -> None:
    let_time_pass(person)
    await room.page.wait_for_url("**/locked/", timeout=5_000)


class Idling(Script):
    """A script whose `hello` names the idle time, on a page whose clock the test turns."""

    def __init__(self, person: Person, *, after_s: int, left_s: int | None = None) -> None:
        super().__init__(person.conversation.pk, [snapshot(1)])
        self.idle = {"after_s": after_s, "left_s": after_s if left_s is None else left_s}

        self.is_over = False

    def tell(self, *frames: dict[str, Any]) -> None:
        for frame in frames:
            if frame["type"] != "hello":
                super().tell(frame)
            elif self.is_over:
                super().tell({"type": "over", "reason": "idle"})
            else:
                super().tell({**frame, "idle": self.idle})


async def stop_clock(room: Room) -> None:
    """From here on the page's clock goes on only when it is turned."""
    await room.page.clock.pause_at(await room.page.evaluate("Date.now() / 1_000") + 1)


async def turn_clock(room: Room, seconds: int) -> None:
    for _ in range(seconds):
        await room.page.clock.run_for(1_000)


async def test_it_warns_half_a_minute_ahead_and_any_key_stays_more_than_ten_times(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await open_room()
    await room.page.clock.install()
    script = Idling(rosa, after_s=60)
    await script.stand_behind(room, rosa)
    await room.box.focus()
    await stop_clock(room)

    for time in range(11):
        await turn_clock(room, 24)
        await expect(room.idle_warning).to_be_hidden()
        await turn_clock(room, 6)
        await expect(room.idle_warning).to_be_visible()
        await expect(room.box).to_be_focused()
        # 20 s of the warning go by, and a key that types nothing is enough.
        await turn_clock(room, 22)
        await room.page.keyboard.press(["Shift", "ArrowLeft", "PageUp"][time % 3])
        await turn_clock(room, 2)
        await expect(room.idle_warning).to_be_hidden()
    assert (await room.read_announcements()).count(WARNING) == 11
    assert len(script.of("active")) >= 11

    await turn_clock(room, 62)
    await room.page.wait_for_url("**/locked/")


async def test_a_press_of_the_button_of_the_warning_stays_and_leads_back_to_the_box(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await open_room()
    await room.page.clock.install()
    await Idling(rosa, after_s=60, left_s=30).stand_behind(room, rosa)
    await turn_clock(room, 2)
    button = room.idle_warning.get_by_role("button", name="I am still here")
    await expect(button).to_be_visible()
    assert await find_violations(room.page) == []

    # As a screen reader presses it, without a key that the page would see.
    await button.focus()
    await button.click()
    await turn_clock(room, 2)

    await expect(room.idle_warning).to_be_hidden()
    await expect(room.box).to_be_focused()


@pytest.mark.parametrize("leap_s", [3_600, -3_600])
async def test_a_clock_that_jumps_neither_locks_a_page_in_use_nor_keeps_an_idle_one_open(
    open_room: OpenRoom, people: People, leap_s: int
) -> None:
    rosa = people.rosa
    room = await open_room()
    await room.page.clock.install()
    script = Idling(rosa, after_s=60)
    await script.stand_behind(room, rosa)
    await expect(room.turns).to_have_count(1)
    await turn_clock(room, 10)

    await room.page.evaluate(
        "(leap) => { const now = Date.now; Date.now = () => now.call(Date) + leap; }", leap_s * 1_000
    )
    script.idle["left_s"] = 50
    await turn_clock(room, 2)

    if leap_s > 0:
        # The device may have slept, so the service was asked.
        await script.until_connected(2)
    await expect(room.page.get_by_text("Answer 1.")).to_be_visible()
    await turn_clock(room, 15)
    await expect(room.idle_warning).to_be_hidden()
    await turn_clock(room, 40)
    await room.page.wait_for_url("**/locked/")


async def test_a_page_that_slept_shows_nothing_until_the_service_has_said_that_it_may(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await open_room()
    await room.page.clock.install()
    script = Idling(rosa, after_s=60)
    await script.stand_behind(room, rosa)
    await expect(room.turns).to_have_count(1)
    await room.box.fill("A draft about a blue door.")
    let_time_pass(rosa)
    script.is_over = True

    await room.page.clock.fast_forward(3_600_000)
    await script.until_connected(2)

    text = await room.whole_text()
    assert "Answer 1." not in text and "blue door" not in text
    await script.close(4401)
    await expect(room.page.get_by_text(LOCKED)).to_be_visible()


async def test_a_frozen_page_holds_no_words(open_room: OpenRoom, people: People) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    await room.ask(SECRET)
    await room.box.fill("A draft about a blue door.")

    await room.page.evaluate("document.dispatchEvent(new Event('freeze'))")
    assert "blue door" not in await room.whole_text()
    await room.page.evaluate("document.dispatchEvent(new Event('resume'))")

    await expect(room.turns).to_have_count(1)
    await expect(room.box).to_have_value("A draft about a blue door.")


async def test_an_idle_page_locks_itself_and_its_words_come_back_to_the_card(
    open_room: OpenRoom, people: People
) -> None:
    shorten(people)
    rosa, words = people.rosa, "\N{BLUE BOOK}\N{DOOR} " * 1_333 + "x"
    room = await (await open_room()).enter(rosa)
    await room.ask(SECRET)
    await room.box.fill(words)

    await room.page.wait_for_url("**/locked/", timeout=15_000)

    assert SECRET not in await room.whole_text() and "\N{DOOR}" not in await room.whole_text()
    await expect(room.page.get_by_text(LOCKED)).to_be_visible()
    assert await find_violations(room.page) == []
    assert (last_visit(rosa).locked_at is None, last_visit(rosa).ended_at) == (False, None)
    for path, status in (("/chat/turns/?after=0", 401), ("/chat/draft/", 401)):
        answer = await room.context.request.get(f"{room.base_url}{path}")
        assert answer.status == status and (await answer.json())["reason"] == "idle"
    await room.page.get_by_label("Type the code from your card").fill(rosa.card.code)
    await room.page.keyboard.press("Enter")
    await room.ready()

    await expect(room.page.get_by_text(SECRET)).to_be_visible()
    await expect(room.box).to_have_value(words)
    assert in_database(lambda: Visit.objects.filter(participant=rosa.row).count()) == 1


async def test_the_service_locks_a_page_that_does_not_lock_itself_and_every_tab_of_it(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    await room.ask(SECRET)
    second = await room.another_tab()
    elsewhere = await open_room(storage_state=await room.context.storage_state())
    await elsewhere.go("/chat/")
    await expect(elsewhere.page.get_by_text(SECRET)).to_be_visible()
    tabs = (room, second, elsewhere)

    let_time_pass(rosa)

    for tab in tabs:
        await expect(tab.page.get_by_text(SECRET)).to_have_count(0, timeout=3_000)
        await tab.page.wait_for_url("**/locked/")
        assert "blue door" not in await tab.whole_text()
    await room.page.reload()
    await expect(room.page.get_by_text(LOCKED)).to_be_visible()
    await room.go_to("/chat/")
    await expect(room.page.get_by_text(LOCKED)).to_be_visible()


async def test_a_key_in_one_tab_keeps_the_others(open_room: OpenRoom, people: People) -> None:
    shorten(people)
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    await room.ask(SECRET)
    second = await room.another_tab()
    await expect(second.turns).to_have_count(1)

    for _ in range(3):
        await expect(second.idle_warning).to_be_visible(timeout=IDLE_S * 1_000)
        await room.page.keyboard.press("Shift")
        await expect(second.idle_warning).to_be_hidden()

    await expect(second.page.get_by_text(SECRET)).to_be_visible()
    await room.page.wait_for_url("**/locked/", timeout=15_000)
    await second.page.wait_for_url("**/locked/")


async def test_a_lock_that_the_service_does_not_confirm_is_not_believed(
    open_room: OpenRoom, people: People
) -> None:
    shorten(people)
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    await room.ask(SECRET)
    await room.page.evaluate("() => { let tries = 0; Math.random = () => Math.max(0.05, 0.5 ** tries++); }")
    given: list[str] = []

    async def stand_in(route: Route) -> None:
        given.append(list(ANSWERS)[min(len(given), len(ANSWERS) - 1)])
        answer = ANSWERS[given[-1]]
        await (route.abort() if answer is None else route.fulfill(**answer))

    await room.context.route("**/chat/lock/", stand_in)

    await expect(room.page.get_by_text(LOCKING)).to_be_visible(timeout=15_000)
    assert "blue door" not in await room.whole_text()
    await until(lambda: set(given) == set(ANSWERS), within_s=30)
    await expect(room.page.get_by_text(NOT_LOCKED)).to_be_visible()
    # The address is that of a page without words, should it be loaded again.
    assert room.page.url.endswith("/closing/")
    await room.context.unroute("**/chat/lock/")
    await room.page.wait_for_url("**/locked/", timeout=20_000)
    room.complaints.clear()


async def test_a_reply_under_way_goes_on_behind_the_lock_and_is_there_afterwards(
    open_room: OpenRoom, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    rehearsal.inject({"pace_ms": 100, "words": 80}, times=1)
    turn = await room.say(SECRET)
    await expect(room.reply(turn)).not_to_be_empty()

    await lock(room, rosa)
    await until(lambda: [one.state for one in rosa.turns()] == ["complete"], within_s=40)
    await press_pictures(room.page, rosa)
    await room.ready()

    shown = await room.text_of(room.reply(room.turns.first))
    assert shown == rosa.turns()[0].reply.strip()


async def press_pictures(page: Page, person: Person) -> None:
    for picture in person.card.pictures:
        await page.get_by_role("button", name=picture.capitalize(), exact=True).click()


async def test_three_wrong_choices_of_pictures_leave_the_code_alone(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    await lock(room, rosa)

    for _ in range(3):
        first, second = rosa.card.pictures
        for picture in (second, first):
            await room.page.get_by_role("button", name=picture.capitalize(), exact=True).click()
        await expect(room.page.get_by_role("alert")).to_be_visible()
    await expect(room.page.get_by_role("button", name="Apple", exact=True)).to_have_count(0)
    answer = await room.context.request.post(
        f"{room.base_url}/locked/",
        form=dict(zip(("first", "second"), rosa.card.pictures, strict=True)),
        headers={"Origin": room.base_url},
    )
    assert answer.status == 403

    await room.page.get_by_label("Type the code from your card").fill(rosa.card.code)
    await room.page.keyboard.press("Enter")
    await room.ready()
    # The card itself is not barred: another machine takes its pictures.
    await (await open_room()).enter_by_card(rosa)
    room.complaints.clear()


async def test_the_next_person_at_a_locked_page_sees_nothing_and_ends_the_visit(
    open_room: OpenRoom, people: People
) -> None:
    rosa, otto = people.rosa, people.otto
    room = await (await open_room()).enter(rosa)
    await room.ask(SECRET)
    await room.box.fill("A draft about a blue door.")
    await lock(room, rosa)
    visit = last_visit(rosa)

    await room.page.get_by_label("Type the code from your card").fill(otto.card.code)
    await room.page.keyboard.press("Enter")
    await room.ready()

    assert "blue door" not in await room.whole_text()
    assert in_database(lambda: Visit.objects.get(pk=visit.pk)).end_reason == "idle"
    # Kept for its writer.
    assert in_database(lambda: Draft.objects.get(conversation=rosa.conversation)).text
    assert in_database(lambda: Draft.objects.filter(conversation=otto.conversation).count()) == 0


async def test_someone_else_ends_the_locked_visit_and_the_words_stay_with_their_writer(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    await room.box.fill("A draft about a blue door.")
    await lock(room, rosa)

    await room.page.get_by_role("button", name="I am someone else").click()
    await room.page.wait_for_url("**/card/")

    assert last_visit(rosa).end_reason == "idle"
    await room.back()
    assert "blue door" not in await room.whole_text()
    other = await (await open_room()).enter(rosa)
    await expect(other.box).to_have_value("A draft about a blue door.")


async def test_a_person_can_be_asked_for_from_the_locked_page(open_room: OpenRoom, people: People) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    await lock(room, rosa)

    await room.talk_to_a_person.click()
    await expect(room.page.get_by_role("heading", name="Talk to a person")).to_be_attached()

    flags = in_database(
        lambda: list(Flag.objects.filter(conversation=rosa.conversation).values_list("tier", "kind"))
    )
    assert flags == [("red", "help")]
    await room.page.get_by_role("link", name="Go to the chat").click()
    await expect(room.page.get_by_text(LOCKED)).to_be_visible()


async def test_a_message_into_a_locked_visit_is_not_taken(open_room: OpenRoom, people: People) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    # The sweep has not come round: the row alone says that its time is over.
    let_time_pass(rosa)
    await room.page.evaluate(
        """(key) => new Promise((resolve) => {
          const socket = new WebSocket(location.href.replace(/^http/, "ws").replace("/chat/", "/ws/chat/"));
          socket.onclose = ({ code }) => resolve(code);
          socket.onopen = () => socket.send(JSON.stringify({ type: "say", key, text: "Hello." }));
        })""",
        str(uuid.uuid4()),
    )

    assert rosa.turns() == []


async def test_the_rule_is_told_at_the_start(open_room: OpenRoom, people: People) -> None:
    rule = "If you stop for a while, your words leave this screen. Your card brings them back."
    room = await open_room()
    await room.go_to("/card/")
    await expect(room.page.get_by_text(rule)).to_be_visible()

    await room.enter(people.rosa)

    await expect(room.page.get_by_text(rule)).to_be_visible()
