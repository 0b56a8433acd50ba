"""Without a sign of life a page warns, then locks, and is believed locked only when the service says so (A2)."""

import pytest
from playwright.async_api import expect

from companion.models import Visit
from tests.long_forms import mark_long
from tests.machines import last_visit
from tests.pages.answers import WrongAnswers
from tests.pages.axe import find_violations
from tests.pages.conftest import OpenRoom
from tests.pages.idling import IDLE_S, LOCKED, let_time_pass, open_idling, shorten, turn_clock
from tests.pages.secret import DRAFT, SECRET, tell_secret
from tests.people import People, in_database

WARNING = "Are you still there? Press any key or touch the screen to stay. Nothing will be lost."
LOCKING = "Your words are not on this screen any more. Your card brings them back."
NOT_LOCKED = "This page is not locked yet. It keeps trying. You can ask the staff to help."


async def test_it_warns_half_a_minute_ahead_and_any_key_stays_more_than_ten_times(
    open_room: OpenRoom, people: People
) -> None:
    room, script = await open_idling(open_room, people.rosa)
    await room.box.focus()
    await room.stop_clock()

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
    room, _ = await open_idling(open_room, people.rosa, left_s=30)
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


@pytest.mark.parametrize("leap_s", [3_600, *mark_long([-3_600])])
async def test_a_clock_that_jumps_neither_locks_a_page_in_use_nor_keeps_an_idle_one_open(
    open_room: OpenRoom, people: People, leap_s: int
) -> None:
    room, script = await open_idling(open_room, people.rosa)
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


@pytest.mark.whole_browser
async def test_a_page_that_slept_shows_nothing_until_the_service_has_said_that_it_may(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room, script = await open_idling(open_room, rosa)
    await expect(room.turns).to_have_count(1)
    await room.box.fill(DRAFT)
    let_time_pass(rosa)
    script.is_over = True

    await room.page.clock.fast_forward(3_600_000)
    await script.until_connected(2)

    text = await room.whole_text()
    assert "Answer 1." not in text and "blue door" not in text
    await script.close(4401)
    await expect(room.page.get_by_text(LOCKED)).to_be_visible()


@pytest.mark.whole_browser
async def test_a_frozen_page_holds_no_words(open_room: OpenRoom, people: People) -> None:
    room = await tell_secret(await open_room(), people.rosa)

    await room.page.evaluate("document.dispatchEvent(new Event('freeze'))")
    assert "blue door" not in await room.whole_text()
    await room.page.evaluate("document.dispatchEvent(new Event('resume'))")

    await expect(room.turns).to_have_count(1)
    await expect(room.box).to_have_value(DRAFT)


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
    await room.type_code(rosa)
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
    answers = WrongAnswers("/chat/lock/")
    await answers.give(room)

    await expect(room.page.get_by_text(LOCKING)).to_be_visible(timeout=15_000)
    assert "blue door" not in await room.whole_text()
    await answers.until_all_given(room)
    await expect(room.page.get_by_text(NOT_LOCKED)).to_be_visible()
    # The address is that of a page without words, should it be loaded again.
    assert room.page.url.endswith("/closing/")
    await answers.leave(room)
    await room.page.wait_for_url("**/locked/", timeout=20_000)
    room.complaints.clear()


async def test_the_rule_is_told_at_the_start(open_room: OpenRoom, people: People) -> None:
    rule = "If you stop for a while, your words leave this screen. Your card brings them back."
    room = await open_room()
    await room.go_to("/card/")
    await expect(room.page.get_by_text(rule)).to_be_visible()

    await room.enter(people.rosa)

    await expect(room.page.get_by_text(rule)).to_be_visible()
