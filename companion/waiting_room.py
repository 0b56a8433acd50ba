"""Admission: one ceiling over all processes, first come first served, slots leased by heartbeat.

The gate is the only code that admits. It runs inside the transactions that open and end turns, when a bell
rings, and every second.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg import AsyncCursor

from companion.folding import EndedTurn, Row
from companion.house import House
from companion.sweep import LOCK_LOST, pause_lost
from routing.contracts import Lane

GATE_KEY = 7_205_759_403

# The lock is a statement of its own: the deciding statement's snapshot must be younger than the lock, or two
# gates count the same free slot.
LOCK_GATE = f"SELECT pg_advisory_xact_lock({GATE_KEY})"

# Every waiting turn carries the limits it was opened under, so that a process with other lanes, another preset or
# another setting admits it rightly too. Whoever waits for a full lane stands in nobody's way who waits for another.
# The rows are locked last, and only where nobody else holds them: a gate waits for no row. It looks at the state once
# more then, for a sweep needs no gate.
# All who are let in together are let in at one moment; a clock read for each row would show an order there is none of.
ADMIT = """
WITH speaking AS (
    SELECT lane, count(*) AS turns FROM companion_turn WHERE state = 'speaking' GROUP BY lane
),
in_line AS (
    SELECT t.id, t.lane, t.lane_takes, t.preset_ceiling, coalesce(t.house_ceiling, %(ceiling)s) AS house_ceiling,
           (SELECT coalesce(sum(turns), 0) FROM speaking) AS speaking,
           coalesce(s.turns, 0) + row_number() OVER (PARTITION BY t.lane ORDER BY t.id) AS on_lane
    FROM companion_turn t
    JOIN companion_process p ON p.id = t.owner
    LEFT JOIN speaking s ON s.lane = t.lane
    WHERE t.state = 'waiting'
      AND NOT p.draining
      AND p.beat_at >= clock_timestamp() - make_interval(secs => %(lease_s)s)
      AND NOT EXISTS (
          SELECT 1 FROM companion_turn earlier
          WHERE earlier.conversation_id = t.conversation_id
            AND earlier.id < t.id
            AND earlier.state IN ('waiting', 'speaking')
      )
),
fitting AS (
    SELECT in_line.*, speaking + row_number() OVER (ORDER BY id) AS in_flight
    FROM in_line WHERE on_lane <= lane_takes AND (preset_ceiling IS NULL OR speaking < preset_ceiling)
),
ready AS (
    SELECT t.id FROM companion_turn t JOIN fitting f ON f.id = t.id
    WHERE t.state = 'waiting'
      AND f.in_flight <= coalesce((SELECT value FROM companion_ceiling ORDER BY id DESC LIMIT 1), f.house_ceiling)
      AND (f.preset_ceiling IS NULL OR f.in_flight <= f.preset_ceiling)
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
UPDATE companion_turn t
SET state = 'speaking', fence = t.fence + 1, admitted_at = statement_timestamp()
FROM ready
WHERE t.id = ready.id
RETURNING t.id, t.conversation_id, t.owner, t.fence, t.lane
"""

# Before a turn moves on to a lane that is not the head of its chain. Its row is locked before the gate, as by those who
# end turns.
LOCK_MOVING = "SELECT id FROM companion_turn WHERE id = ANY(%(ids)s) ORDER BY id FOR NO KEY UPDATE"
ENTER_LANE = """
UPDATE companion_turn t SET lane = %(lane)s
WHERE t.id = %(turn)s AND t.owner = %(owner)s AND t.fence = %(fence)s AND t.state = 'speaking'
  AND %(takes)s > (SELECT count(*) FROM companion_turn s
                   WHERE s.state = 'speaking' AND s.lane = %(lane)s AND s.id <> t.id)
RETURNING t.id
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Admitted:
    """A turn that may speak now. Every later write of it names this fence."""

    turn: int
    conversation: int
    owner: UUID
    fence: int
    lane: str
    """The lane on which it holds a slot: the first of its chain."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GateResult:
    """What one run of the gate changed."""

    admitted: list[Admitted]
    lost: list[EndedTurn]


async def lock_gate(cursor: AsyncCursor[Row]) -> None:
    """Take the gate for this transaction. Rows are locked before it: whoever holds it waits for none."""
    await cursor.execute(LOCK_GATE)


async def run_gate(cursor: AsyncCursor[Row], house: House) -> GateResult:
    """Admit in order of arrival, into the slots of dead processes too. The gate must be locked.

    The ceiling is the least of the operators' (the last row, or the setting), the preset's, and what the first
    lane of the chain takes.
    """
    limits = {"lease_s": house.lease_s, "ceiling": house.ceiling}
    dead = await cursor.connection.execute(LOCK_LOST, limits)
    await cursor.execute(ADMIT, limits)
    admitted = await cursor.fetchall()
    lost = await pause_lost(cursor, house, await dead.fetchall())
    if lost:
        # Their slots are free now. It seldom happens, so nobody else waits for its answer before the first look.
        await cursor.execute(ADMIT, limits)
        admitted += await cursor.fetchall()
    return GateResult(
        admitted=sorted((admitted_from(row) for row in admitted), key=lambda one: one.turn), lost=lost
    )


def entering(admitted: Admitted, lane: Lane) -> dict[str, Any]:
    """What `ENTER_LANE` is told of a turn and the lane it goes on to."""
    return {
        "turn": admitted.turn,
        "owner": admitted.owner,
        "fence": admitted.fence,
        "lane": lane.name,
        "takes": lane.max_in_flight,
    }


def admitted_from(row: Sequence[Any]) -> Admitted:
    """An Admitted from (turn, conversation, owner, fence, lane)."""
    turn, conversation, owner, fence, lane = row
    return Admitted(turn=turn, conversation=conversation, owner=owner, fence=fence, lane=lane)
