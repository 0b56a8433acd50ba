"""The only writer of turns. Every change names the state and owner that it expects, and checks the rows it changed.

OpenBatch and ending turns run the gate in the same transaction, so the commit that frees a slot also fills
it. Both are batched: openings that arrive together share a transaction, and so do closings.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any
from uuid import UUID

from psycopg import AsyncCursor
from psycopg_pool import AsyncConnectionPool

from companion.batch import Batch
from companion.doorbell import notify_kept_changed, notify_turns_changed
from companion.hand_over import ClaimedTurn, claim_waiting
from companion.kept_questions import let_go, lock_kept_question, settle_question
from companion.lane_order import REROUTE, lane_order_parameters
from companion.rows import Row
from companion.states import Settlement, TurnState
from companion.supervision.flags import notify_flags_changed, raise_flag
from companion.sweep import pause_away, pause_orphans
from companion.transactions import open_transaction
from companion.turn_close import ClosedTurn, close_turns
from companion.turn_conditions import is_live
from companion.turn_end import TurnEnd
from companion.turn_open import (
    AskAgainRequest,
    OpenBatch,
    OpenedTurn,
    OpenRefusal,
    SayRequest,
    find_opened,
    open_parameters,
)
from companion.turn_policy import TurnPolicy
from companion.turn_record import record_ends
from companion.waiting_room import (
    ENTER_LANE,
    LOCK_MOVING,
    Admission,
    GateResult,
    enter_lane_parameters,
    lock_gate,
    run_gate,
)
from routing.chain import Route
from routing.contracts import Lane

# Of the conversations with an open page, those that wait, by the index `turn_beside`. Noted a few times within the time
# after which a person counts as away: each note writes a row.
MARK_WATCHED = f"""
UPDATE companion_conversation c SET watched_at = clock_timestamp()
WHERE c.id = ANY(%(conversations)s)
  AND c.watched_at < clock_timestamp() - make_interval(secs => %(away_s)s / 4)
  AND EXISTS (SELECT 1 FROM companion_turn t
              WHERE t.conversation_id + 0 = c.id AND {is_live("t")} AND t.state = 'waiting' OFFSET 0)
