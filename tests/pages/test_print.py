"""The page on paper: who said what, in black on white; after the end of a visit, nothing of it (A2, A3)."""

import pytest
from playwright.async_api import expect

from tests.long_forms import mark_long
from tests.pages.conftest import OpenRoom
from tests.people import People

SECRET = "My secret is a blue door."
DRAFT = "And the key is under a stone."
COLOURS = """(node) => [getComputedStyle(node).color, getComputedStyle(document.body).backgroundColor]"""

FADES = """[...document.querySelectorAll("body *")].flatMap((one) => ["::before", "::after"]
    .map((part) => getComputedStyle(one, part))
    .filter((style) => one.checkVisibility() && style.display !== "none" && style.backgroundImage !== "none")
    .map((style) => `${one.className}: ${style.backgroundImage}`))"""


@pytest.mark.parametrize("scheme", ["dark", *mark_long(["light"])])
async def test_a_conversation_prints_whole_in_black_on_white_with_who_says_what_and_no_draft(
    open_room: OpenRoom, people: People, scheme: str
) -> None:
    room = await (await open_room(color_scheme=scheme)).enter(people.rosa)
    await room.ask(SECRET)
    await room.box.fill(DRAFT)

    await room.page.emulate_media(media="print")

    words = room.page.get_by_text(SECRET)
    await expect(words).to_be_visible()
    await expect(room.reply(room.turns.first)).to_be_visible()
    for speaker in ("You said:", "Robin said:"):
        await expect(room.turns.first.get_by_role("heading", name=speaker)).to_be_visible()
    assert await words.evaluate(COLOURS) == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
    await expect(room.box).to_be_hidden()
    for button in await room.page.get_by_role("button").all():
        await expect(button).to_be_hidden()
    # No fade lies over the words.
    assert await room.page.evaluate(FADES) == []
    # Nothing is cut off by a box that scrolls.
    assert (
        await room.page.evaluate(
            "[...document.querySelectorAll('*')].filter((one) => /auto|scroll/.test(getComputedStyle(one).overflowY)"
            " && one.checkVisibility()).length"
        )
        == 0
    )


async def test_after_the_end_nothing_of_a_visit_prints(open_room: OpenRoom, people: People) -> None:
    room = await (await open_room()).enter(people.rosa)
    await room.ask(SECRET)
    await room.box.fill(DRAFT)
    await room.finished.click()
    await room.page.wait_for_url("**/finished/")

    await room.page.emulate_media(media="print")

    text = await room.whole_text()
    assert "blue door" not in text and "under a stone" not in text
    await expect(room.page.get_by_text("Your words are not on this screen any more.")).to_be_visible()
