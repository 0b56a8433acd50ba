"""*Talk to a person*: one press, always in the same place, and the page says only what is true (S3)."""

import asyncio
from typing import Any

import pytest
from playwright.async_api import Route, expect

from companion.models import Flag
from tests.long_forms import mark_long
from tests.pages.conftest import OpenRoom
from tests.pages.room import Room
from tests.pages.script import JOINS_LINE, Script, entry, person, said, snapshot
from tests.people import People, Person, in_database

TOLD = "Staff here can see that you want to talk. You can keep writing here."
NOT_SENT = "I could not reach the staff from here. Please tell someone near you. This page keeps trying."
WORDS = "You can talk to the staff here."
HELP: dict[str, Any] = {"type": "help", "id": 7, "line": TOLD}


class HelpPosts:
    """The page's requests to `/help/`, which a test answers, or does not."""

    def __init__(self) -> None:
        self.count = 0
        self.answer: dict[str, Any] | None = None
        self._changed = asyncio.Event()

    @classmethod
    async def of(cls, room: Room) -> "HelpPosts":
        posts = cls()
        await room.page.route("**/help/", posts._handle)
        return posts

    async def until(self, count: int) -> None:
        async with asyncio.timeout(20):
            while self.count < count:
                self._changed.clear()
                await self._changed.wait()

    async def _handle(self, route: Route) -> None:
        self.count += 1
        self._changed.set()
        if self.answer is None:
            await route.abort()
        else:
            await route.fulfill(**self.answer)


@pytest.mark.parametrize("size", [(320, 568), *mark_long([(1280, 800)])], ids=["320px", "1280px"])
async def test_it_stands_in_the_same_place_whatever_happens(
    open_room: OpenRoom, people: People, size: tuple[int, int]
) -> None:
    room = await open_room(viewport={"width": size[0], "height": size[1]})
    rosa = people.rosa
    script = await Script.behind(room, rosa)
    posts = await HelpPosts.of(room)
    first = await room.talk_to_a_person.bounding_box()
    assert first is not None and first["height"] >= 44 and first["width"] >= 44
    await room.say("Hello.")
    script.say(1, "I am here. " * 200)
    long: list[dict[str, Any]] = [
        {"type": "paused", "turn": 1, "seq": 1, "line": "I have to stop for a little while."},
        {"type": "accepted", "key": snapshot(2)["key"], "turn": 2},
        {"type": "waiting", "turn": 2, "line": "I will come to you in a moment."},
        {"type": "safety", "turn": 2, "line": "Thank you for telling me. " * 6},
        {"type": "accepted", "key": snapshot(3)["key"], "turn": 3},
        {"type": "held", "turn": 3, "line": "Your words are safe."},
        person(1, "joins"),
        {"type": "person_writing", "line": "Sam is writing."},
        said(2, "I am here now. " * 30),
        person(3, "leaves"),
        {"type": "problem", "code": "too_long", "line": "That is too much."},
    ]

    for frame in long:
        script.tell(frame)
        await room.page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        assert await room.talk_to_a_person.bounding_box() == first, frame["type"]
    await script.close(4403)
    await expect(room.away).to_be_visible()
    await room.talk_to_a_person.click()
    await posts.until(1)
    await expect(room.help_line).to_be_visible()
    assert await room.talk_to_a_person.bounding_box() == first
    room.complaints.clear()


@pytest.mark.parametrize("path", ["/finished/", *mark_long(["/card/", "/card/abc/", "/nothing/here/"])])
async def test_where_it_is_not_known_who_asks_the_same_place_says_whom_to_talk_to(
    open_room: OpenRoom, people: People, path: str
) -> None:
    room = await open_room(viewport={"width": 320, "height": 568})
    await Script.behind(room, people.rosa)
    place = await room.page.locator("[data-strip]").bounding_box()
    await room.context.clear_cookies()

    await room.go_to(path)

    strip = room.page.locator("[data-strip]")
    await expect(strip).to_contain_text(WORDS)
    now = await strip.bounding_box()
    assert place is not None and now is not None
    assert {side: now[side] for side in ("x", "y", "width")} == {
        side: place[side] for side in ("x", "y", "width")
    }
    room.complaints.clear()


