"""The only writer of turns. Every change names the state and owner it expects and looks at what came back.

Opening and ending turns run the gate in the same transaction, so a freed slot is taken by the very commit
that frees it. Both gather: all openings of a moment are one transaction, and so are all endings.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from psycopg import AsyncCursor
from psycopg_pool import AsyncConnectionPool

from companion.batch import Batch
from companion.doorbell import ring
from companion.folding import EndedTurn, Row, end_turns
from companion.heads import REROUTE, where
from companion.house import House
from companion.opening import Asked, NotOpened, Opened, Opening
from companion.record import Story, record
from companion.sweep import pause_away, pause_orphans
from companion.waiting_room import (
    ENTER_LANE,
    Admitted,
    GateResult,
    admitted_from,
    lock_gate,
    run_gate,
)
from routing.chain import Route
from routing.contracts import Lane

WATCHED = """
UPDATE companion_conversation c SET watched_at = clock_timestamp()
WHERE c.id = ANY(%(conversations)s)
  AND EXISTS (SELECT 1 FROM companion_turn t WHERE t.conversation_id = c.id AND t.state = 'waiting')
"""

MINE_ADMITTED = """
SELECT t.id, t.conversation_id, t.owner, t.fence, t.lane FROM companion_turn t
WHERE t.owner = %(owner)s AND t.state = 'speaking' AND t.id = ANY(%(ids)s)
"""


class Ledger:
    """Writes turns on behalf of one process. `told` hears, after each commit, what it changed."""

    def __init__(
        self,
        pool: AsyncConnectionPool[Any],
        house: House,
        *,
        process: UUID,
        told: Callable[[GateResult, list[EndedTurn]], None],
        route: Callable[[], Route],
    ) -> None:
        self._pool = pool
        self._house = house
        self._process = process
        self._told = told
        self._route = route
        self._openings: Batch[Asked, Opened | NotOpened] = Batch(self._open_all)
        self._endings: Batch[Story, EndedTurn | None] = Batch(self._close_all)

    async def open(self, asked: Asked) -> Opened | NotOpened:
        """Store the question, waiting or admitted."""
        return await self._openings.submit(asked)

    async def close(self, story: Story) -> EndedTurn | None:
        """End a turn, free its slot and keep its story. None: it had ended already, and its story has been added."""
        return await self._endings.submit(story)

    async def gate(self) -> GateResult:
        """Run the gate by itself: on a bell, and every second in case a bell was lost."""
        async with self._transaction() as cursor:
            await lock_gate(cursor)
            result = await run_gate(cursor, self._house)
            await ring(cursor, by=self._process, result=result)
        self._told(result, [])
        return result

    async def enter_lane(self, admitted: Admitted, lane: Lane) -> bool:
        """Move a turn on to a lane further down its chain. False: that lane takes no more, or the turn is lost."""
        facts = {
            "turn": admitted.turn,
            "owner": admitted.owner,
            "fence": admitted.fence,
            "lane": lane.name,
            "takes": lane.max_in_flight,
        }
        async with self._transaction() as cursor:
            await lock_gate(cursor)
            await cursor.execute(ENTER_LANE, facts)
            return await cursor.fetchone() is not None

    async def reroute(self) -> None:
        """Let the waiting turns of this process wait for the head of the chain that is in force now."""
        async with self._transaction() as cursor:
            # Rows first, then the gate, as those do who end turns.
            await cursor.execute(REROUTE, {"owner": self._process, **where(self._route())})
            await lock_gate(cursor)
            result = await run_gate(cursor, self._house)
            await ring(cursor, by=self._process, result=result)
        self._told(result, [])

    async def sweep(self, *, driven: list[int], watched: list[int]) -> None:
        """Pause turns of this process that no task drives, and waiting turns whose person has left.

        `watched` are the conversations with a page open here.
        """
        async with self._transaction() as cursor:
            await cursor.execute(WATCHED, {"conversations": watched})
            lost = await pause_orphans(cursor, self._house, process=self._process, driven=driven)
            lost += await pause_away(cursor, self._house)
            result = GateResult(admitted=[], lost=lost)
            await ring(cursor, by=self._process, result=result)
        self._told(result, [])

    async def admitted_among(self, turns: list[int]) -> list[Admitted]:
        """Which of this process's waiting turns have been admitted, in case the bell was lost."""
        async with self._pool.connection() as connection, connection.cursor() as cursor:
            await cursor.execute(MINE_ADMITTED, {"owner": self._process, "ids": turns})
            return [admitted_from(row) for row in await cursor.fetchall()]

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[AsyncCursor[Row]]:
        # The pool's connections commit each statement by itself; what belongs together says so. In a pipeline
        # statements travel together until somebody asks for a result.
        async with (
            self._pool.connection() as connection,
            connection.pipeline(),
            connection.transaction(),
            connection.cursor() as cursor,
        ):
            yield cursor

    async def _open_all(self, asked: Sequence[Asked]) -> list[Opened | NotOpened]:
        terms = {
            **where(self._route()),
            "owner": self._process,
            "persona": self._house.persona_version,
            "wait_s": self._house.wait_ceiling_s,
            "ceiling": self._house.ceiling,
            "most_waiting": self._house.most_waiting,
            "most_a_minute": self._house.most_a_minute,
        }
        async with self._transaction() as cursor:
            await lock_gate(cursor)
            opening = Opening(cursor.connection, asked)
            await opening.ask(terms)
            # The gate is the first to wait for an answer: until then everything travels together.
            result = await run_gate(cursor, self._house)
            opened = await opening.read(result.admitted)
            await ring(cursor, by=self._process, result=result, opened=opened)
        answers = await opening.answers()
        self._told(result, [])
        return answers

    async def _close_all(self, stories: Sequence[Story]) -> list[EndedTurn | None]:
        async with self._transaction() as cursor:
            ended = await end_turns(cursor, [story.ending for story in stories])
            by_turn = {one.turn: one for one in ended}
            # Of a turn that somebody else has ended, too: what its task learned is known to nobody else.
            await record(cursor, stories, by_turn)
            await lock_gate(cursor)
            result = await run_gate(cursor, self._house)
            await ring(cursor, by=self._process, result=result, ended=ended)
        self._told(result, ended)
        return [by_turn.pop(story.ending.turn, None) for story in stories]
