"""A farewell is answered by the drafted goodbye, at once, and nothing invites to stay (S7)."""

from typing import Any

import pytest

from ops.character import get_persona
from tests.page_socket import Page
from tests.people import People
from tests.processes import Rehearsal, Web
from tests.settings import DATABASE_URL
from tests.supervised import Supervisor

LINES = get_persona().lines
GOODBYE = "Goodbye, see you tomorrow"


@pytest.mark.parametrize("fault", [{}, {"hang": "before_byte"}, {"status": 500}])
async def test_a_farewell_alone_is_answered_without_a_provider(
    service: Web, people: People, rehearsal: Rehearsal, fault: dict[str, Any]
) -> None:
    rosa = people.rosa
    rehearsal.inject(fault)
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        await page.until("hello")
        await page.say(GOODBYE)
        ended = await page.ending(within_s=5)
        assert {**ended, "turn": 0} == {
            "type": "complete",
            "turn": 0,
            "seq": 0,
            "line": LINES.goodbye,
            "kind": "goodbye",
        }
    assert rehearsal.list_requests() == []
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        [turn] = (await page.until("hello"))["conversation"]["turns"]
        assert (turn["state"], turn["reply"], turn["line"], turn["kind"]) == (
            *("complete", ""),
            *(LINES.goodbye, "goodbye"),
        )


async def test_a_farewell_after_something_else_follows_its_reply(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        await page.say("My dog died today. Goodnight")
        ended = await page.ending()
        assert (ended["type"], ended["line"], ended["kind"]) == ("complete", LINES.goodbye, "goodbye")
        assert page.words(ended["turn"])
        await page.say("I am back, good morning")
        await page.ending()
    prompt = str(rehearsal.list_requests()[-1])
    assert "My dog died today" in prompt
    assert LINES.goodbye not in prompt


async def test_no_later_prompt_holds_a_farewell_that_the_drafted_line_answered(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        await page.say(GOODBYE)
        await page.ending()
        await page.say("Good morning")
        await page.ending()
    [request] = rehearsal.list_requests()
    assert "Good morning" in str(request)
    assert GOODBYE not in str(request)
    assert LINES.goodbye not in str(request)


@pytest.mark.parametrize(
    ("text", "kind"), [("Goodbye for ever, I took all my pills", "safety"), ("goodbye cruel world", "safety")]
)
async def test_a_red_message_wins_over_a_farewell(service: Web, people: People, text: str, kind: str) -> None:
    async with Page(service.socket_url, people.rosa.sign_in(service.url)) as page:
        await page.say(text)
        ended = await page.ending()
        assert ended["type"] == kind
        await page.say("Goodbye")
        # He is quiet now, and a farewell does not end that.
        assert (await page.ending())["type"] == "held"


async def test_a_person_or_a_pause_comes_before_the_drafted_goodbye(service: Web, people: People) -> None:
    rosa = people.rosa
    async with (
        Supervisor(DATABASE_URL, rosa) as sam,
        Page(service.socket_url, rosa.sign_in(service.url)) as page,
    ):
        await page.until("hello")
        await sam.pause("person", rosa.row.pk)
        await page.say("Goodbye")
        assert (await page.ending())["line"] == LINES.staff_pause_person
        await sam.resume("person", rosa.row.pk)
        await sam.take_over()
        await page.until("person")
        await page.say("Goodbye")
        assert (await page.ending())["type"] == "handed_over"
