"""A red message whatever else happens: its line is on the page within seconds, and no reply is (S1, S2, S9)."""

import asyncio
import time
import uuid
from typing import Any

import pytest

from companion.models import Flag
from ops.stack.postgres import EmbeddedPostgres
from tests.ceilings import set_ceiling
from tests.desk_socket import Desk, sign_staff_in
from tests.page_socket import Page
from tests.people import People, Person, in_database
from tests.processes import Rehearsal, Web
from tests.supervised import Supervisor

RED = "I want to kill myself tonight."
WITHIN_S = 8.0
"""Of one try on a busy machine. `test_red_in_time.py` holds line and flag to two seconds."""


async def wait_for_line(page: Page) -> dict[str, Any]:
    began = time.monotonic()
    frame = await page.until("safety")
    assert time.monotonic() - began < WITHIN_S
    assert "0808 157 0123" in frame["line"] and frame["line"].endswith("You can keep writing here.")
    return frame


def read_flags(person: Person) -> list[Flag]:
    return in_database(lambda: list(Flag.objects.filter(conversation=person.conversation)))


@pytest.mark.parametrize(
    "fault",
    [
        {},
        {"hang": "before_byte"},
        {"status": 429, "error": "rate_limit"},
        {"status": 500, "error": "server_error"},
        {"cut": "reset", "after": 3},
    ],
    ids=["answering", "hanging", "refusing for its rate", "failing", "dying"],
)
async def test_no_provider_has_a_part_in_it(
    service: Web, rehearsal: Rehearsal, people: People, fault: dict[str, Any]
) -> None:
    rosa = people.rosa
    if fault:
        rehearsal.inject(fault)
    asked = len(rehearsal.list_requests())
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        await page.say(RED)
        await wait_for_line(page)
        assert "words" not in page.kinds() and "paused" not in page.kinds()
    [turn] = rosa.turns()
    [flag] = read_flags(rosa)
    assert (turn.state, flag.tier, flag.turn) == ("safety", "red", turn.pk)
    assert flag.rules_version.startswith("en-")
    assert len(rehearsal.list_requests()) == asked


async def test_a_reply_under_way_ends_and_none_of_it_is_shown_again(
    service: Web, neighbour: Web, rehearsal: Rehearsal, people: People
) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)
    rehearsal.inject({"pieces": ["Once", *[" upon"] * 200], "pace_ms": 50}, times=1)
    async with Page(service.socket_url, cookie) as page, Page(neighbour.socket_url, cookie) as other:
        await page.say("Tell me a long story.")
        turn = (await page.until("words"))["turn"]
        await other.until("words")
        await page.say(RED)
        for tab in (page, other):
            await wait_for_line(tab)
            ending = next(frame for frame in tab.frames if frame["type"] == "handed_over")
            assert ending == {"type": "handed_over", "turn": turn, "seq": 0}
            later = tab.frames[tab.frames.index(ending) :]
            assert not [frame for frame in later if frame["type"] == "words"]
    async with Page(neighbour.socket_url, cookie) as reloaded:
        conversation = (await reloaded.next())["conversation"]
    assert conversation["quiet"] is True
    assert [(item["state"], item["reply"]) for item in conversation["turns"] if "state" in item] == [
        ("handed_over", ""),
        ("safety", ""),
    ]


async def test_the_queue_does_not_delay_it(
    service: Web, neighbour: Web, rehearsal: Rehearsal, people: People
) -> None:
    rosa, otto = people.rosa, people.otto
    rehearsal.inject({"pieces": ["Once", *[" upon"] * 300], "pace_ms": 50}, times=1)
    with set_ceiling(1):
        async with (
            Page(service.socket_url, otto.sign_in(service.url)) as busy,
            Page(service.socket_url, rosa.sign_in(service.url)) as page,
        ):
            await busy.say("Tell me a long story.")
            await busy.until("words")
            await page.say("Hello")
            await page.until("waiting")
            await page.say(RED)
            await wait_for_line(page)
    states = [turn.state for turn in rosa.turns()]
    assert states == ["handed_over", "safety"]


async def test_a_pause_by_staff_does_not_delay_it(
    service: Web, people: People, database: EmbeddedPostgres
) -> None:
    rosa = people.rosa
    async with (
        Supervisor(database.url, rosa) as sam,
        Page(service.socket_url, rosa.sign_in(service.url)) as page,
    ):
        await sam.pause("person", rosa.row.pk)
        await page.say("Hello")
        paused = await page.ending()
        assert paused["type"] == "paused" and "Staff here have paused this chat" in paused["line"]
        await page.say(RED)
        await wait_for_line(page)
        await sam.resume("person", rosa.row.pk)
        await sam.release()
        await page.say("Thank you.")
        assert (await page.ending())["type"] == "complete"