"""

READ_LIVE = f"""
SELECT t.state, t.id, t.conversation_id, t.owner, t.fence, t.lane FROM companion_turn t
WHERE t.owner = %(owner)s AND {is_live("t")} AND t.id = ANY(%(ids)s)
"""


class Ledger:
    """Writes turns for one process. `on_change` is called after each commit with what it changed.

    `route` names the lanes in the order in which waiting turns should wait for them.
    """

    def __init__(
        self,
        pool: AsyncConnectionPool[Any],
        policy: TurnPolicy,
        *,
        process: UUID,
        on_change: Callable[[GateResult, list[ClosedTurn]], None],
        route: Callable[[], Route],
    ) -> None:
        self._pool = pool
        self._policy = policy
        self._process = process
        self._on_change = on_change
        self._route = route
        self._parameters = open_parameters(policy, process)
        # A batch for each kind: an ending, which frees a slot, does not queue behind openings.
        self._openings: Batch[SayRequest, OpenedTurn | OpenRefusal] = Batch(self._open_all)
        self._closings: Batch[TurnEnd, ClosedTurn | None] = Batch(self._close_all)
        self._moves: Batch[tuple[Admission, Lane], bool] = Batch(self._move_all)

    async def open(self, request: SayRequest) -> OpenedTurn | OpenRefusal:
        """Store the question, waiting or admitted."""
        return await self._openings.submit(request)

    async def ask_again(self, request: AskAgainRequest) -> OpenedTurn | OpenRefusal:
        """Open a turn with a kept question and settle the old one, in one transaction."""
        async with self._transaction() as cursor:
            keep_s = self._policy.keep_s
            question = await lock_kept_question(cursor, visit=request.visit, turn=request.turn, keep_s=keep_s)
            if question is None:
                return await find_opened(cursor, request)
            await lock_gate(cursor)
            say = SayRequest(visit=request.visit, key=request.key, question=question)
            batch = OpenBatch(cursor.connection, [say])
            await batch.insert(self._open_parameters())
            result = await run_gate(cursor, self._policy)
            opened = await batch.read_new(result.admitted, self._policy)
            for _, conversation in opened:
                await settle_question(cursor, request.turn, Settlement.ASKED_AGAIN)
                await notify_kept_changed(cursor, by=self._process, conversation=conversation)
            await notify_turns_changed(cursor, by=self._process, result=result, opened=opened)
        # Sent inside the transaction, fetched after it: the gate is not held while the results travel.
        [answer] = await batch.read_answers()
        self._on_change(result, [])
        return answer

    async def let_go(self, *, conversation: int, turn: int) -> bool:
        """Settle a kept question: its participant does not want to ask it again. False: it is not kept any more."""
        async with self._transaction() as cursor:
            settled = await let_go(cursor, conversation=conversation, turn=turn, keep_s=self._policy.keep_s)
            if settled:
                await notify_kept_changed(cursor, by=self._process, conversation=conversation)
        return settled

    async def close(self, end: TurnEnd) -> ClosedTurn | None:
        """End a turn, free its slot and store its record. None: it had ended before, and only its record was added."""
        return await self._closings.submit(end)

    async def run_gate(self) -> GateResult:
        """Run the gate by itself. The process does so every second, in case a notification was lost."""
        async with self._transaction() as cursor:
            await lock_gate(cursor)
            result = await run_gate(cursor, self._policy)
            await notify_turns_changed(cursor, by=self._process, result=result)
        # After the commit: a turn that spoke earlier would write under a fence that no other transaction sees yet.
        self._on_change(result, [])
        return result

    async def enter_lane(self, admission: Admission, lane: Lane) -> bool:
        """Move a turn on to a lane further down its chain. False: the lane is full, or the turn is lost."""
        return await self._moves.submit((admission, lane))

    async def reroute(self) -> None:
        """Move the waiting turns of this process to the first lane of the current route."""
        async with self._transaction() as cursor:
            # Lock rows before the gate, in the order of `_close_all`, or the two deadlock.
            await cursor.execute(REROUTE, {"owner": self._process, **lane_order_parameters(self._route())})
            await lock_gate(cursor)
            result = await run_gate(cursor, self._policy)
            await notify_turns_changed(cursor, by=self._process, result=result)
        self._on_change(result, [])

    async def sweep(
        self, *, running: list[int], watched: list[int], claims: bool = False
    ) -> list[ClaimedTurn]:
        """Pause turns of this process that no task drives, and waiting turns whose person has left.

        `running` are the turns with a task here, `watched` the conversations with a page open here. With `claims` it
        returns turns of processes that leave, which are this process's from now on.
        """
        async with self._transaction() as cursor:
            # First, or `pause_away` in the same transaction would end turns whose page is open here.
            await cursor.execute(MARK_WATCHED, {"conversations": watched, "away_s": self._policy.away_s})
            lost = await pause_orphans(cursor, self._policy, process=self._process, running=running)
            lost += await pause_away(cursor, self._policy)
            claimed = await claim_waiting(cursor, self._policy, process=self._process) if claims else []
            # The slots freed here are filled by the next gate, within a second: the sweep does not lock it.
            result = GateResult(admitted=[], lost=lost)
            await notify_turns_changed(cursor, by=self._process, result=result)
        self._on_change(result, [])
        return claimed

    async def read_live(self, turns: list[int]) -> tuple[list[Admission], list[int]]:
        """Which of these turns may speak, and which this process has lost, in case a notification was lost."""
        async with self._transaction() as cursor:
            await cursor.execute(READ_LIVE, {"owner": self._process, "ids": turns})
            live = await cursor.fetchall()
        speaking = [Admission.from_row(row) for state, *row in live if state == TurnState.SPEAKING]
        return speaking, sorted(set(turns) - {turn for _, turn, *_ in live})

    def _transaction(self) -> AbstractAsyncContextManager[AsyncCursor[Row]]:
        # Once the lease is over, other processes end these turns.
        return open_transaction(self._pool, within_s=self._policy.lease_s, is_pipelined=True)

    def _open_parameters(self) -> dict[str, Any]:
        return {**lane_order_parameters(self._route()), **self._parameters}

    async def _open_all(self, requests: Sequence[SayRequest]) -> list[OpenedTurn | OpenRefusal]:
        async with self._transaction() as cursor:
            await lock_gate(cursor)
            # Under the lock, so that ids follow the order of arrival and the limits of one person count every turn.
            batch = OpenBatch(cursor.connection, requests)
            await batch.insert(self._open_parameters())
            # The gate is the first to fetch a result: until then the statements travel together.
            result = await run_gate(cursor, self._policy)
            opened = await batch.read_new(result.admitted, self._policy)
            await batch.raise_flags(cursor)
            await notify_turns_changed(cursor, by=self._process, result=result, opened=opened)
        answers = await batch.read_answers()
        self._on_change(result, [])
        return answers

    async def _move_all(self, moves: Sequence[tuple[Admission, Lane]]) -> list[bool]:
        async with self._transaction() as cursor:
            await cursor.execute(LOCK_MOVING, {"ids": [admission.turn for admission, _ in moves]})
            await lock_gate(cursor)
            # Under the gate's lock, because a move takes a slot that the gate would count as free.
            # One statement for each move, so that each counts the moves before it.
            cursors = [
                await cursor.connection.execute(ENTER_LANE, enter_lane_parameters(admission, lane))
                for admission, lane in moves
            ]
            return [await entered.fetchone() is not None for entered in cursors]

    async def _close_all(self, ends: Sequence[TurnEnd]) -> list[ClosedTurn | None]:
        async with self._transaction() as cursor:
            closed = await close_turns(cursor, ends)
            by_turn = {turn.turn: turn for turn in closed}
            # Also of a turn that was ended elsewhere: only this task knows which calls were made.
            await record_ends(cursor, ends, by_turn)
            await lock_gate(cursor)
            result = await run_gate(cursor, self._policy)
            # Under the gate: an opening that holds it may wait for the row of an equal flag.
            flags = [await raise_flag(cursor, end.flag) for end in ends if end.flag]
            await notify_flags_changed(cursor, [flag for flag in flags if flag])
            await notify_turns_changed(cursor, by=self._process, result=result, ended=closed)
        self._on_change(result, closed)
        # Two ends of one turn may share a batch. The first of them has closed it.
        return [by_turn.pop(end.turn, None) for end in ends]
