"""Every page of few words looks like the others, and whatever can be pressed is easy to hit (A3)."""

from collections.abc import Awaitable, Callable, Iterator

import pytest
from playwright.async_api import expect

from ops.stack.doors import open_doors
from tests.pages.conftest import OpenRoom
from tests.pages.room import Room
from tests.pages.script import Script
from tests.pages.test_for_everyone import (
    away,
    card_unknown,
    code_refused,
    empty,
    full,
    goodbye,
    signed_out,
)
from tests.people import People, Person

LOOK = """() => {
  const main = document.querySelector("main").getBoundingClientRect();
  const mark = document.querySelector("main .mark").getBoundingClientRect();
  const page = document.documentElement;
  const style = getComputedStyle(document.querySelector("main"));
  return {
    mark: [Math.round(mark.x + mark.width / 2 - page.clientWidth / 2), mark.width],
    middle: Math.abs(main.x + main.width / 2 - page.clientWidth / 2) < 1,
    wide: Math.round(main.width),
    ground: getComputedStyle(document.body).backgroundColor,
    words: [style.textAlign, style.fontFamily, style.fontSize, style.color],
  };
}"""
TOO_SMALL = """() => Array.from(document.querySelectorAll("a, button, input, textarea"))
  .filter((node) => node.checkVisibility() && !node.closest(".visually-hidden") && node.type !== "hidden")
  .filter((node) => node.getBoundingClientRect().height < 44 || node.getBoundingClientRect().width < 44)
  .map((node) => node.outerHTML)"""


@pytest.fixture
def stand_in() -> Iterator[str]:
    """Where the page stands that answers when nothing else can."""
    with open_doors([0]) as doors:
        doors[0].port = doors[0].socket.getsockname()[1]
        doors[0].say_unavailable()
        yield doors[0].address


async def ended_here(room: Room, rosa: Person) -> None:
    await Script.behind(room, rosa)
    # The service does not answer, so the page goes on by itself.
    await room.page.route("**/chat/finish/", lambda route: None)
    await room.finished.click()
    await expect(room.page.get_by_text("This chat is closing now.")).to_be_visible()


async def nothing_here(room: Room, rosa: Person) -> None:
    await room.go_to("/nothing/here/")
    room.complaints.clear()


FEW_WORDS: list[Callable[[Room, Person], Awaitable[object]]] = [
    code_refused,
    card_unknown,
    nothing_here,
    signed_out,
    ended_here,
]
ALL = [*FEW_WORDS, goodbye, empty, full, away]


@pytest.mark.parametrize("width", [320, 1280])
@pytest.mark.parametrize("state", FEW_WORDS, ids=lambda state: state.__name__)
async def test_a_page_of_few_words_looks_like_the_goodbye(
    open_room: OpenRoom,
    people: People,
    state: Callable[[Room, Person], Awaitable[object]],
    width: int,
) -> None:
    room = await open_room(viewport={"width": width, "height": 900})
    await goodbye(room, people.rosa)
    usual = await room.page.evaluate(LOOK)

    await state(room, people.rosa)

    assert await room.page.evaluate(LOOK) == usual


@pytest.mark.parametrize("width", [320, 1280])
async def test_the_page_that_stands_in_looks_like_the_goodbye(
    open_room: OpenRoom, people: People, stand_in: str, width: int
) -> None:
    room = await open_room(viewport={"width": width, "height": 900})
    await goodbye(room, people.rosa)
    usual = await room.page.evaluate(LOOK)

    await room.page.goto(stand_in)

    assert await room.page.evaluate(LOOK) == usual
    room.complaints.clear()


async def test_the_page_that_stands_in_is_whole_when_the_service_answers_for_the_rest_of_it(
    open_room: OpenRoom, people: People, stand_in: str
) -> None:
    room = await open_room()
    await room.page.goto(stand_in)
    alone = await room.page.evaluate(LOOK)
    page = await room.page.content()
    room.complaints.clear()
    room.requests.clear()

    await room.page.route("**/card/", lambda route: route.fulfill(body=page, content_type="text/html"))
    await room.go_to("/card/")

    assert await room.page.evaluate(LOOK) == alone
    assert f"{room.base_url}/static/unavailable.js" in room.requests


@pytest.mark.parametrize("state", ALL, ids=lambda state: state.__name__)
async def test_whatever_can_be_pressed_is_at_least_44_pixels_each_way(
    open_room: OpenRoom, people: People, state: Callable[[Room, Person], Awaitable[object]]
) -> None:
    room = await open_room(viewport={"width": 320, "height": 568})

    await state(room, people.rosa)

    assert await room.page.evaluate(TOO_SMALL) == []
