"""Full lanes, lanes that fail over while people press Stop, turns erased meanwhile, everything in one moment."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import psycopg
from django.utils import timezone

from companion.access import VISIT_KEY, VisitAccess
from companion.models import Attempt, Turn, Visit
from companion.sessions import SessionStore
from companion.states import Reason, TurnState
from companion.turn_end import TurnEnd
from companion.turn_open import OpenedTurn
from companion.waiting_room import GATE_KEY
from ops.stack.postgres import EmbeddedPostgres
from routing.contracts import AttemptReport, Lane
from routing.errors import FailureClass
from tests.ledgers import ROUTE, LedgerProcess, StartLedger
from tests.people import People, Person, in_database

WAITS_FOR_A_LOCK = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"


def lane(name: str, *, takes: int) -> Lane:
    return replace(ROUTE.lanes[0], name=name, max_in_flight=takes)


async def test_a_turn_that_waits_for_a_full_lane_does_not_delay_one_that_waits_for_another(
    start_ledger: StartLedger, people: People
) -> None:
    process = start_ledger(10)
    await process.write_heartbeat()
    process.route = replace(ROUTE, lanes=(lane("small", takes=1),))
    for number in range(12):
        await process.ask(people.add_participant(f"P{number}"))
    process.route = replace(ROUTE, lanes=(lane("roomy", takes=100),))
    wim = await process.ask(people.add_participant("Wim"))
    assert [one.lane for one in process.admitted] == ["small", "roomy"]
    assert process.admitted[-1].turn == wim.turn


async def test_a_full_preset_delays_no_turn_of_another_preset(
    start_ledger: StartLedger, people: People
) -> None:
    process = start_ledger(10)
    await process.write_heartbeat()
    process.route = replace(ROUTE, ceiling=1)
    for number in range(12):
        await process.ask(people.add_participant(f"P{number}"))
    process.route = ROUTE
    wim = await process.ask(people.add_participant("Wim"))
    assert [one.turn for one in process.admitted[1:]] == [wim.turn]


async def waiting_for_locks(watcher: psycopg.AsyncConnection[tuple[int]], many: int) -> None:
    async with asyncio.timeout(10):
        while (await (await watcher.execute(WAITS_FOR_A_LOCK)).fetchone() or (0,))[0] < many:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_stop_and_a_move_to_another_lane_in_one_moment_both_get_through(
    start_ledger: StartLedger, people: People, database: EmbeddedPostgres
) -> None:
    here, elsewhere = start_ledger(10), start_ledger(10)
    await asyncio.gather(here.write_heartbeat(), elsewhere.write_heartbeat())
    opened = await here.ask(people.add_participant("Ada"))
    stop = TurnEnd(turn=opened.turn, state=TurnState.STOPPED, reason=Reason.STOPPED)
    async with await psycopg.AsyncConnection.connect(database.url, autocommit=True) as holder:
        await holder.execute(f"SELECT pg_advisory_lock({GATE_KEY})")
        moving = asyncio.create_task(here.ledger.enter_lane(here.admitted[0], lane("second", takes=5)))
        await waiting_for_locks(holder, 1)
        stopping = asyncio.create_task(elsewhere.ledger.close(stop))
        await waiting_for_locks(holder, 2)
        await holder.execute(f"SELECT pg_advisory_unlock({GATE_KEY})")
        moved, ended = await asyncio.gather(moving, stopping)
    assert moved
    assert ended is not None and ended.state == "stopped"


async def test_moves_in_one_moment_take_no_more_than_the_lane_gives(
    start_ledger: StartLedger, people: People
) -> None:
    process = start_ledger(10)
    await process.write_heartbeat()
    for number in range(6):
        await process.ask(people.add_participant(f"P{number}"))
    second = lane("second", takes=4)
    moved = await asyncio.gather(*(process.ledger.enter_lane(one, second) for one in process.admitted))
    assert sorted(moved) == [False, False, True, True, True, True]


async def test_the_end_of_a_turn_that_was_erased_keeps_no_other_from_its_end(
    start_ledger: StartLedger, people: People
) -> None:
    process = start_ledger(10)
    await process.write_heartbeat()
    erased, fine = [await process.ask(people.add_participant(name)) for name in ("Ada", "Wim")]
    in_database(lambda: Turn.objects.filter(pk=erased.turn).delete())
    report = AttemptReport(
        lane="first",
        model="a model",
        failure=FailureClass.CANCELLED,
        status=None,
        code=None,
        waited_s=0,
        started_s=0,
        took_s=1,
        bytes_received=0,
        words=0,
    )
    ends = [
        TurnEnd(
            turn=one.turn,
            state=TurnState.COMPLETE,
            reason=Reason.WHOLE,
            preset="normal",
            attempts=(report,),
        )
        for one in (erased, fine)
    ]
    gone, ended = await asyncio.gather(*(process.ledger.close(end) for end in ends))
    assert gone is None
    assert ended is not None and ended.turn == fine.turn
    assert in_database(lambda: Attempt.objects.get(turn=fine.turn).lane) == "first"


async def test_turns_opened_in_one_moment_keep_to_the_limit_for_one_person(
    start_ledger: StartLedger, people: People
) -> None:
    process = start_ledger(10)
    await process.write_heartbeat()
    answers = await process.ask_in_one_moment(people.add_participant("Ada"), times=30)
    assert sum(isinstance(answer, OpenedTurn) for answer in answers) == process.policy.live_turns_per_person


async def test_the_messages_of_the_last_minute_count_whatever_became_of_them(
    start_ledger: StartLedger, people: People
) -> None:
    process = start_ledger(10)
    process.policy = replace(process.policy, messages_per_minute=2)
    process = LedgerProcess(process.pool, process.policy)
    await process.write_heartbeat()
    ada = people.add_participant("Ada")
    for _ in range(2):
        await process.ask(ada)
        await process.end(process.admitted[-1])
    [refused] = await process.ask_in_one_moment(ada, times=1)
    assert not isinstance(refused, OpenedTurn)
    earlier = timezone.now() - timedelta(minutes=2)
    in_database(lambda: Turn.objects.filter(conversation=ada.conversation).update(created_at=earlier))
    assert sum(isinstance(one, OpenedTurn) for one in await process.ask_in_one_moment(ada, times=3)) == 2


async def test_the_wait_begins_where_the_persons_own_earlier_turn_ends(
    start_ledger: StartLedger, people: People
) -> None:
    process, ada = start_ledger(1), people.add_participant("Ada")
    await process.write_heartbeat()
    first = await process.ask(ada)
    await process.ask(people.add_participant("Wim"))
    second = await process.ask(ada)
    refusal = TurnEnd(
        turn=second.turn,
        state=TurnState.REFUSED,
        reason=Reason.WAIT_CEILING,
        owner=process.id,
        only_in_line=True,
    )
    asked_at = timezone.now() - timedelta(seconds=50)
    waits_until = asked_at + timedelta(seconds=45)
    in_database(
        lambda: Turn.objects.filter(pk=second.turn).update(created_at=asked_at, wait_until=waits_until)
    )
    await process.end(process.admitted[0])
    assert await process.ledger.close(refusal) is None, "it has only begun to wait"
    in_database(lambda: Turn.objects.filter(pk=first.turn).update(closed_at=asked_at))
    assert await process.ledger.close(refusal) is not None


def session_of(person: Person) -> str:
    visit = Visit.objects.create(participant=person.row, expires_at="2099-01-01T00:00Z")
    session = SessionStore()
    session[VISIT_KEY] = str(visit.pk)
    session.save()
    assert session.session_key
    return session.session_key


async def test_a_malformed_cookie_keeps_out_no_visit_that_is_looked_up_in_the_same_batch(
    start_ledger: StartLedger, people: People
) -> None:
    visit_access = VisitAccess(start_ledger(1).pool)
    rosa = people.rosa
    key = in_database(lambda: session_of(rosa))
    found = await asyncio.gather(
        *(visit_access.find_visit(one) for one in ("nobody", "a\x00b", key, "ü" * 32))
    )
    assert [visit is not None for visit in found] == [False, False, True, False]


async def test_a_turn_that_has_been_let_in_is_not_refused_any_more(
    start_ledger: StartLedger, people: People
) -> None:
    process = start_ledger(1)
    await process.write_heartbeat()
    speaks = await process.ask(people.add_participant("Ada"))
    long_ago = timezone.now() - timedelta(minutes=5)
    in_database(lambda: Turn.objects.filter(pk=speaks.turn).update(created_at=long_ago, wait_until=long_ago))
    refusal = TurnEnd(
        turn=speaks.turn,
        state=TurnState.REFUSED,
        reason=Reason.WAIT_CEILING,
        owner=process.id,
        only_in_line=True,
    )
    assert await process.ledger.close(refusal) is None
    assert in_database(lambda: Turn.objects.get(pk=speaks.turn).state) == "speaking"


async def test_a_turn_whose_end_was_not_notified_is_found_to_have_no_owner(
    start_ledger: StartLedger, people: People
) -> None:
    here, elsewhere = start_ledger(10), start_ledger(10)
    await asyncio.gather(here.write_heartbeat(), elsewhere.write_heartbeat())
    goes_on, ended = [await here.ask(people.add_participant(name)) for name in ("Ada", "Wim")]
    stop = TurnEnd(turn=ended.turn, state=TurnState.STOPPED, reason=Reason.STOPPED)
    await elsewhere.ledger.close(stop)
    speaking, gone = await here.ledger.read_live([goes_on.turn, ended.turn])
    assert [one.turn for one in speaking] == [goes_on.turn]
    assert gone == [ended.turn]
