"""The only writer of turns. Every change names the state and owner it expects and looks at what came back.

OpenBatch and ending turns run the gate in the same transaction, so a freed slot is taken by the very commit
that frees it. Both gather: all openings of a moment are one transaction, and so are all endings.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import psycopg
from psycopg import AsyncCursor
from psycopg_pool import AsyncConnectionPool

from companion.batch import Batch
from companion.doorbell import notify_kept_changed, notify_turns_changed
from companion.kept_questions import let_go, lock_kept_question, settle_question
from companion.lane_order import REROUTE, where
from companion.states import Settlement, TurnState
from companion.sweep import pause_away, pause_orphans
from companion.turn_close import ClosedTurn, Row, end_turns
from companion.turn_open import AskAgainRequest, OpenBatch, OpenedTurn, OpenRefusal, SayRequest, find_opened
from companion.turn_policy import TurnPolicy
from companion.turn_record import Story, record
from companion.waiting_room import (
    ENTER_LANE,
    LOCK_MOVING,
    Admission,
    GateResult,
    admitted_from,
    entering,
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

MINE = """
SELECT t.state, t.id, t.conversation_id, t.owner, t.fence, t.lane FROM companion_turn t
WHERE t.owner = %(owner)s AND t.state IN ('waiting', 'speaking') AND t.id = ANY(%(ids)s)
"""


class Ledger:
    """Writes turns on behalf of one process. `told` hears, after each commit, what it changed."""

    def __init__(
        self,
        pool: AsyncConnectionPool[Any],
        policy: TurnPolicy,
        *,
        process: UUID,
        told: Callable[[GateResult, list[ClosedTurn]], None],
        route: Callable[[], Route],
    ) -> None:
        self._pool = pool
        self._policy = policy
        self._process = process
        self._told = told
        self._route = route
        self._openings: Batch[SayRequest, OpenedTurn | OpenRefusal] = Batch(self._open_all)
        self._endings: Batch[Story, ClosedTurn | None] = Batch(self._close_all)
        self._moves: Batch[tuple[Admission, Lane], bool] = Batch(self._enter_all)

    async def open(self, asked: SayRequest) -> OpenedTurn | OpenRefusal:
        """Store the question, waiting or admitted."""
        return await self._openings.submit(asked)

    async def ask_again(self, again: AskAgainRequest) -> OpenedTurn | OpenRefusal:
        """Open a turn with a kept question and settle the old one, in one transaction."""
        async with self._transaction() as cursor:
            keep_s = self._policy.keep_s
            question = await lock_kept_question(cursor, visit=again.visit, turn=again.turn, keep_s=keep_s)
            if question is None:
                return await find_opened(cursor, again)
            await lock_gate(cursor)
            asked = SayRequest(visit=again.visit, key=again.key, question=question)
            opening = OpenBatch(cursor.connection, [asked])
            await opening.ask(self._terms())
            result = await run_gate(cursor, self._policy)
            opened = await opening.read(result.admitted)
            for _, conversation in opened:
                await settle_question(cursor, again.turn, Settlement.ASKED_AGAIN)
                await notify_kept_changed(cursor, by=self._process, conversation=conversation)
            await notify_turns_changed(cursor, by=self._process, result=result, opened=opened)
        [answer] = await opening.answers()
        self._told(result, [])
        return answer

    async def let_go(self, *, conversation: int, turn: int) -> bool:
        """Settle a kept question: its participant does not want to ask it again. False: it is not kept any more."""
        async with self._transaction() as cursor:
            settled = await let_go(cursor, conversation=conversation, turn=turn, keep_s=self._policy.keep_s)
            if settled:
                await notify_kept_changed(cursor, by=self._process, conversation=conversation)
        return settled

    async def close(self, story: Story) -> ClosedTurn | None:
        """End a turn, free its slot and keep its story. None: it had ended already, and its story has been added."""
        return await self._endings.submit(story)

    async def gate(self) -> GateResult:
        """Run the gate by itself: on a bell, and every second in case a bell was lost."""
        async with self._transaction() as cursor:
            await lock_gate(cursor)
            result = await run_gate(cursor, self._policy)
            await notify_turns_changed(cursor, by=self._process, result=result)
        self._told(result, [])
        return result

    async def enter_lane(self, admitted: Admission, lane: Lane) -> bool:
        """Move a turn on to a lane further down its chain. False: that lane takes no more, or the turn is lost."""
        return await self._moves.submit((admitted, lane))

    async def reroute(self) -> None:
        """Let the waiting turns of this process wait for the head of the chain that is in force now."""
        async with self._transaction() as cursor:
            # Rows first, then the gate, as those do who end turns.
            await cursor.execute(REROUTE, {"owner": self._process, **where(self._route())})
            await lock_gate(cursor)
            result = await run_gate(cursor, self._policy)
            await notify_turns_changed(cursor, by=self._process, result=result)
        self._told(result, [])

    async def sweep(self, *, driven: list[int], watched: list[int]) -> None:
        """Pause turns of this process that no task drives, and waiting turns whose person has left.

        `watched` are the conversations with a page open here.
        """
        async with self._transaction() as cursor:
            await cursor.execute(WATCHED, {"conversations": watched})
            lost = await pause_orphans(cursor, self._policy, process=self._process, driven=driven)
            lost += await pause_away(cursor, self._policy)
            result = GateResult(admitted=[], lost=lost)
            await notify_turns_changed(cursor, by=self._process, result=result)
        self._told(result, [])

    async def standing(self, turns: list[int]) -> tuple[list[Admission], list[int]]:
        """Which of this process's turns may speak, and which are its own no more, in case a bell was lost."""
        async with self._transaction() as cursor:
            await cursor.execute(MINE, {"owner": self._process, "ids": turns})
            live = await cursor.fetchall()
        speaking = [admitted_from(facts) for state, *facts in live if state == TurnState.SPEAKING]
        return speaking, sorted(set(turns) - {turn for _, turn, *_ in live})

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[AsyncCursor[Row]]:
        # The pool's connections commit each statement by itself; what belongs together says so. In a pipeline
        # statements travel together until somebody asks for a result.
        try:
            async with (
                asyncio.timeout(self._policy.lease_s),
                self._pool.connection() as connection,
                connection.pipeline(),
                connection.transaction(),
                connection.cursor() as cursor,
            ):
                yield cursor
        except TimeoutError:
            # By then the turns are somebody else's to end.
            raise psycopg.OperationalError("the database did not answer within the lease") from None

    def _terms(self) -> dict[str, Any]:
        """What new turns are given, and the limits under which they are opened."""
        return {
            **where(self._route()),
            "owner": self._process,
            "persona": self._policy.persona_version,
            "wait_s": self._policy.wait_ceiling_s,
            "ceiling": self._policy.ceiling,
            "most_waiting": self._policy.most_waiting,
            "most_a_minute": self._policy.most_a_minute,
        }

    async def _open_all(self, asked: Sequence[SayRequest]) -> list[OpenedTurn | OpenRefusal]:
        async with self._transaction() as cursor:
            await lock_gate(cursor)
            opening = OpenBatch(cursor.connection, asked)
            await opening.ask(self._terms())
            # The gate is the first to wait for an answer: until then everything travels together.
            result = await run_gate(cursor, self._policy)
            opened = await opening.read(result.admitted)
            await notify_turns_changed(cursor, by=self._process, result=result, opened=opened)
        answers = await opening.answers()
        self._told(result, [])
        return answers

    async def _enter_all(self, moves: Sequence[tuple[Admission, Lane]]) -> list[bool]:
        async with self._transaction() as cursor:
            await cursor.execute(LOCK_MOVING, {"ids": [admitted.turn for admitted, _ in moves]})
            await lock_gate(cursor)
            # One after the other, so that each counts those before it.
            entered = [
                await cursor.connection.execute(ENTER_LANE, entering(admitted, lane))
                for admitted, lane in moves
            ]
            return [await one.fetchone() is not None for one in entered]

    async def _close_all(self, stories: Sequence[Story]) -> list[ClosedTurn | None]:
        async with self._transaction() as cursor:
            ended = await end_turns(cursor, [story.ending for story in stories])
            by_turn = {one.turn: one for one in ended}
            # Of a turn that somebody else has ended, too: what its task learned is known to nobody else.
            await record(cursor, stories, by_turn)
            await lock_gate(cursor)
            result = await run_gate(cursor, self._policy)
            await notify_turns_changed(cursor, by=self._process, result=result, ended=ended)
        self._told(result, ended)
        return [by_turn.pop(story.ending.turn, None) for story in stories]
