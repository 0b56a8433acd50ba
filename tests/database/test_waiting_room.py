"""The gate: never more than the ceiling, strict order of arrival, slots leased by heartbeat (Q1, Q4)."""

import asyncio
import uuid

from companion.history import History
from companion.models import Conversation, Process, Turn
from companion.states import Reason, TurnState
from companion.turn_end import TurnEnd
from tests.ledgers import StartLedger
from tests.people import People, in_database


def speaking() -> int:
    return in_database(lambda: Turn.objects.filter(state="speaking").count())


async def test_no_more_turns_speak_than_the_ceiling_and_the_rest_wait_in_order(
    start_ledger: StartLedger, people: People
) -> None:
    process = start_ledger(3)
    await process.write_heartbeat()
    cast = [people.add_participant(f"P{number}") for number in range(8)]
    opened = [await process.ask(person) for person in cast]
    assert [one.turn for one in process.admitted] == [one.turn for one in opened[:3]]
    for place in range(3, 8):
        await process.end(process.admitted[place - 3])
        assert process.admitted[-1].turn == opened[place].turn
        assert speaking() == 3


async def test_two_processes_that_open_at_once_never_pass_the_ceiling_together(
    start_ledger: StartLedger, people: People
) -> None:
    one, two = start_ledger(5), start_ledger(5)
    await asyncio.gather(one.write_heartbeat(), two.write_heartbeat())
    cast = [people.add_participant(f"P{number}") for number in range(24)]
    await asyncio.gather(
        *(process.ask(person) for process, person in zip([one, two] * 12, cast, strict=True))
    )
    assert speaking() == 5
    assert len(one.admitted) + len(two.admitted) >= 5


async def test_the_slot_of_a_dead_process_is_free_again_and_its_turn_is_paused_with_its_question_held(
    start_ledger: StartLedger, people: People
) -> None:
    dead, alive = start_ledger(1), start_ledger(1)
    await asyncio.gather(dead.write_heartbeat(), alive.write_heartbeat())
    lost = await dead.ask(people.add_participant("Ada"))
    next_one = await alive.ask(people.add_participant("Wim"))
    assert alive.admitted == []
    await dead.write_heartbeat(age_s=60)
    await alive.ledger.run_gate()
    assert [one.turn for one in alive.admitted] == [next_one.turn]
    row = in_database(lambda: Turn.objects.get(pk=lost.turn))
    assert (row.state, row.reason) == ("paused", "lost")
    assert row.held_until is not None


async def test_a_new_turn_is_admitted_at_once_where_a_dead_process_held_the_slot(
    start_ledger: StartLedger, people: People
) -> None:
    dead, alive = start_ledger(1), start_ledger(1)
    await asyncio.gather(dead.write_heartbeat(), alive.write_heartbeat())
    lost = await dead.ask(people.add_participant("Ada"))
    await dead.write_heartbeat(age_s=60)
    asked = await alive.ask(people.add_participant("Wim"))
    assert [one.turn for one in alive.admitted] == [asked.turn]
    assert [one.turn for one in alive.ended] == [lost.turn]


async def test_a_turn_waits_under_the_ceiling_it_was_opened_under_in_every_process_that_runs_the_gate(
    start_ledger: StartLedger, people: People
) -> None:
    low, high = start_ledger(1), start_ledger(5)
    await asyncio.gather(low.write_heartbeat(), high.write_heartbeat())
    speaks, waits = [await low.ask(people.add_participant(name)) for name in ("Ada", "Wim")]
    await high.ledger.run_gate()
    assert [one.turn for one in low.admitted] == [speaks.turn]
    assert high.admitted == []
    await low.end(low.admitted[0])
    assert low.admitted[-1].turn == waits.turn


async def test_a_late_ending_of_a_lost_turn_changes_nothing(
    start_ledger: StartLedger, people: People
) -> None:
    process = start_ledger(1)
    await process.write_heartbeat()
    opened = await process.ask(people.add_participant("Ada"))
    await process.write_heartbeat(age_s=60)
    await process.ledger.run_gate()
    await process.write_heartbeat()
    assert await process.end(process.admitted[0]) is None
    assert in_database(lambda: Turn.objects.get(pk=opened.turn)).state == "paused"


