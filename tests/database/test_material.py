"""What a prompt may be made of, read from rows: in order, no half answer, and a bounded part of a long story."""

import uuid
from datetime import timedelta
from typing import Any

from django.utils import timezone
from psycopg_pool import AsyncConnectionPool

from companion.history import History
from companion.models import Turn
from companion.prompt import Exchange
from companion.prompt_inputs import DIALOGUE_TURNS, MAX_TURNS_READ, PromptInputs
from ops.project.wiring.turns import build_turn_policy
from tests.people import People, Person, in_database

HELD = timedelta(hours=1)
RUN_OUT = -HELD


def a_turn(person: Person, question: str, state: str = "complete", **facts: Any) -> Turn:
    """A turn of this person, as it would be stored."""
    now = timezone.now()
    closed = None if state in ("waiting", "speaking") else now
    row = {"owner": uuid.uuid4(), "persona_version": "test", "wait_until": now, "closed_at": closed}
    row |= {"admitted_at": None if state == "waiting" else now} | facts
    return in_database(
        lambda: Turn.objects.create(
            conversation=person.conversation, key=uuid.uuid4(), question=question, state=state, **row
        )
    )


def paused(person: Person, question: str, *, hold: timedelta = HELD, **facts: Any) -> Turn:
    """A turn that broke off with half an answer."""
    return a_turn(person, question, "paused", reply="Half an", held_until=timezone.now() + hold, **facts)


async def inputs_of(pool: AsyncConnectionPool[Any], turn: Turn) -> PromptInputs:
    return await History(pool, build_turn_policy()).read_prompt_inputs(turn.pk)


async def test_answered_held_questions_stand_before_their_answer_and_no_half_answer_anywhere(
    pool: AsyncConnectionPool[Any], people: People
) -> None:
    rosa = people.rosa
    first, second = paused(rosa, "First?"), paused(rosa, "Second?")
    answer = a_turn(rosa, "Third?", reply="All three.")
    in_database(lambda: Turn.objects.filter(pk__in=[first.pk, second.pk]).update(answered_by=answer))
    declined = a_turn(rosa, "Refused?", "paused", reply="Half a", reason="refused")
    run_out = paused(rosa, "Too late?", hold=RUN_OUT)
    held = paused(rosa, "Held?")
    found = await inputs_of(pool, a_turn(rosa, "Now?", "waiting"))
    assert found.question == "Now?"
    assert found.dialogue == (Exchange(questions=("First?", "Second?", "Third?"), reply="All three."),)
    assert found.held == ((held.pk, "Held?"),)
    assert not {declined.question, run_out.question, "Half"} & set(str(found).split())


async def test_a_stopped_turn_enters_with_what_was_said_and_with_the_held_questions_it_began_to_answer(
    pool: AsyncConnectionPool[Any], people: People
) -> None:
    rosa = people.rosa
    run_out, held = paused(rosa, "Too late?", hold=RUN_OUT), paused(rosa, "Held?")
    back = [{"kind": "i_am_back", "line": "I am back."}]
    a_turn(rosa, "A story?", "stopped", reply="Once upon", openings=back)
    a_turn(rosa, "Another?", "stopped")
    found = await inputs_of(pool, a_turn(rosa, "Go on.", "waiting"))
    assert found.dialogue == (
        Exchange(questions=("Held?", "A story?"), reply="Once upon", stopped=True),
        Exchange(questions=("Another?",), reply="", stopped=True),
    )
    assert found.held == ((held.pk, "Held?"),)
    assert run_out.question not in str(found)


async def test_turns_that_were_refused_a_place_or_have_not_ended_enter_no_prompt(
    pool: AsyncConnectionPool[Any], people: People
) -> None:
    rosa = people.rosa
    a_turn(rosa, "No place?", "refused")
    a_turn(rosa, "Before?", "speaking", reply="")
    found = await inputs_of(pool, a_turn(rosa, "Now?", "waiting"))
    assert (found.dialogue, found.held) == ((), ())


async def test_of_a_long_story_the_latest_turns_are_read_and_a_long_row_of_failures_is_not_read_to_its_end(
    pool: AsyncConnectionPool[Any], people: People
) -> None:
    rosa = people.rosa
    for state, turns in (("complete", 2 * DIALOGUE_TURNS), ("paused", MAX_TURNS_READ - DIALOGUE_TURNS)):
        await tell(pool, rosa, state, turns)
    found = await inputs_of(pool, a_turn(rosa, "Now?", "waiting"))
    assert [one.questions for one in found.dialogue] == [
        (f"complete {number}",) for number in range(DIALOGUE_TURNS + 1, 2 * DIALOGUE_TURNS + 1)
    ]
    await tell(pool, rosa, "paused", MAX_TURNS_READ)
    assert (await inputs_of(pool, a_turn(rosa, "Now?", "waiting"))).dialogue == ()


async def tell(pool: AsyncConnectionPool[Any], person: Person, state: str, turns: int) -> None:
    """So many turns of this person that ended so, numbered from one."""
    async with pool.connection() as native:
        facts = {"conversation": person.conversation.pk, "state": state, "turns": turns}
        await native.execute(TOLD, facts)


TOLD = """
INSERT INTO companion_turn (conversation_id, key, question, state, reply, owner, persona_version, wait_until, closed_at)
SELECT %(conversation)s, gen_random_uuid(), %(state)s || ' ' || number, %(state)s, 'Yes.', gen_random_uuid(), 'test',
       now(), now()
FROM generate_series(1, %(turns)s::int) AS number
"""


async def test_a_turn_that_was_taken_back_before_it_was_read_is_in_no_prompt(
    pool: AsyncConnectionPool[Any], people: People
) -> None:
    rosa = people.rosa
    a_turn(rosa, "Never mind.", "stopped", admitted_at=None)

    found = await inputs_of(pool, a_turn(rosa, "Go on.", "waiting"))

    assert found.dialogue == ()
