"""Admission: one ceiling over all processes, first come first served, slots leased by heartbeat.

The gate is the only code that admits. It runs inside the transactions that open and end turns, when a bell
rings, and every second.
"""

from dataclasses import dataclass
from uuid import UUID

from psycopg import AsyncCursor

from companion.folding import EndedTurn, Row
from companion.house import House
from companion.sweep import pause_lost

GATE_KEY = 7_205_759_403

# The lock is a statement of its own: the deciding statement's snapshot must be younger than the lock, or two
# gates count the same free slot.
LOCK_GATE = f"SELECT pg_advisory_xact_lock({GATE_KEY})"

ADMIT = """
WITH ready AS (
    SELECT t.id
    FROM companion_turn t
    JOIN companion_process p ON p.id = t.owner
    WHERE t.state = 'waiting'
      AND NOT p.draining
      AND p.beat_at >= clock_timestamp() - make_interval(secs => %(lease_s)s)
      AND NOT EXISTS (
          SELECT 1 FROM companion_turn earlier
          WHERE earlier.conversation_id = t.conversation_id
            AND earlier.id < t.id
            AND earlier.state IN ('waiting', 'speaking')
      )
    ORDER BY t.id
    LIMIT greatest(0, %(ceiling)s - (SELECT count(*) FROM companion_turn WHERE state = 'speaking'))
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
UPDATE companion_turn t
SET state = 'speaking', fence = t.fence + 1, admitted_at = clock_timestamp()
FROM ready
WHERE t.id = ready.id
RETURNING t.id, t.conversation_id, t.owner, t.fence
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Admitted:
    """A turn that may speak now. Every later write of it names this fence."""

    turn: int
    conversation: int
    owner: UUID
    fence: int


@dataclass(frozen=True, kw_only=True, slots=True)
class GateResult:
    """What one run of the gate changed."""

    admitted: list[Admitted]
    lost: list[EndedTurn]


async def lock_gate(cursor: AsyncCursor[Row]) -> None:
    """Take the gate for this transaction. Whoever holds it never waits for a row, so it cannot deadlock."""
    await cursor.execute(LOCK_GATE)


async def run_gate(cursor: AsyncCursor[Row], house: House) -> GateResult:
    """Free the slots of dead processes, then admit in order of arrival. The gate must be locked."""
    lost = await pause_lost(cursor, house)
    await cursor.execute(ADMIT, {"lease_s": house.lease_s, "ceiling": house.ceiling})
    admitted = [
        Admitted(turn=turn, conversation=conversation, owner=owner, fence=fence)
        for turn, conversation, owner, fence in await cursor.fetchall()
    ]
    return GateResult(admitted=sorted(admitted, key=lambda one: one.turn), lost=lost)
