"""Kept questions: their hold is over without an answer, so the page offers them back.

The participant asks one again or lets it go. After `TurnPolicy.keep_s` it is offered no more, and staff see it as
expired.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg import AsyncCursor

from companion.rows import Row
from companion.states import Settlement
from companion.visits.conditions import IS_LIVE

MAX_OFFERED = 5
"""Kept questions of one conversation that a page shows at once, the oldest first."""

# Stable times, so that an index can bound the scan.
_KEPT_SINCE = "statement_timestamp() - make_interval(secs => %(keep_s)s)"
_IS_UNSETTLED = f"""t.answered_by_id IS NULL AND t.settled = '{Settlement.NOT}'
    AND t.closed_at > {_KEPT_SINCE}"""
IS_KEPT = f"""t.state = 'paused' AND {_IS_UNSETTLED}
    AND t.held_until <= statement_timestamp() AND t.held_until > {_KEPT_SINCE}"""

# The kept questions by conversation, oldest first. The expressions match the index `turn_unsettled`. Order and state
# are written so that no other index matches them: the planner could otherwise read the kept questions of everyone.
KEPT_TURNS = f"""
SELECT c.id, array_agg(kept.id ORDER BY kept.id)
FROM unnest(%(conversations)s::bigint[]) AS c(id)
CROSS JOIN LATERAL (
    SELECT t.id FROM companion_turn t
    WHERE t.conversation_id + 0 = c.id AND t.held_until IS NOT NULL AND {_IS_UNSETTLED}
      AND t.state || '' = 'paused'
      AND (t.conversation_id + 0, t.held_until) > (c.id, {_KEPT_SINCE})
      AND (t.conversation_id + 0, t.held_until) <= (c.id, statement_timestamp())
    ORDER BY t.id + 0 LIMIT %(offered)s) kept
GROUP BY c.id
"""

# Locks the row before the gate: of two tabs that ask it again, one finds it kept and the other settled.
LOCK_KEPT = f"""
SELECT t.question FROM companion_turn t
JOIN companion_conversation c ON c.id = t.conversation_id
JOIN companion_visit v ON v.participant_id = c.participant_id
WHERE v.id = %(visit)s AND {IS_LIVE}
  AND t.id = %(turn)s AND {IS_KEPT}
FOR NO KEY UPDATE OF t
"""

SETTLE = """
UPDATE companion_turn SET settled = %(settled)s, settled_at = clock_timestamp()
WHERE id = %(turn)s AND settled = ''
"""

LET_GO = f"""
UPDATE companion_turn t SET settled = '{Settlement.LET_GO}', settled_at = clock_timestamp()
WHERE t.id = %(turn)s AND t.conversation_id = %(conversation)s AND {IS_KEPT}
RETURNING t.id
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptQuestion:
    """One kept question as it is offered. `turn` is the turn that did not answer it."""

    turn: int
    question: str
    line: str

    def to_offer(self) -> dict[str, Any]:
        """Return the shape in `hello` and `kept` frames: turn, question, line."""
        return {"turn": self.turn, "question": self.question, "line": self.line}


async def lock_kept_question(
    cursor: AsyncCursor[Row], *, visit: UUID, turn: int, keep_s: float
) -> str | None:
    """Lock a kept question of this visit's participant until the transaction ends. None: it is no longer kept."""
    facts: dict[str, Any] = {"visit": visit, "turn": turn, "keep_s": keep_s}
    await cursor.execute(LOCK_KEPT, facts)
    row = await cursor.fetchone()
    return None if row is None else row[0]


async def settle_question(cursor: AsyncCursor[Row], turn: int, settled: Settlement) -> None:
    """Settle a question whose row this transaction has locked."""
    await cursor.execute(SETTLE, {"turn": turn, "settled": settled.value})


async def let_go(cursor: AsyncCursor[Row], *, conversation: int, turn: int, keep_s: float) -> bool:
    """Settle a kept question as let go. False: it is no longer kept."""
    await cursor.execute(LET_GO, {"conversation": conversation, "turn": turn, "keep_s": keep_s})
    return await cursor.fetchone() is not None
