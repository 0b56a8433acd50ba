"""The only recovery path: pauses turns that no living process drives, with exactly the words that were stored."""

from collections.abc import Sequence
from uuid import UUID

from psycopg import AsyncCursor

from companion.rows import Row
from companion.states import Reason, TurnState
from companion.turn_close import ClosedTurn, close_locked
from companion.turn_conditions import is_live
from companion.turn_end import TurnEnd
from companion.turn_policy import TurnPolicy

# Steps along the index `turn_by_owner` from one owner of live turns to the next, and reads the turns of dead owners
# only. The gate runs this each time, so its cost must not grow with the number of waiting turns. LATERAL and `OFFSET 0`
# keep the planner from reading all live turns first, of which it takes most for those of dead owners.
LOCK_LOST = f"""
WITH RECURSIVE owners AS (
    (SELECT t.owner FROM companion_turn t WHERE {is_live("t")} ORDER BY owner LIMIT 1)
    UNION ALL
    SELECT next.owner FROM owners o CROSS JOIN LATERAL (
        SELECT t.owner FROM companion_turn t
        WHERE {is_live("t")} AND t.owner > o.owner ORDER BY t.owner LIMIT 1
    ) next
),
dead AS (
    SELECT o.owner FROM owners o LEFT JOIN companion_process p ON p.id = o.owner
    WHERE p.id IS NULL OR p.beat_at < clock_timestamp() - make_interval(secs => %(lease_s)s)
)
SELECT t.id, t.language
FROM dead
CROSS JOIN LATERAL (
    SELECT owned.id FROM companion_turn owned WHERE owned.owner = dead.owner AND {is_live("owned")} OFFSET 0
) lost
JOIN companion_turn t ON t.id = lost.id AND {is_live("t")}
ORDER BY t.id
FOR NO KEY UPDATE OF t SKIP LOCKED
"""

# A process learns of a turn a moment after its row exists, so turns younger than that are skipped. The owner is written
# as a range, which the planner takes for few turns: so it reads them by the index `turn_by_owner`.
LOCK_ORPHANS = f"""
SELECT t.id, t.language
FROM companion_turn t
WHERE {is_live("t")}
  AND t.owner >= %(process)s AND t.owner <= %(process)s
  AND t.id <> ALL(%(running)s)
  AND t.created_at < clock_timestamp() - interval '5 seconds'
ORDER BY t.id + 0
FOR NO KEY UPDATE OF t SKIP LOCKED
"""


MAX_IN_LINE = 1_000
"""Live turns, the oldest, among which the sweep looks for people who have left. The line moves up to there."""

# A person who has left gives up the place in line. The question is held until they come back. The front of the line is
# read in the order of `turn_live`, and pages only of those who have waited long enough: `OFFSET 0` keeps that order.
LOCK_AWAY = f"""
SELECT t.id, t.language
FROM (
    SELECT old.id, old.conversation_id FROM (
        SELECT id, conversation_id, state, created_at FROM companion_turn live
        WHERE {is_live("live")} ORDER BY id LIMIT {MAX_IN_LINE}
    ) old
    WHERE old.state = 'waiting' AND old.created_at < clock_timestamp() - make_interval(secs => %(away_s)s)
    OFFSET 0
) front
JOIN companion_conversation c ON c.id = front.conversation_id
JOIN companion_turn t ON t.id = front.id
WHERE t.state = 'waiting' AND c.watched_at < clock_timestamp() - make_interval(secs => %(away_s)s)
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
    cursor: AsyncCursor[Row], policy: TurnPolicy, *, process: UUID, running: list[int]
) -> list[ClosedTurn]:
    """Pause turns that name this living process as owner though none of its tasks drives them."""
    await cursor.execute(LOCK_ORPHANS, {"process": process, "running": running})
    return await _pause(cursor, policy, await cursor.fetchall(), Reason.LOST)


async def _pause(
    cursor: AsyncCursor[Row], policy: TurnPolicy, locked: Sequence[Row], reason: Reason
) -> list[ClosedTurn]:
    ends = [
        TurnEnd(
            turn=turn,
            state=TurnState.PAUSED,
            reason=reason,
            line=policy.in_language(language).lines.pause,
            hold_s=policy.hold_s,
        )
        for turn, language in locked
    ]
    return await close_locked(cursor, ends)
