"""Browsers that sleep, and conversations that have grown for years (T12, A3)."""

import json
from pathlib import Path

import pytest
from django.db import connection
from playwright.async_api import Playwright, expect

from companion.states import TurnState
from tests.pages.conftest import ARGUMENTS, CHROMIUM, LEFT_ON, OpenRoom
from tests.pages.leaving import close_in_time
from tests.pages.room import Room
from tests.patience import until
from tests.people import People, Person, in_database
from tests.processes import Rehearsal, Web

# It goes back, leaves, or looks at what the browser keeps.
pytestmark = pytest.mark.whole_browser

ADD_TURNS = """
INSERT INTO companion_turn (conversation_id, key, question, reply, state, reason, owner, persona_version, wait_until,
                            created_at, closed_at)
SELECT %(conversation)s, gen_random_uuid(), 'Question ' || n || '.', 'Reply ' || n || '. It was a long day.',
       'complete', '', gen_random_uuid(), 'of a test', now(), now() - (%(turns)s - n) * interval '1 minute',
       now() - (%(turns)s - n) * interval '1 minute'
FROM generate_series(1, %(turns)s) n
"""
COUNT = "document.querySelectorAll('[data-turns] > [data-turn]').length"
NUMBERS = """() => Array.from(document.querySelectorAll("[data-turns] > [data-turn] [data-part=question]"),
  (question) => Number(question.textContent.match(/\\d+/)))"""


def add_turns(person: Person, turns: int) -> None:
    def add() -> None:
        with connection.cursor() as cursor:
            cursor.execute(ADD_TURNS, {"conversation": person.conversation.pk, "turns": turns})

    in_database(add)


async def set_lifecycle(room: Room, state: str) -> None:
    """Freeze or thaw a tab, as a browser does with tabs in the background."""
    session = await room.context.new_cdp_session(room.page)
    await session.send("Page.setWebLifecycleState", {"state": state})
    await session.detach()


async def test_a_tab_that_was_frozen_in_the_middle_of_a_reply_shows_every_word_once(
    open_room: OpenRoom, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    rehearsal.inject({"words": 120, "pace_ms": 20}, times=1)
    turn = await room.say("Tell me a story.")
    await room.becomes(turn, "speaking")

    await set_lifecycle(room, "frozen")
    await until(lambda: rosa.turns()[0].state == TurnState.COMPLETE, within_s=30)
    await set_lifecycle(room, "active")
    await room.becomes(turn, "complete")

    [stored] = rosa.turns()
    assert (await room.text_of(room.reply(turn))).split() == stored.reply.split()


@pytest.mark.parametrize("turns", [160, pytest.param(2_000, marks=pytest.mark.long)])
async def test_a_long_conversation_opens_at_its_end_and_scrolls_back_to_its_beginning(
    open_room: OpenRoom, people: People, turns: int
) -> None:
    rosa = people.rosa
    add_turns(rosa, turns)
    room = await (await open_room()).enter(rosa)
    await expect(room.turns).to_have_count(50)
    assert await room.page.evaluate(NUMBERS) == list(range(turns - 49, turns + 1))

    shown = 50
    while shown < turns:
        await room.page.evaluate("document.querySelector('[data-earlier]').click()")
        await room.until(f"(before) => {COUNT} > before", shown)
        shown = await room.page.evaluate(COUNT)

    assert await room.page.evaluate(NUMBERS) == list(range(1, turns + 1))
    await expect(room.greeting).to_be_visible()
    await expect(room.earlier).to_be_hidden()
    turn = await room.ask("Good evening.")
    await expect(turn).to_be_in_viewport()


async def test_a_browser_that_refuses_cookies_is_told_so_on_the_page_of_the_card(
    playwright: Playwright, service: Web, tmp_path: Path
) -> None:
    refuses = {"profile": {"default_content_setting_values": {"cookies": 2}}}
    preferences = tmp_path / "Default" / "Preferences"
    preferences.parent.mkdir()
    preferences.write_text(json.dumps(refuses))
    context = await playwright.chromium.launch_persistent_context(
        tmp_path, executable_path=CHROMIUM, args=ARGUMENTS, ignore_default_args=LEFT_ON
    )
    try:
        page = context.pages[0]
        await page.goto(f"{service.url}/card/")
        assert await context.cookies() == []
        await expect(page.get_by_role("alert")).to_contain_text("does not let you in")
        await expect(page.get_by_label("Type the code from your card")).to_be_visible()
    finally:
        await close_in_time(context.close())


async def test_a_browser_that_takes_cookies_reads_nothing_about_them(open_room: OpenRoom) -> None:
    room = await open_room()
    await room.go_to("/card/")
    await expect(room.page.get_by_label("Type the code from your card")).to_be_visible()
    await expect(room.page.get_by_text("does not let you in")).to_be_hidden()
