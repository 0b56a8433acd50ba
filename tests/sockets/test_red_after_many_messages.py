"""Messages that come too fast keep no red message back, and red ones that come too fast leave the flag (S1, S3)."""

import uuid

from django.utils import timezone

from companion.models import Flag, Turn
from ops.project.wiring.turns import build_turn_policy
from tests.page_socket import Page
from tests.people import People, Person, in_database
from tests.processes import Web

RED = "I want to kill myself tonight."


def store_turns(person: Person, number: int, *, state: str, reason: str) -> None:
    """So many messages of this minute, which have ended so."""
    facts = {
        "state": state,
        "reason": reason,
        "owner": uuid.uuid4(),
        "closed_at": timezone.now(),
        "wait_until": timezone.now(),
    }
    in_database(
        lambda: Turn.objects.bulk_create(
            Turn(conversation=person.conversation, key=uuid.uuid4(), question="Hello.", **facts)
            for _ in range(number)
        )
    )


async def test_a_red_message_is_taken_where_any_other_is_one_too_many(service: Web, people: People) -> None:
    rosa, policy = people.rosa, build_turn_policy()
    store_turns(rosa, policy.messages_per_minute, state="stopped", reason="stopped")
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        await page.say("Are you there?")
        assert (await page.until("problem"))["code"] == "too_many"
        await page.say(RED)
        assert "0808 157 0123" in (await page.until("safety"))["line"]
    assert in_database(lambda: Flag.objects.get(conversation=rosa.conversation)).tier == "red"


async def test_the_sixty_first_red_message_of_a_minute_is_one_clear_answer_and_the_flag_stays(
    service: Web, people: People
) -> None:
    rosa, policy = people.rosa, build_turn_policy()
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        await page.say(RED)
        await page.until("safety")
        store_turns(rosa, policy.unanswered_per_minute - 1, state="safety", reason="red")
        await page.say(RED)
        refused = await page.until("problem")
        assert (refused["code"], refused["line"]) == ("too_many", policy.lines.one_at_a_time)
        # Its words are back in the box, and one press still asks for a person.
        await page.send({"type": "help"})
        assert "0808 157 0123" in (await page.until("help"))["line"]
    assert len(rosa.turns()) == policy.unanswered_per_minute
    flags = in_database(lambda: list(Flag.objects.filter(conversation=rosa.conversation).order_by("id")))
    assert [(flag.kind, flag.state) for flag in flags] == [("suicide-intent", "open"), ("help", "open")]
