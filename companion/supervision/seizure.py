"""Seizure: a person, or the quiet, takes the place of the companion, and every live turn ends with the same commit.

Lock order. A seizure locks the live turns, then the control row, and waits for no turn after that. It never takes the
gate. An opening holds the gate and then waits for control rows, so what holds a control row must not wait for the gate.
A statement on several control rows skips those that are locked.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

import psycopg
from psycopg import AsyncCursor

from companion.rows import Row
from companion.states import Reason, TurnState
from companion.turn_close import ClosedTurn, close_locked
from companion.turn_conditions import is_live
from companion.turn_end import TurnEnd

Result = TypeVar("Result")

SEIZE_TRIES = 20
SEIZE_RETRY_S = 0.02

# The conditions match the index `turn_beside`, which holds live turns only.
LOCK_LIVE = f"""
SELECT t.id FROM companion_turn t WHERE t.conversation_id + 0 = %(conversation)s AND {is_live("t")}
ORDER BY t.id + 0 FOR NO KEY UPDATE
"""
READ_LIVE = f"""
SELECT t.id FROM companion_turn t WHERE t.conversation_id + 0 = %(conversation)s AND {is_live("t")}
"""
LOCK_NEW = f"""
SELECT t.id FROM companion_turn t WHERE t.id = ANY(%(turns)s) AND {is_live("t")}
ORDER BY t.id FOR NO KEY UPDATE SKIP LOCKED
"""


class LiveTurnsBusy(Exception):
    """A live turn is being changed by another transaction. Roll back and seize again."""


async def seize(
    cursor: AsyncCursor[Row], conversation: int, *, claim: Callable[[], Awaitable[Row | None]], reason: Reason
) -> tuple[Row, list[ClosedTurn]] | None:
    """End every live turn of a conversation as handed over, together with `claim`, which updates the control row.

    Returns what `claim` returned, and the turns. None: `claim` changed no row, and nothing was ended. Raises
    LiveTurnsBusy.
    """
    await cursor.execute(LOCK_LIVE, {"conversation": conversation})
    locked = {row[0] for row in await cursor.fetchall()}
    claimed = await claim()
    if claimed is None:
        return None
    # Openings waited for, or wait for, the control row. A turn opened before that is live now, and not locked.
    await cursor.execute(READ_LIVE, {"conversation": conversation})
    live = {row[0] for row in await cursor.fetchall()}
    if new := live - locked:
        await cursor.execute(LOCK_NEW, {"turns": sorted(new)})
        if {row[0] for row in await cursor.fetchall()} != new:
            raise LiveTurnsBusy
    ends = [TurnEnd(turn=turn, state=TurnState.HANDED_OVER, reason=reason) for turn in sorted(live)]
    return claimed, await close_locked(cursor, ends)


async def retry_seizure(
    begin: Callable[[], AbstractAsyncContextManager[AsyncCursor[Row]]],
    call: Callable[[AsyncCursor[Row]], Awaitable[Result]],
) -> Result:
    """Run `call`, which seizes, in a transaction that `begin` opens, and again while live turns are being changed.

    Raises LiveTurnsBusy if they still are after `SEIZE_TRIES`.
    """
    for _ in range(SEIZE_TRIES):
        try:
            async with begin() as cursor:
                return await call(cursor)
        except (LiveTurnsBusy, psycopg.errors.DeadlockDetected):
            await asyncio.sleep(SEIZE_RETRY_S)
    raise LiveTurnsBusy
