"""The only recovery path: turns whose owner has died are paused, with exactly the words that were stored."""

from collections.abc import Sequence
from uuid import UUID

from psycopg import AsyncCursor

from companion.states import Reason, TurnState
from companion.turn_close import ClosedTurn, Ending, Row, fold
from companion.turn_policy import TurnPolicy

# Steps along the index `turn_by_owner` from one owner of live turns to the next, and reads the turns of dead owners
# only: the gate runs this, however many turns wait.
LOCK_LOST = """
WITH RECURSIVE owners AS (
    (SELECT owner FROM companion_turn WHERE state IN ('waiting', 'speaking') ORDER BY owner LIMIT 1)
    UNION ALL
    SELECT next.owner FROM owners o CROSS JOIN LATERAL (
        SELECT t.owner FROM companion_turn t
        WHERE t.state IN ('waiting', 'speaking') AND t.owner > o.owner ORDER BY t.owner LIMIT 1
    ) next
),
dead AS (
    SELECT o.owner FROM owners o LEFT JOIN companion_process p ON p.id = o.owner
    WHERE p.id IS NULL OR p.beat_at < clock_timestamp() - make_interval(secs => %(lease_s)s)
)
SELECT t.id
FROM companion_turn t
WHERE t.owner = ANY (ARRAY(SELECT owner FROM dead))
  AND t.state IN ('waiting', 'speaking')
ORDER BY t.id
FOR NO KEY UPDATE OF t SKIP LOCKED
"""

# A turn is known to its process a moment after its row exists, so the youngest are left alone.
LOCK_ORPHANS = """
SELECT t.id
FROM companion_turn t
WHERE t.state IN ('waiting', 'speaking')
  AND t.owner = %(process)s
  AND t.id <> ALL(%(driven)s)
  AND t.created_at < clock_timestamp() - interval '5 seconds'
ORDER BY t.id
FOR NO KEY UPDATE OF t SKIP LOCKED
"""


# Whoever has left gives the place up to those who are here; the question is held for when they come back.
LOCK_AWAY = """
SELECT t.id
FROM companion_turn t JOIN companion_conversation c ON c.id = t.conversation_id
WHERE t.state = 'waiting'
  AND greatest(c.watched_at, t.created_at) < clock_timestamp() - make_interval(secs => %(away_s)s)
ORDER BY t.id
FOR NO KEY UPDATE OF t SKIP LOCKED
"""


async def pause_lost(cursor: AsyncCursor[Row], policy: TurnPolicy, locked: Sequence[Row]) -> list[ClosedTurn]:
    """Pause the live turns that `LOCK_LOST` found: their owner's heartbeat is older than the lease."""
    return await _pause(cursor, policy, locked, Reason.LOST)


async def pause_away(cursor: AsyncCursor[Row], policy: TurnPolicy) -> list[ClosedTurn]:
    """Pause every waiting turn whose person has had no page open for too long."""
    await cursor.execute(LOCK_AWAY, {"away_s": policy.away_s})
    return await _pause(cursor, policy, await cursor.fetchall(), Reason.AWAY)


async def pause_orphans(
    cursor: AsyncCursor[Row], policy: TurnPolicy, *, process: UUID, driven: list[int]
) -> list[ClosedTurn]:
    """Pause turns that name this living process as owner though none of its tasks drives them."""
    await cursor.execute(LOCK_ORPHANS, {"process": process, "driven": driven})
    return await _pause(cursor, policy, await cursor.fetchall(), Reason.LOST)


async def _pause(
    cursor: AsyncCursor[Row], policy: TurnPolicy, locked: Sequence[Row], reason: Reason
) -> list[ClosedTurn]:
    endings = [
        Ending(
            turn=turn, state=TurnState.PAUSED, reason=reason, line=policy.lines.pause, hold_s=policy.hold_s
        )
        for (turn,) in locked
    ]
    return await fold(cursor, endings)