async def test_a_draining_process_is_admitted_nothing_more(start_ledger: StartLedger, people: People) -> None:
    process = start_ledger(4)
    await process.write_heartbeat()
    in_database(lambda: Process.objects.filter(pk=process.id).update(draining=True))
    await process.ask(people.add_participant("Ada"))
    assert process.admitted == []


async def test_one_person_has_one_running_turn_and_delays_no_other_person(
    start_ledger: StartLedger, people: People
) -> None:
    process = start_ledger(4)
    await process.write_heartbeat()
    ada, wim = people.add_participant("Ada"), people.add_participant("Wim")
    first = await process.ask(ada)
    second = await process.ask(ada)
    third = await process.ask(wim)
    assert [one.turn for one in process.admitted] == [first.turn, third.turn]
    await process.end(process.admitted[0])
    assert process.admitted[-1].turn == second.turn


async def test_a_turn_let_in_as_it_is_opened_brings_what_its_prompt_is_made_of(
    start_ledger: StartLedger, people: People
) -> None:
    process, ada = start_ledger(1), people.add_participant("Ada")
    await process.write_heartbeat()
    history = History(process.pool, process.policy)
    await process.ask(ada)
    end = TurnEnd(
        turn=process.admitted[0].turn,
        state=TurnState.PAUSED,
        reason=Reason.LOST,
        hold_s=process.policy.hold_s,
    )
    await process.ledger.close(end)
    again = await process.ask(ada)
    assert again.inputs is not None
    assert [turn for turn, _ in again.inputs.held] == [process.admitted[0].turn]
    assert again.inputs == await history.read_prompt_inputs(again.turn)
    assert (await process.ask(people.add_participant("Wim"))).inputs is None, (
        "a waiting turn reads it when it is let in"
    )


async def test_the_same_key_twice_in_one_moment_is_one_new_turn(
    start_ledger: StartLedger, people: People
) -> None:
    process = start_ledger(4)
    await process.write_heartbeat()
    ada, key = people.add_participant("Ada"), uuid.uuid4()
    opened = await asyncio.gather(*(process.ask(ada, key) for _ in range(5)))
    assert len({one.turn for one in opened}) == 1
    assert [one.is_new for one in opened].count(True) == 1


async def test_every_way_out_frees_the_slot(start_ledger: StartLedger, people: People) -> None:
    process = start_ledger(2)
    await process.write_heartbeat()
    for state in (TurnState.COMPLETE, TurnState.PAUSED, TurnState.STOPPED, TurnState.HANDED_OVER) * 3:
        await process.ask(people.add_participant("Ada"))
        admitted = process.admitted[-1]
        end = TurnEnd(turn=admitted.turn, state=state, reason=Reason.WHOLE)
        assert await process.ledger.close(end) is not None
    assert speaking() == 0


async def test_a_person_who_left_gives_the_place_up_and_the_question_is_held(
    start_ledger: StartLedger, people: People
) -> None:
    process = start_ledger(1)
    await process.write_heartbeat()
    await process.ask(people.add_participant("Ada"))
    here, gone = people.add_participant("Wim"), people.add_participant("Rosa")
    stays, leaves = await process.ask(here), await process.ask(gone)
    long_ago = "2020-01-01T00:00Z"
    in_database(lambda: Turn.objects.filter(state="waiting").update(created_at=long_ago))
    in_database(lambda: Conversation.objects.all().update(watched_at=long_ago))
    await process.ledger.sweep(running=[stays.turn, leaves.turn], watched=[here.conversation.pk])
    rows = in_database(lambda: Turn.objects.in_bulk([stays.turn, leaves.turn]))
    assert rows[stays.turn].state == "waiting"
    assert (rows[leaves.turn].state, rows[leaves.turn].reason) == ("paused", "away")
    assert rows[leaves.turn].held_until is not None
