"""Hands the waiting turns of a process that leaves to processes that stay.

The process that leaves offers them. The first process that claims a turn drives it; the turn keeps its place in line.
Processes of a release that knows no claims leave them, and they are paused as before.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg import AsyncCursor
from psycopg_pool import AsyncConnectionPool

from companion.notifications import NOTIFY, TurnsClaimed, WaitingOffered, notify_parameters
from companion.rows import Row
from companion.turn_conditions import is_live
from companion.turn_policy import TurnPolicy
from companion.visits.conditions import IS_OPEN

MAX_CLAIMED = 100
"""Turns that one statement claims, so that several processes share them."""

NO_VISIT = UUID(int=0)
"""For a turn whose participant has left meanwhile: no visit has this id."""

# Nearly always no process leaves, and nothing else is read. Turns are locked in the order of ids, as everywhere.
CLAIM = f"""
WITH leaving AS MATERIALIZED (
    SELECT id FROM companion_process
    WHERE draining AND beat_at >= clock_timestamp() - make_interval(secs => %(lease_s)s)
),
offered AS MATERIALIZED (
    SELECT t.id
    FROM leaving
    CROSS JOIN LATERAL (
        SELECT owned.id FROM companion_turn owned WHERE owned.owner = leaving.id AND {is_live("owned")} OFFSET 0
    ) owned
    JOIN companion_turn t ON t.id = owned.id AND t.state = 'waiting'
    ORDER BY t.id LIMIT {MAX_CLAIMED}
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
UPDATE companion_turn t SET owner = %(owner)s
WHERE t.id = ANY (ARRAY(SELECT id FROM offered))
RETURNING t.id, t.conversation_id, t.language, t.question,
          extract(epoch FROM t.wait_until - clock_timestamp())::float8,
          (SELECT v.id FROM companion_conversation c JOIN companion_visit v ON v.participant_id = c.participant_id
           WHERE c.id = t.conversation_id AND {IS_OPEN} ORDER BY v.expires_at DESC LIMIT 1)
"""

# One statement, so that it is known whether another process was there to hear it.
OFFER = """
SELECT pg_notify(%(channel)s, %(payload)s) FROM companion_process
WHERE NOT draining AND beat_at >= clock_timestamp() - make_interval(secs => %(lease_s)s) LIMIT 1
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimedTurn:
    """A waiting turn that this process drives from now on."""

    turn: int
    conversation: int
    language: str
    question: str
    wait_s: float
    """Seconds that are left of its wait; negative: it is over."""
    visit: UUID


async def claim_waiting(cursor: AsyncCursor[Row], policy: TurnPolicy, *, process: UUID) -> list[ClaimedTurn]:
    """Claim waiting turns of processes that leave, at most `MAX_CLAIMED`, and notify their former owners."""
    await cursor.execute(CLAIM, {"owner": process, "lease_s": policy.lease_s})
    claimed = [
        ClaimedTurn(
            turn=turn,
            conversation=conversation,
            language=language,
            question=question,
            wait_s=wait_s,
            visit=visit or NO_VISIT,
        )
        for turn, conversation, language, question, wait_s, visit in await cursor.fetchall()
    ]
    if claimed:
        taken = TurnsClaimed(by=process, claimed=tuple(one.turn for one in claimed))
        await cursor.execute(NOTIFY, notify_parameters(taken))
    return sorted(claimed, key=lambda one: one.turn)


async def offer_waiting(pool: AsyncConnectionPool[Any], policy: TurnPolicy, *, process: UUID) -> bool:
    """Ask the processes that stay to claim what waits here. False: none stays. Raises psycopg.Error."""
    channel, payload = notify_parameters(WaitingOffered(by=process, offered=True))
    async with pool.connection() as connection:
        cursor = await connection.execute(
            OFFER, {"channel": channel, "payload": payload, "lease_s": policy.lease_s}
        )
        return await cursor.fetchone() is not None
