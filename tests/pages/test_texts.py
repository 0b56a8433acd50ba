"""Every text survives and is shown as text: markup, odd signs, other directions, and floods of it (T16)."""

import json
import time

import pytest
from playwright.async_api import Browser, expect

from tests.pages.conftest import OpenRoom
from tests.people import People
from tests.processes import Rehearsal

MARKUP = "<img src=x onerror=alert(1)> <script>alert(2)</script> **bold** [a](b) &amp; {{ 7*7 }}"
FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"


async def test_markup_is_shown_as_it_was_written_by_either_side(
    open_room: OpenRoom, people: People, rehearsal: Rehearsal
) -> None:
    room = await (await open_room()).enter(people.rosa)
    rehearsal.inject({"say": MARKUP, "split": 5}, times=1)

    turn = await room.ask(MARKUP)

    assert await room.text_of(room.question(turn)) == await room.text_of(room.reply(turn)) == MARKUP
    assert await turn.locator("img, script, a, strong").count() == 0


@pytest.mark.parametrize(
    "text",
    [
        f"One family: {FAMILY}. One flag: \U0001f1ec\U0001f1e7.",
        "e\u0301 and \u0e01\u0e33 and \u0928\u093f",
        "\u05e9\u05dc\u05d5\u05dd \u05dc\u05da",
        "One\u2028two\u2029three\u0085four",
    ],
)
async def test_a_text_survives_both_ways(
    open_room: OpenRoom, people: People, rehearsal: Rehearsal, text: str
) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    rehearsal.inject({"say": text, "split": 1}, times=1)

    turn = await room.ask(text)

    [stored] = rosa.turns()
    assert stored.question == stored.reply == text
    assert await room.text_of(room.question(turn)) == await room.text_of(room.reply(turn)) == text


async def test_a_nul_and_a_lone_surrogate_in_the_box_lose_nothing_else(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    await room.page.evaluate(
        "() => { document.querySelector('textarea').value = 'before\\u0000 and \\ud83d after'; }"
    )

    await room.send.click()
    await room.becomes(room.turns.first, "complete")

    [stored] = rosa.turns()
    assert stored.question == "before and \ufffd after"
    await expect(room.box).to_have_value("")


async def test_each_paragraph_runs_in_its_own_direction(
    open_room: OpenRoom, people: People, rehearsal: Rehearsal
) -> None:
    room = await (await open_room()).enter(people.rosa)
    rehearsal.inject({"say": "\u05e9\u05dc\u05d5\u05dd.\n\nHello."}, times=1)

    turn = await room.ask("Hello.")

    paragraphs = room.reply(turn).locator("p")
    await expect(paragraphs.nth(0)).to_have_css("direction", "rtl")
    await expect(paragraphs.nth(1)).to_have_css("direction", "ltr")


async def test_lines_stay_lines_and_blank_lines_part_paragraphs(
    open_room: OpenRoom, people: People, rehearsal: Rehearsal
) -> None:
    room = await (await open_room()).enter(people.rosa)
    rehearsal.inject({"say": "One\r\ntwo\n \n\n\nthree", "split": 1}, times=1)

    turn = await room.ask("Hello.")

    assert await room.reply(turn).locator("p").all_text_contents() == ["One\ntwo", "three"]


async def test_a_flood_of_words_leaves_the_page_able_to_act(
    open_room: OpenRoom, people: People, rehearsal: Rehearsal, browser: Browser
) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    rehearsal.inject({"words": 20_000, "pace_ms": 0}, times=1)
    await browser.start_tracing(page=room.page, categories=["toplevel"])
    turn = await room.say("Tell me everything.")
    await room.becomes(turn, "speaking")

    began = time.monotonic()
    await room.box.press_sequentially("I can still write")
    wrote_s = time.monotonic() - began
    await room.becomes(turn, "complete", within_s=60)
    trace = await browser.stop_tracing()

    [stored] = rosa.turns()
    assert (await room.text_of(room.reply(turn))).split() == stored.reply.split()
    assert len(stored.reply.split()) >= 15_000
    await expect(room.box).to_have_value("I can still write")
    assert wrote_s < 8
    assert 0 < find_longest_task_ms(trace) < 200


def find_longest_task_ms(trace: bytes) -> float:
    """The longest task of a page's main thread, as time on the processor: that of a busy machine counts for nothing."""
    events = json.loads(trace)["traceEvents"]
    mains = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    spent_us: list[int] = [event.get("tdur", 0) for event in events if (event["pid"], event["tid"]) in mains]
    return max(spent_us) / 1_000
