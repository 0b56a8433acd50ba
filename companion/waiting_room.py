"""The gate: one ceiling over all processes, first come first served, slots leased by heartbeat.

The gate is the only code that admits. It runs inside the transactions that open and end turns, when a bell
rings, and every second.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg import AsyncCursor

from companion.rows import Row
from companion.sweep import LOCK_LOST, pause_lost
from companion.turn_close import ClosedTurn
from companion.turn_conditions import EARLIER_IS_LIVE
from companion.turn_policy import TurnPolicy
from routing.contracts import Lane

GATE_KEY = 7_205_759_403

# The lock is a statement of its own: the deciding statement's snapshot must be younger than the lock, or two
# gates count the same free slot.
#
# Live turns are a few rows among millions, and they change faster than the statistics. So the planner may only use
# nested loops over indexes for the rest of the transaction.
LOCK_GATE = f"""
SELECT pg_advisory_xact_lock({GATE_KEY}), {
    ", ".join(
        f"set_config('{name}', 'off', true)"
        for name in (
            "enable_seqscan",
            "enable_bitmapscan",
            "enable_hashjoin",
            "enable_mergejoin",
            "enable_material",
        )
    )
}
"""

# Every waiting turn carries the limits it was opened under, so that a process with other lanes, another preset or
# another setting admits it correctly. Turns with the same limits form a queue; a full queue delays no other queue.
#
# The cost is bounded by the free slots and not by the length of the queues. `queues` finds their distinct limits by
# stepping along the index `turn_waiting`, one row for each queue. `candidates` reads as many turns from the front of
# each queue as it has free slots. `ORDER BY (id + 0)` can be satisfied by that index only: the primary key would
# offer its order as well, and lead through every turn ever stored.
#
# Rows are locked last, with SKIP LOCKED: the gate waits for no row. It checks the state again then, because a sweep
# does not take the gate lock. Turns admitted together get one timestamp.
ADMIT = f"""
WITH RECURSIVE on_lanes AS (
    SELECT lane, count(*) AS turns FROM companion_turn WHERE state = 'speaking' GROUP BY lane
),
in_flight AS (SELECT coalesce(sum(turns), 0) AS turns FROM on_lanes),
operators AS (SELECT value FROM companion_ceiling ORDER BY id DESC LIMIT 1),
queues AS (
    (SELECT t.lane, t.lane_takes, coalesce(t.preset_ceiling, -1) AS preset, coalesce(t.house_ceiling, -1) AS house
     FROM companion_turn t WHERE t.state = 'waiting'
     ORDER BY t.lane, t.lane_takes, coalesce(t.preset_ceiling, -1), coalesce(t.house_ceiling, -1) LIMIT 1)
    UNION ALL
    SELECT next.* FROM queues q CROSS JOIN LATERAL (
        SELECT t.lane, t.lane_takes, coalesce(t.preset_ceiling, -1), coalesce(t.house_ceiling, -1)
        FROM companion_turn t
        WHERE t.state = 'waiting'
          AND (t.lane, t.lane_takes, coalesce(t.preset_ceiling, -1), coalesce(t.house_ceiling, -1))
              > (q.lane, q.lane_takes, q.preset, q.house)
        ORDER BY t.lane, t.lane_takes, coalesce(t.preset_ceiling, -1), coalesce(t.house_ceiling, -1) LIMIT 1
    ) next
),
limits AS (
    SELECT q.*, coalesce((SELECT turns FROM on_lanes l WHERE l.lane = q.lane), 0) AS on_lane,
           coalesce((SELECT value FROM operators), nullif(q.house, -1), %(ceiling)s) AS ceiling,
           (SELECT turns FROM in_flight) AS in_flight
    FROM queues q
),
candidates AS (
    SELECT front.id, q.lane, q.lane_takes, q.ceiling, nullif(q.preset, -1) AS preset, q.in_flight, q.on_lane
    FROM limits q
    CROSS JOIN LATERAL (
        SELECT t.id FROM companion_turn t JOIN companion_process p ON p.id = t.owner
        WHERE t.state = 'waiting'
          AND t.lane = q.lane AND t.lane_takes = q.lane_takes
          AND coalesce(t.preset_ceiling, -1) = q.preset AND coalesce(t.house_ceiling, -1) = q.house
          AND NOT p.draining
          AND p.beat_at >= clock_timestamp() - make_interval(secs => %(lease_s)s)
          AND NOT {EARLIER_IS_LIVE}
        ORDER BY (t.id + 0)
        LIMIT greatest(0, least(q.lane_takes - q.on_lane, q.ceiling - q.in_flight,
                                CASE WHEN q.preset >= 0 THEN q.preset - q.in_flight END))
    ) front
),
in_line AS (
    SELECT *, on_lane + row_number() OVER (PARTITION BY lane ORDER BY id) AS place_on_lane FROM candidates
),
fitting AS (
    SELECT *, in_flight + row_number() OVER (ORDER BY id) AS place FROM in_line WHERE place_on_lane <= lane_takes
),
ready AS (
    SELECT t.id FROM companion_turn t
    WHERE t.id = ANY (ARRAY(
        SELECT id FROM fitting WHERE place <= ceiling AND (preset IS NULL OR place <= preset)
    )) AND t.state = 'waiting'
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
UPDATE companion_turn t
SET state = 'speaking', fence = t.fence + 1, admitted_at = statement_timestamp()
WHERE t.id = ANY (ARRAY(SELECT id FROM ready))
RETURNING t.id, t.conversation_id, t.owner, t.fence, t.lane
"""

# Locks a turn that moves on to a later lane of its chain. The row is locked before the gate, in the order in which
# closing transactions lock.
LOCK_MOVING = "SELECT id FROM companion_turn WHERE id = ANY(%(ids)s) ORDER BY id FOR NO KEY UPDATE"
ENTER_LANE = """
UPDATE companion_turn t SET lane = %(lane)s
WHERE t.id = %(turn)s AND t.owner = %(owner)s AND t.fence = %(fence)s AND t.state = 'speaking'
  AND %(takes)s > (SELECT count(*) FROM companion_turn s
                   WHERE s.state = 'speaking' AND s.lane = %(lane)s AND s.id <> t.id)
RETURNING t.id
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Admission:
    """Permission for a turn to speak. Every later write of the turn names this fence."""

    turn: int
    conversation: int
    owner: UUID
    fence: int
    lane: str
    """The lane on which it holds a slot: the first of its chain."""

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> "Admission":
        """From (turn, conversation, owner, fence, lane)."""
        turn, conversation, owner, fence, lane = row
        return cls(turn=turn, conversation=conversation, owner=owner, fence=fence, lane=lane)


@dataclass(frozen=True, kw_only=True, slots=True)
class GateResult:
    """What one run of the gate changed."""

    admitted: list[Admission]
    lost: list[ClosedTurn]


async def lock_gate(cursor: AsyncCursor[Row]) -> None:
    """Lock the gate until the transaction ends. Rows are locked before: with the gate, wait for no row."""
    await cursor.execute(LOCK_GATE)


async def run_gate(cursor: AsyncCursor[Row], policy: TurnPolicy) -> GateResult:
    """Pause the turns of dead processes and admit in order of arrival. The caller has locked the gate.

    The ceiling is the least of the operators' (the last row, or the setting), the preset's, and what the first
    lane of the chain takes.
    """
    limits = {"lease_s": policy.lease_s, "ceiling": policy.ceiling}
    lost_rows = await cursor.connection.execute(LOCK_LOST, limits)
    await cursor.execute(ADMIT, limits)
    admitted = await cursor.fetchall()
    lost = await pause_lost(cursor, policy, await lost_rows.fetchall())
    if lost:
        # Their slots are free now. This is rare, so the usual path does not wait for this answer before it admits.
        await cursor.execute(ADMIT, limits)
        admitted += await cursor.fetchall()
    return GateResult(
        admitted=sorted((Admission.from_row(row) for row in admitted), key=lambda one: one.turn), lost=lost
    )


def enter_lane_parameters(admission: Admission, lane: Lane) -> dict[str, Any]:
    """The parameters of `ENTER_LANE`: the turn, and the lane it goes on to."""
    return {
        "turn": admission.turn,
        "owner": admission.owner,
        "fence": admission.fence,
        "lane": lane.name,
        "takes": lane.max_in_flight,
    }
