"""Pages work from right to left, and mixed directions do not disturb each other: a pseudo-locale of tests (A3, A6).

The pages that the service answers are written in Hebrew letters on their way to the browser, with the direction that
Django gives to such a language.
"""

import datetime
import re
from collections.abc import Awaitable, Callable

import pytest
from playwright.async_api import Route, ViewportSize, expect

from companion.needs.models import Needs
from ops.character import get_languages
from tests.long_forms import mark_long
from tests.pages.axe import find_violations
from tests.pages.conftest import OpenRoom
from tests.pages.room import Room
from tests.pages.script import Script, snapshot
from tests.people import People, in_database

PHONE: ViewportSize = {"width": 320, "height": 568}
DESKTOP: ViewportSize = {"width": 1280, "height": 800}
in_each_window = pytest.mark.parametrize("window", [PHONE, *mark_long([DESKTOP])], ids=["320", "1280"])
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
LETTERS = str.maketrans("abcdefghijklmnopqrstuvwxyz", "אבגדהוזחטיכלמנסעפצקרשתםןףץ", "")
_HIDDEN = re.compile(r"(<(?:script|style|svg)\b.*?</(?:script|style|svg)>|<[^>]*>)", re.S)
_SPOKEN = re.compile(r'((?:aria-label|placeholder)=")([^"]*)(")')
PAST_THE_EDGE = """() => Array.from(document.querySelectorAll("button, p, h1, h2, h3, a, label, textarea, input"))
  .filter((node) => node.checkVisibility() && !node.closest(".visually-hidden") && node.type !== "hidden")
  .filter((node) => { const box = node.getBoundingClientRect(); return box.left < -1 || box.right > innerWidth + 1; })
  .map((node) => node.outerHTML)"""


def mirror(html: str) -> str:
    """The page in letters that run from right to left."""
    parts = [
        _SPOKEN.sub(lambda found: found[1] + found[2].lower().translate(LETTERS) + found[3], part)
        if part.startswith("<")
        else part.lower().translate(LETTERS)
        for part in _HIDDEN.split(html)
    ]
    return re.sub(r'<html lang="\w+" dir="ltr"', '<html lang="he" dir="rtl"', "".join(parts), count=1)


async def answer_mirrored(route: Route) -> None:
    """Answer a page of the service from right to left."""
    if route.request.resource_type != "document":
        return await route.fallback()
    answer = await route.fetch()
    await route.fulfill(response=answer, body=mirror(await answer.text()))
    return None


async def at_card(room: Room, people: People) -> None:
    await room.page.goto(f"{room.base_url}/card/")


async def at_lost(room: Room, people: People) -> None:
    await room.page.goto(f"{room.base_url}/finished/")


async def in_conversation(room: Room, people: People) -> None:
    turns = [
        snapshot(1, question="Hello, what is 3 + 4?", reply="שלום. 3 + 4 = 7. Robin says hello."),
        snapshot(2, state="paused", reply="", line="I have to stop for a little while."),
        snapshot(3, question="(מה שלומך?)", reply="All is well."),
    ]
    await Script.behind(room, people.rosa, turns)


async def at_choices(room: Room, people: People) -> None:
    await room.enter(people.rosa)
    await room.page.goto(f"{room.base_url}/needs/")


PAGES = (at_card, at_lost, in_conversation, at_choices)


@in_each_window
@pytest.mark.parametrize("arrive", PAGES, ids=lambda arrive: arrive.__name__)
async def test_a_page_from_right_to_left_fits_its_window_and_breaks_no_rule(
    open_room: OpenRoom,
    people: People,
    arrive: Callable[[Room, People], Awaitable[None]],
    window: ViewportSize,
) -> None:
    room = await open_room(viewport=window)
    await room.page.route("**/*", answer_mirrored)
    await arrive(room, people)

    await expect(room.page.locator("html")).to_have_attribute("dir", "rtl")
    assert await room.page.evaluate(OVERFLOW) <= 0
    assert await room.page.evaluate(PAST_THE_EDGE) == []
    assert await find_violations(room.page, rules=RULES) == []


async def test_words_of_each_direction_run_in_their_own_and_a_name_disturbs_no_other_text(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    await room.page.route("**/*", answer_mirrored)
    await in_conversation(room, people)

    directions = await room.page.evaluate(
        """() => Array.from(document.querySelectorAll('[data-part="question"] p, [data-part="reply"] p'))
          .filter((node) => node.textContent).map((node) => getComputedStyle(node).direction)"""
    )
    # The paused turn has no reply; its question stands in brackets of no direction and Hebrew letters.
    assert directions[:2] == ["ltr", "rtl"] and directions[-2:] == ["rtl", "ltr"], directions
    box = room.page.locator("textarea")
    assert await box.evaluate("(node) => getComputedStyle(node).direction") == "rtl", "its placeholder"
    await box.fill("שלום")
    assert await box.evaluate("(node) => getComputedStyle(node).direction") == "rtl"
    await box.fill("Hello")
    assert await box.evaluate("(node) => getComputedStyle(node).direction") == "ltr"


@in_each_window
async def test_the_chat_in_spanish_fits_its_window_and_says_its_language(
    open_room: OpenRoom, people: People, window: ViewportSize
) -> None:
    rosa = people.rosa
    review = datetime.date(2030, 1, 1)
    in_database(lambda: Needs.objects.create(participant=rosa.row, language="es", review_by=review))
    room = await open_room(viewport=window)
    await Script.behind(room, rosa, [snapshot(1, question="¿Hola?", reply="Aquí estoy.")])

    await expect(room.page.locator("html")).to_have_attribute("lang", "es")
    lines = get_languages()["es"].lines
    await expect(room.page.get_by_text(lines.disclosure)).to_be_visible()
    await expect(room.page.get_by_role("button", name="Enviar")).to_be_visible()
    assert await room.page.evaluate(OVERFLOW) <= 0
    assert await room.page.evaluate(PAST_THE_EDGE) == []
    assert await find_violations(room.page, rules=RULES) == []


async def test_a_person_chooses_a_language_and_the_page_is_in_it(open_room: OpenRoom, people: People) -> None:
    rosa = people.rosa
    room = await open_room()
    await room.enter(rosa)
    await room.page.goto(f"{room.base_url}/needs/")

    await room.page.get_by_role("button", name="Español").click()

    await expect(room.page.locator("html")).to_have_attribute("lang", "es")
    choices = get_languages()["es"].choices
    await expect(room.page.locator("[data-said]")).to_have_text(choices.changed)
    await expect(room.page.get_by_role("button", name="Español")).to_have_attribute("aria-pressed", "true")
    await room.page.goto(f"{room.base_url}/chat/")
    await expect(room.page.get_by_role("button", name="Ya terminé")).to_be_visible()
    await room.page.get_by_role("button", name="Ya terminé").click()
    await expect(room.page.get_by_text(get_languages()["es"].lines.goodbye)).to_be_visible()