async def test_a_press_is_sent_once_and_its_answer_is_shown_and_heard_once(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    await room.box.fill("I am typing")

    await room.talk_to_a_person.dblclick()
    await script.until_sent("help")
    script.tell(HELP, HELP)

    await expect(room.entries).to_have_text([TOLD])
    await room.hears(TOLD)
    await expect(room.help_line).to_be_hidden()
    await expect(room.box).to_have_value("I am typing")
    assert len(script.of("help")) == 1


async def test_it_is_the_first_stop_of_the_keyboard_after_the_quick_exit_and_keeps_the_focus(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa, [snapshot(number) for number in range(1, 20)])

    await room.page.keyboard.press("Tab")
    await expect(room.leave_now).to_be_focused()
    await room.page.keyboard.press("Tab")
    await expect(room.talk_to_a_person).to_be_focused()
    await room.page.keyboard.press("Enter")
    await script.until_sent("help")
    script.tell(HELP)

    await expect(room.entries).to_be_in_viewport()
    await expect(room.talk_to_a_person).to_be_focused()


async def test_without_a_socket_it_goes_over_http_and_is_heard_once(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    posts = await HelpPosts.of(room)
    posts.answer = {"json": {"line": TOLD}}
    await script.close(4403)

    await room.talk_to_a_person.click()
    await expect(room.help_line).to_have_text(TOLD)
    await room.until("(line) => window.heard.includes(line)", TOLD)
    # The socket is back, and the stored line comes with it.
    script.turns.append(entry(7, "help", TOLD))
    await room.page.evaluate("dispatchEvent(new Event('online'))")

    await expect(room.entries).to_have_text([TOLD])
    await expect(room.help_line).to_be_hidden()
    assert (await room.read_announcements()).count(TOLD) == 1
    assert posts.count == 1


async def test_where_nothing_answers_the_page_says_so_keeps_trying_and_says_when_it_arrived(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    await room.page.clock.install()
    script = await Script.behind(room, people.rosa)
    posts = await HelpPosts.of(room)

    await room.talk_to_a_person.click()
    await script.until_sent("help")
    await expect(room.help_line).to_be_hidden()
    await room.page.clock.run_for(4_000)
    await expect(room.help_line).to_have_text(NOT_SENT)
    for tries in range(1, 4):
        await room.page.clock.run_for(12_000)
        await posts.until(tries)
    await expect(room.help_line).to_have_text(NOT_SENT)
    posts.answer = {"json": {"line": TOLD}}
    await room.page.clock.run_for(30_000)

    await expect(room.help_line).to_have_text(TOLD)
    await room.page.clock.run_for(2_000)
    assert [line for line in await room.read_announcements() if line in (NOT_SENT, TOLD)] == [NOT_SENT, TOLD]
    room.complaints.clear()


@pytest.mark.parametrize(
    "answer",
    [
        {"status": 503, "json": {"problem": "not_stored"}},
        {"status": 200, "body": "<p>Welcome to this network</p>", "content_type": "text/html"},
        {"status": 302, "headers": {"Location": "/finished/"}},
        {"status": 200, "json": {"line": 3}},
        {"status": 502, "json": {"line": "Bad gateway"}},
    ],
    ids=["503", "a page of a network", "302", "no line", "a line with a failure"],
)
async def test_only_the_line_of_the_service_counts_as_an_answer(
    open_room: OpenRoom, people: People, answer: dict[str, Any]
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    posts = await HelpPosts.of(room)
    posts.answer = answer
    await script.close(4403)

    await room.talk_to_a_person.click()
    await posts.until(2)

    await expect(room.help_line).to_have_text(NOT_SENT)
    room.complaints.clear()


async def test_an_answer_of_another_day_is_not_taken_for_this_one(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa, [entry(3, "help", TOLD)])
    posts = await HelpPosts.of(room)
    await script.close(4403)
    await room.talk_to_a_person.click()
    await posts.until(1)

    await room.page.evaluate("dispatchEvent(new Event('online'))")
    await script.until_connected(2)
    await script.until_sent("help")
    script.tell(HELP)

    await expect(room.entries).to_have_count(2)
    room.complaints.clear()


async def test_a_service_of_the_last_release_is_asked_over_http(open_room: OpenRoom, people: People) -> None:
    room = await open_room()
    rosa = people.rosa
    script = Script(rosa.conversation.pk, [])
    script.who = {}
    await script.stand_behind(room, rosa)
    posts = await HelpPosts.of(room)
    posts.answer = {"json": {"line": TOLD}}

    await room.talk_to_a_person.click()

    await expect(room.help_line).to_have_text(TOLD)
    assert script.of("help") == []


async def test_a_press_in_a_visit_that_has_ended_leads_to_the_end(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    posts = await HelpPosts.of(room)
    posts.answer = {"status": 401, "json": {"problem": "signed_out"}}
    await script.close(4403)

    await room.talk_to_a_person.click()

    await expect(room.page.get_by_text("You are signed out.")).to_be_visible()
    await expect(room.page.locator("[data-strip]")).to_contain_text(WORDS)
    await expect(room.talk_to_a_person).to_have_count(0)
    room.complaints.clear()


async def test_the_line_over_the_conversation_moves_no_word(open_room: OpenRoom, people: People) -> None:
    room = await open_room(viewport={"width": 320, "height": 568})
    script = await Script.behind(room, people.rosa, [snapshot(number) for number in range(1, 20)])
    await HelpPosts.of(room)
    await room.page.evaluate("scrollTo(0, 900)")
    words = room.turns.nth(8)
    before = await words.bounding_box()
    await script.close(4403)

    await room.talk_to_a_person.click()
    await expect(room.help_line).to_be_visible()

    after = await words.bounding_box()
    assert before is not None and after is not None and abs(after["y"] - before["y"]) < 2
    room.complaints.clear()


async def test_joining_ends_no_press_that_is_under_way(open_room: OpenRoom, people: People) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    await room.talk_to_a_person.click()
    await script.until_sent("help")
    form = room.page.locator("[data-help]")
    await expect(form).to_have_attribute("aria-busy", "true")

    script.tell(person(5, "joins", JOINS_LINE))
    await expect(room.entries).to_have_count(1)
    await expect(form).to_have_attribute("aria-busy", "true")
    script.tell(HELP)

    await expect(form).not_to_have_attribute("aria-busy", "true")


UNTOLD_OUTSIDE = (
    "You asked for a person. Please tell someone near you, or call 0808 157 0123 or text 07700 900123."
)
"""On a page without a box to write in."""
UNTOLD = f"{UNTOLD_OUTSIDE} You can keep writing here."


def flags_of(person: Person) -> list[tuple[str, str, str, int]]:
    rows = Flag.objects.filter(conversation=person.conversation)
    return in_database(lambda: list(rows.values_list("tier", "kind", "source", "count")))


async def test_a_press_raises_one_flag_and_says_that_no_screen_has_shown_it(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)

    await room.talk_to_a_person.click()
    await expect(room.entries).to_have_text([UNTOLD])
    await room.talk_to_a_person.click()

    assert flags_of(rosa) == [("red", "help", "button", 1)]
    # It is stored: another tab shows it at the same place.
    await expect((await room.another_tab()).entries).to_have_text([UNTOLD])


async def test_without_a_socket_the_service_raises_the_same_flag(open_room: OpenRoom, people: People) -> None:
    rosa = people.rosa
    room = await open_room()
    await room.page.route_web_socket("**/ws/chat/", lambda socket: socket.close())
    await room.open_card(rosa)
    # The scripts run.
    await expect(room.send).to_be_enabled()

    await room.talk_to_a_person.click()

    await expect(room.help_line).to_have_text(UNTOLD)
    assert flags_of(rosa) == [("red", "help", "button", 1)]
    room.complaints.clear()


async def test_without_scripts_the_press_leads_to_a_page_with_the_line(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await open_room(java_script_enabled=False)
    await room.go_to("/card/")
    await room.type_code(rosa)

    await room.talk_to_a_person.click()

    await expect(room.page.locator("main")).to_contain_text(UNTOLD_OUTSIDE)
    await expect(room.page.locator("main")).not_to_contain_text("keep writing")
    assert flags_of(rosa) == [("red", "help", "button", 1)]
    await expect(room.talk_to_a_person).to_be_visible()
    await room.page.get_by_role("link", name="Go to the chat").click()
    await room.page.wait_for_url("**/chat/")


async def test_a_press_outside_a_visit_raises_nothing_and_says_whom_to_talk_to(
    open_room: OpenRoom, people: People
) -> None:
    room = await (await open_room()).enter(people.rosa)
    before = in_database(Flag.objects.count)
    await room.context.clear_cookies(name="companion")

    await room.page.evaluate("document.querySelector('[data-help]').submit()")

    await expect(room.page.locator("[data-strip]")).to_contain_text(WORDS)
    assert in_database(Flag.objects.count) == before
    room.complaints.clear()
