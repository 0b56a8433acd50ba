"""Lets many turns live and end, and follows what they leave behind in the tables until autovacuum has been there.

The statements are the product's own: the gate, the journal and the closings, with batches in place of single turns.
Autovacuum looks every second and not every minute, because the turns of hours pass in minutes.
"""

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg_pool import AsyncConnectionPool

from companion.heartbeat import Heartbeat, describe_routing
from companion.journal import STORE
from companion.states import Reason, TurnState
from companion.turn_close import close_turns
from companion.turn_end import TurnEnd
from companion.turn_policy import TurnPolicy
from companion.turn_record import record_ends
from companion.waiting_room import Admission, lock_gate, run_gate
from ops.growth.plan_log import MARK, PlanLog
from routing.chain import Route

BATCH_TURNS = 500
CHUNKS = 4
POINTS = 10
"""How often what is left behind is looked at."""
DATABASE_SETTINGS = {"autovacuum_naptime": "1s"}
TABLES = ("companion_turn", "companion_replychunk", "companion_attempt", "companion_process")
GATE_INDEXES = ("turn_live", "turn_waiting", "turn_beside", "turn_by_owner")

ASK = f"""
/* {MARK} */ INSERT INTO companion_turn (conversation_id, key, question, state, owner, persona_version, preset, lane,
                                         lane_takes, house_ceiling, wait_until)
SELECT c.id, gen_random_uuid(), repeat(md5(c.id::text), 2), 'waiting', %(owner)s, '0123456789abcdef', 'normal', 'first',
       %(many)s, %(many)s, clock_timestamp() + interval '1 minute'
FROM (SELECT id FROM companion_conversation ORDER BY id LIMIT %(many)s) c
"""
LEFT_BEHIND = """
SELECT s.relname, s.n_dead_tup, s.n_live_tup, s.autovacuum_count, pg_table_size(s.relid), pg_indexes_size(s.relid)
FROM pg_stat_user_tables s WHERE s.relname = ANY(%s)
"""
INDEX_BYTES = "SELECT sum(pg_relation_size(name::regclass))::bigint FROM unnest(%s::text[]) AS names(name)"


@dataclass(frozen=True, kw_only=True, slots=True)
class TableState:
    """What a table holds: rows that no transaction sees any more, rows, vacuums so far, bytes."""

    dead_rows: int
    rows: int
    vacuums: int
    table_bytes: int
    index_bytes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ChurnPoint:
    """What is left behind after so many turns."""

    turns: int
    tables: Mapping[str, TableState]
    gate_index_bytes: int
    gate_blocks: int
    """Blocks of 8 kB that one run of the gate touches."""


class Churn:
    """Plays turns on a pool of the product, as one web process that lives."""

    def __init__(
        self, pool: AsyncConnectionPool[Any], log: PlanLog, *, policy: TurnPolicy, route: Route
    ) -> None:
        self._pool = pool
        self._log = log
        self._policy = policy
        self._process = uuid.uuid4()
        served = describe_routing(route, 0, ())
        self._heartbeat = Heartbeat(
            pool, policy, process=self._process, sockets=lambda: BATCH_TURNS, routing=lambda: served
        )

    async def run(self, turns: int, *, on_progress: Callable[[str, int, int], object]) -> list[ChurnPoint]:
        """Play so many turns; returns what was left behind on the way."""
        points: list[ChurnPoint] = []
        done = 0
        while done < turns:
            await self._heartbeat.beat()
            await self._play_batch()
            done += BATCH_TURNS
            on_progress("turns played", done, turns)
            if done * POINTS // turns > len(points) or done >= turns:
                points.append(await self._look(done))
        return points

    async def _play_batch(self) -> None:
        async with self._pool.connection() as native, native.transaction(), native.cursor() as cursor:
            await lock_gate(cursor)
            await cursor.execute(ASK, {"owner": self._process, "many": BATCH_TURNS})
            admitted = (await run_gate(cursor, self._policy)).admitted
        for seq in range(1, CHUNKS + 1):
            await self._store(admitted, seq)
        ends = [self._end(admission) for admission in admitted]
        async with self._pool.connection() as native, native.transaction(), native.cursor() as cursor:
            closed = await close_turns(cursor, ends)
            await record_ends(cursor, ends, {turn.turn: turn for turn in closed})
            await lock_gate(cursor)
            await run_gate(cursor, self._policy)

    async def _store(self, admitted: Sequence[Admission], seq: int) -> None:
        facts = {
            "ids": [admission.turn for admission in admitted],
            "fences": [admission.fence for admission in admitted],
            "seqs": [seq] * len(admitted),
            "texts": ["some words of a reply that is long enough to be one "] * len(admitted),
            "openings": ["[]" if seq == 1 else None] * len(admitted),
            "owner": self._process,
            "lease_s": self._policy.lease_s,
        }
        async with self._pool.connection() as native:
            await native.execute(STORE, facts)

    def _end(self, admission: Admission) -> TurnEnd:
        return TurnEnd(
            turn=admission.turn,
            state=TurnState.COMPLETE,
            reason=Reason.WHOLE,
            owner=admission.owner,
            fence=admission.fence,
            lane="first",
            model="a model",
        )

    async def _look(self, turns: int) -> ChurnPoint:
        # The counts of a session are reported once it has been idle for a second.
        await asyncio.sleep(1.2)
        with self._log.recording() as logged:
            async with self._pool.connection() as native, native.transaction(), native.cursor() as cursor:
                await lock_gate(cursor)
                await run_gate(cursor, self._policy)
        async with self._pool.connection() as native, native.cursor() as cursor:
            await cursor.execute(LEFT_BEHIND, [list(TABLES)])
            tables = {
                name: TableState(
                    dead_rows=dead, rows=rows, vacuums=vacuums, table_bytes=table, index_bytes=index
                )
                for name, dead, rows, vacuums, table, index in await cursor.fetchall()
            }
            await cursor.execute(INDEX_BYTES, [list(GATE_INDEXES)])
            [row] = await cursor.fetchall()
        return ChurnPoint(
            turns=turns,
            tables=tables,
            gate_index_bytes=int(row[0]),
            gate_blocks=sum(one.plan.blocks for one in logged),
        )
