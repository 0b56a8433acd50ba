"""Messages, red ones, take-overs, stops, closings and sweeps in one moment: no deadlock, no turn left (S1, S4)."""

import asyncio
import random
import uuid

import psycopg

from companion.models import Visit
from companion.states import Reason, TurnState
from companion.supervision import quiet, take_overs
from companion.supervision.noticing import Notice
from companion.supervision.safety_turns import SafetyTurns
from companion.supervision.states import FlagTier
from companion.supervision.take_overs import TookOver
from companion.turn_end import TurnEnd
from companion.turn_open import SayRequest
from ops.stack.postgres import EmbeddedPostgres
from tests.ledgers import LedgerProcess, StartLedger
from tests.people import People, Person, in_database
from tests.supervised import SAM, Supervisor

RED = Notice(tier=FlagTier.RED, kind="self_harm", rule="red-1", rules_version="v1")
AMBER = Notice(tier=FlagTier.AMBER, kind="low_mood", rule="amber-1", rules_version="v1")
ROUNDS = 30
READ_DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"


async def count_deadlocks(url: str) -> int:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as native:
        await native.execute("SELECT pg_stat_force_next_flush()")
        [deadlocks] = await (await native.execute(READ_DEADLOCKS)).fetchone() or (0,)
        return int(deadlocks)


class Crowd:
    """What happens at once to the conversations of a few people, on several processes."""

    def __init__(self, desks: list[LedgerProcess], cast: list[Person], url: str) -> None:
        self._desks = desks
        self._url = url
        self._cast = cast
        self._visits = {
            person.conversation.pk: in_database(
                lambda person=person: (
                    Visit.objects.create(  # type: ignore[misc]
                        participant=person.row, expires_at="2099-01-01T00:00Z"
                    ).pk
                )
            )
            for person in cast
        }
        self._safety = [
            SafetyTurns(desk.pool, desk.policy, process=desk.id, on_change=lambda *_: None) for desk in desks
        ]

    def _say(self, notice: Notice | None = None) -> SayRequest:
        person = random.choice(self._cast)
        return SayRequest(
            visit=self._visits[person.conversation.pk], key=uuid.uuid4(), question="?", notice=notice
        )

    async def say(self) -> None:
        for _ in range(ROUNDS):
            desk = random.choice(self._desks)
            await desk.ledger.open(self._say(random.choice([None, AMBER])))

    async def say_red(self) -> None:
        for _ in range(ROUNDS):
            await random.choice(self._safety).store_red(self._say(), RED)

    async def ask_for_person(self) -> None:
        for _ in range(ROUNDS):
            await random.choice(self._safety).store_help(random.choice(self._cast).conversation.pk)

    async def close(self) -> None:
        for _ in range(ROUNDS * 2):
            desk = random.choice(self._desks)
            if desk.admitted:
                await desk.end(random.choice(desk.admitted))
            await asyncio.sleep(0)

    async def stop(self) -> None:
        for _ in range(ROUNDS * 2):
            desk = random.choice(self._desks)
            turns = [one.turn for one in desk.admitted] or [0]
            end = TurnEnd(turn=random.choice(turns), state=TurnState.STOPPED, reason=Reason.STOPPED)
            await desk.ledger.close(end)

    async def sweep(self) -> None:
        for _ in range(ROUNDS):
            desk = random.choice(self._desks)
            await desk.ledger.sweep(running=[], watched=[])
            await desk.ledger.run_gate()

    async def take_over_and_hand_back(self) -> None:
        for _ in range(ROUNDS):
            async with Supervisor(self._url, random.choice(self._cast)) as sam:
                await sam.take_over()
                await sam.say("Hello.")
                await sam.hand_back()
                await sam.release()

    async def lose_leases(self) -> None:
        for _ in range(ROUNDS):
            desk = random.choice(self._desks)
            async with desk.pool.connection() as native, native.transaction(), native.cursor() as cursor:
                await take_overs.renew_lease(
                    cursor, conversations=[one.conversation.pk for one in self._cast], staff=SAM
                )
                await take_overs.lose_leases(cursor, desk.policy)
                await quiet.end_quiet(cursor)


async def test_everything_in_one_moment_ends_without_a_deadlock(
    start_ledger: StartLedger, people: People, database: EmbeddedPostgres
) -> None:
    desks = [start_ledger(5) for _ in range(3)]
    for desk in desks:
        await desk.write_heartbeat()
    before = await count_deadlocks(database.url)
    cast = [people.add_participant(f"P{number}") for number in range(4)]
    crowd = Crowd(desks, cast, database.url)
    async with asyncio.TaskGroup() as group:
        for _ in range(2):
            group.create_task(crowd.say())
            group.create_task(crowd.close())
        for act in (
            crowd.say_red,
            crowd.ask_for_person,
            crowd.stop,
            crowd.sweep,
            crowd.take_over_and_hand_back,
            crowd.lose_leases,
        ):
            group.create_task(act())
    assert await count_deadlocks(database.url) == before


async def test_a_message_that_waits_for_a_take_over_is_read_by_the_person(
    start_ledger: StartLedger, people: People, database: EmbeddedPostgres
) -> None:
    desk = start_ledger(10)
    await desk.write_heartbeat()
    rosa = people.rosa
    async with Supervisor(database.url, rosa) as sam:
        async with sam.connection.transaction(), sam.connection.cursor() as cursor:
            taken = await take_overs.take_over(
                cursor,
                sam.policy,
                conversation=sam.conversation,
                staff=SAM,
                name="Sam",
                sites=[sam.site],
            )
            assert isinstance(taken, TookOver)
            opening = asyncio.create_task(desk.ask(rosa))
            await wait_for_lock(database.url)
        opened = await opening
    assert opened.is_ended
    [turn] = rosa.turns()
    assert (turn.state, turn.reason) == ("handed_over", "person")


async def test_a_take_over_that_meets_an_opening_ends_its_turn(
    start_ledger: StartLedger, people: People, database: EmbeddedPostgres
) -> None:
    desk = start_ledger(10)
    await desk.write_heartbeat()
    rosa = people.rosa
    opened = await desk.ask(rosa)
    async with (
        await psycopg.AsyncConnection.connect(database.url, autocommit=True) as busy,
        Supervisor(database.url, rosa) as sam,
    ):
        async with busy.transaction():
            # As an opening holds it, with a turn that the take-over has not seen.
            await busy.execute(
                "SELECT 1 FROM companion_control WHERE conversation_id = %s FOR SHARE", (sam.conversation,)
            )
            taking = asyncio.create_task(sam.take_over())
            await wait_for_lock(database.url)
            await busy.execute(
                "INSERT INTO companion_turn (conversation_id, key, question, state, owner, persona_version, wait_until)"
                " VALUES (%s, %s, '?', 'waiting', %s, '-', now())",
                (sam.conversation, uuid.uuid4(), desk.id),
            )
        taken = await taking
    assert isinstance(taken, TookOver) and len(taken.closed) == 2
    assert {turn.state for turn in rosa.turns()} == {"handed_over"}
    assert opened.turn in {closed.turn for closed in taken.closed}


async def wait_for_lock(url: str) -> None:
    """Wait until some transaction waits for a row."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as native, asyncio.timeout(20):
        while (await (await native.execute(query)).fetchone() or (0,))[0] == 0:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
