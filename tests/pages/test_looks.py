"""Every page of few words looks like the others (A3)."""

from collections.abc import Awaitable, Callable, Iterator

import pytest

from ops.stack.doors import open_doors
from tests.pages.conftest import OpenRoom
from tests.pages.room import Room
from tests.pages.test_for_everyone import (
    card_unknown,
    code_refused,
    ended_here,
    goodbye,
    nothing_here,
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


@pytest.fixture
def stand_in() -> Iterator[str]:
    """Where the page stands that answers when nothing else can."""
    with open_doors([0]) as doors:
        doors[0].port = doors[0].socket.getsockname()[1]
        doors[0].say_unavailable()
        yield doors[0].address


FEW_WORDS: list[Callable[[Room, Person], Awaitable[object]]] = [
    code_refused,
    card_unknown,
    nothing_here,
    signed_out,
    ended_here,
]


async def looks(room: Room) -> dict[int, object]:
    """How the open page looks on a phone and on a desk."""
    found = {}
    for width in (320, 1280):
        await room.page.set_viewport_size({"width": width, "height": 900})
        found[width] = await room.page.evaluate(LOOK)
    return found


@pytest.mark.parametrize("state", FEW_WORDS, ids=lambda state: state.__name__)
async def test_a_page_of_few_words_looks_like_the_goodbye(
    open_room: OpenRoom, people: People, state: Callable[[Room, Person], Awaitable[object]]
) -> None:
    room = await open_room()
    await goodbye(room, people.rosa)
    usual = await looks(room)

    await state(room, people.rosa)

    assert await looks(room) == usual


async def test_the_page_that_stands_in_looks_like_the_goodbye(
    open_room: OpenRoom, people: People, stand_in: str
) -> None:
    room = await open_room()
    await goodbye(room, people.rosa)
    usual = await looks(room)

    await room.page.goto(stand_in)

    assert await looks(room) == usual
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