async def test_the_companion_is_quiet_until_it_is_released(
    service: Web, rehearsal: Rehearsal, people: People, database: EmbeddedPostgres
) -> None:
    rosa = people.rosa
    async with (
        Supervisor(database.url, rosa) as sam,
        Page(service.socket_url, rosa.sign_in(service.url)) as page,
    ):
        await page.say(RED)
        await wait_for_line(page)
        await page.say("Are you there?")
        first = await page.ending()
        await page.say("Hello?")
        second = await page.ending()
        assert first["type"] == second["type"] == "held"
        assert first["line"] and second["line"] == ""
        assert await sam.release()
        await page.say("Good evening.")
        assert (await page.ending())["type"] == "complete"
    request = rehearsal.list_requests()[-1]
    texts = [message["content"] for message in request["messages"]]
    said = "\n".join(texts)
    assert "kill" not in said and "0808" not in said and "Are you there?" not in said
    assert texts[-1] == "Good evening."
    assert "worried the staff" in texts[0]


async def test_a_screen_that_shows_the_flag_changes_the_line(service: Web, people: People) -> None:
    rosa = people.rosa
    cookie, staff_cookie = rosa.sign_in(service.url), sign_staff_in(service, people, people.add_sam())
    async with Desk(service, staff_cookie) as desk, Page(service.socket_url, cookie) as page:
        await page.until("hello")
        await page.say(RED)
        flag = await desk.flag(conversation=rosa.conversation.pk, tier="red")
        assert (await desk.act("seen", flag=flag["id"]))["type"] == "done"
        frame = await wait_for_line(page)
        assert "Staff here have been told" in frame["line"]


async def test_the_same_key_on_two_pages_is_one_turn_and_one_flag(
    service: Web, neighbour: Web, people: People
) -> None:
    rosa, key = people.rosa, str(uuid.uuid4())
    cookie = rosa.sign_in(service.url)
    async with Page(service.socket_url, cookie) as page, Page(neighbour.socket_url, cookie) as other:
        await asyncio.gather(page.say(RED, key), other.say(RED, key))
        frames = [await wait_for_line(tab) for tab in (page, other)]
        await page.say(RED, key)
        again = await page.until("accepted")
    [turn] = rosa.turns()
    assert {frame["turn"] for frame in [*frames, again]} == {turn.pk}
    assert [flag.count for flag in read_flags(rosa)] == [1]


async def test_an_amber_message_is_answered_and_only_staff_see_its_flag(service: Web, people: People) -> None:
    rosa = people.rosa
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        await page.say("I feel hopeless, nothing will ever get better.")
        assert (await page.ending())["type"] == "complete"
    [flag] = read_flags(rosa)
    assert (flag.tier, flag.source) == ("amber", "message")


async def test_a_person_is_asked_for_by_one_press_whatever_the_provider_does(
    service: Web, rehearsal: Rehearsal, people: People
) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)
    rehearsal.inject({"hang": "before_byte"})
    async with Page(service.socket_url, cookie) as page:
        await page.send({"type": "help"})
        frame = await page.until("help")
        assert "0808 157 0123" in frame["line"]
        await page.send({"type": "help"})
    async with Page(service.socket_url, cookie) as reloaded:
        [item] = (await reloaded.next())["conversation"]["turns"]
    assert (item["entry"], item["kind"], item["text"]) == (frame["id"], "help", frame["line"])
    [flag] = read_flags(rosa)
    assert (flag.tier, flag.kind) == ("red", "help")


async def test_words_that_complete_a_forbidden_sentence_are_neither_stored_nor_shown(
    service: Web, rehearsal: Rehearsal, people: People
) -> None:
    rosa = people.rosa
    pieces = ["Good morning. ", "You should ", "stop ", "taking ", "your ", "tablets", ". ", "Goodbye."]
    rehearsal.inject({"pieces": pieces, "pace_ms": 120}, times=1)
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        await page.say("Good morning")
        ending = await page.ending()
        assert ending["type"] == "paused" and ending["line"].startswith("I cannot talk about that here.")
        assert "tablets" not in "".join(frame.get("text", "") for frame in page.frames)
    [turn] = rosa.turns()
    assert (turn.state, turn.reason) == ("paused", "caught")
    assert turn.reply.startswith("Good morning.") and "tablets" not in turn.reply
    [flag] = read_flags(rosa)
    assert (flag.tier, flag.source, flag.kind, flag.turn) == ("amber", "reply", "medicine", turn.pk)


async def test_a_reply_that_speaks_of_love_is_flagged_once_it_is_complete(
    service: Web, rehearsal: Rehearsal, people: People
) -> None:
    rosa = people.rosa
    rehearsal.inject({"pieces": ["I love ", "you. ", "Good night."]}, times=1)
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        await page.say("Will you talk with me?")
        assert (await page.ending())["type"] == "complete"
    [flag] = read_flags(rosa)
    assert (flag.tier, flag.source, flag.kind) == ("amber", "reply", "love")
