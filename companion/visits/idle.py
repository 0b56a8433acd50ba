"""The idle lock on the database's clock: signs of life, the lock, coming back, and the sweep.

A page locks itself by its own clock. The service locks by its own too, because a page may be frozen or killed.
"""

import logging
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connection
from psycopg_pool import AsyncConnectionPool

from companion.batch import Batch
from companion.visits.conditions import IS_LIVE, IS_LOCKED, IS_OPEN, LIMIT_PASSED
from companion.visits.ends import EndReason, write_change, write_end

log = logging.getLogger(__name__)

LAG_S = 30
"""The service locks this much later than the page: the page reports a sign of life up to twenty seconds late."""
COME_BACK_WITHIN_S = 1_800
"""A visit that is locked for longer ends."""
MAX_UNLOCK_MISSES = 3
UNLOCK_MISSES_DAYS = 30
"""After so many wrong choices of pictures for one participant in this time, locked pages of the machine take the code
alone. There are 132 choices; neither a new visit nor a right choice brings new tries."""
MAX_UNLOCK_MISSES_ON_MACHINE = 12
UNLOCK_MISSES_ON_MACHINE_DAYS = 7
"""The same for all participants of the machine together."""
MAX_SWEPT = 100
"""Visits of each kind that one sweep takes."""

IDLE_S = """
(s.idle_s * coalesce((SELECT n.idle_factor FROM companion_needs n WHERE n.participant_id = p.id), 1))
"""
"""Seconds after which a visit of participant `p` of site `s` locks."""
IDLE_LEFT_S = f"least(extract(epoch FROM v.locks_at - clock_timestamp()) - {LAG_S}, {IDLE_S})"
"""Seconds until the page of visit `v` locks; null: it does not. No more than IDLE_S, if the clock was set back."""
_NEXT_LOCK = f"clock_timestamp() + make_interval(secs => {IDLE_S} + {LAG_S})"

NOTE_ACTIVE = f"""
UPDATE companion_visit v SET active_at = clock_timestamp(), locks_at = {_NEXT_LOCK}
FROM companion_participant p JOIN companion_site s ON s.id = p.site_id
WHERE v.id = ANY(%(visits)s::uuid[]) AND p.id = v.participant_id AND {IS_LIVE}
"""


def write_lock(visits: str) -> str:
    """Write the statement that locks visits. `visits` is an SQL array of their ids."""
    return write_change(
        f"""
    UPDATE companion_visit v SET locked_at = clock_timestamp()
    WHERE v.id = ANY({visits}) AND {IS_OPEN} AND v.locked_at IS NULL
    RETURNING v.id""",
        # As in `notifications.VisitsLocked`.
        "'locked', json_agg(id)",
    )


LOCK = write_lock("%(visits)s::uuid[]")

# What was typed before the lock is offered again, as that of an earlier visit.
UNLOCK = f"""
WITH unlocked AS (
    UPDATE companion_visit v SET locked_at = NULL, active_at = clock_timestamp(), locks_at = {_NEXT_LOCK}
    FROM companion_participant p JOIN companion_site s ON s.id = p.site_id
    WHERE v.id = %(visit)s AND p.id = v.participant_id AND p.is_active AND s.is_open AND {IS_LOCKED}
    RETURNING v.id, v.participant_id
),
offered AS (
    UPDATE companion_draft d SET visit = '00000000-0000-0000-0000-000000000000'
    FROM unlocked u JOIN companion_conversation c ON c.participant_id = u.participant_id
    WHERE d.conversation_id = c.id
)
SELECT id FROM unlocked
"""

COUNT_MISS = "UPDATE companion_visit SET unlock_misses = unlock_misses + 1 WHERE id = %(visit)s"

# Each sum follows an index: the visits of a participant by their end, and those of a machine that have misses.
READ_MISSES = f"""
SELECT (SELECT coalesce(sum(v.unlock_misses), 0) FROM companion_visit v
        WHERE v.participant_id = l.participant_id AND v.machine_id IS NOT DISTINCT FROM l.machine_id
          AND v.expires_at > clock_timestamp() - make_interval(days => {UNLOCK_MISSES_DAYS})),
       (SELECT coalesce(sum(v.unlock_misses), 0) FROM companion_visit v
        WHERE v.machine_id = l.machine_id AND v.unlock_misses > 0
          AND v.expires_at > clock_timestamp() - make_interval(days => {UNLOCK_MISSES_ON_MACHINE_DAYS}))
FROM companion_visit l WHERE l.id = %(visit)s
"""


def _due(condition: str, *, by: str) -> str:
    """Write the SQL array of the visits for which it is time, the first ones by this column, and lock their rows.

    Each condition matches an index of visits that have not ended.
    """
    return f"""ARRAY(
        SELECT v.id FROM companion_visit v WHERE v.ended_at IS NULL AND {condition}
        ORDER BY {by} LIMIT {MAX_SWEPT} FOR NO KEY UPDATE SKIP LOCKED)"""


END_EXPIRED = write_end(_due("v.expires_at <= clock_timestamp()", by="v.expires_at"))
END_LOCKED = write_end(
    _due(
        "v.locked_at IS NOT NULL"
        f" AND v.locked_at <= clock_timestamp() - make_interval(secs => {COME_BACK_WITHIN_S})",
        by="v.locked_at",
    )
)
LOCK_DUE = write_lock(
    _due(f"v.locked_at IS NULL AND v.locks_at IS NOT NULL AND {LIMIT_PASSED}", by="v.locks_at")
)


def note_active(visit: UUID) -> None:
    """Its participant has given a sign of life on a page without a socket."""
    with connection.cursor() as cursor:
        cursor.execute(NOTE_ACTIVE, {"visits": [visit]})


class IdleLocks:
    """Notes signs of life, and locks and ends visits whose time has passed, for the sockets of a process."""

    def __init__(self, pool: AsyncConnectionPool[Any]) -> None:
        self._pool = pool
        self._active: Batch[UUID, None] = Batch(self._note_active)

    async def note_active(self, visit: UUID) -> None:
        """Its participant has given a sign of life. Concurrent notes share a statement. Raises psycopg.Error."""
        await self._active.submit(visit)

    async def _note_active(self, visits: Sequence[UUID]) -> list[None]:
        async with self._pool.connection() as native, native.cursor() as cursor:
            await cursor.execute(NOTE_ACTIVE, {"visits": sorted(set(visits))})
        return [None] * len(visits)

    async def sweep(self) -> None:
        """Lock visits without a sign of life; end those locked for too long, and those past their absolute age.

        Several processes may sweep at once: each takes visits that no other has taken. Raises psycopg.Error.
        """
        async with self._pool.connection() as native, native.cursor() as cursor:
            await cursor.execute(END_EXPIRED, {"reason": EndReason.EXPIRED.value, "moved_to": None})
            expired = cursor.rowcount
            await cursor.execute(END_LOCKED, {"reason": EndReason.IDLE.value, "moved_to": None})
            idle = cursor.rowcount
            await cursor.execute(LOCK_DUE)
            locked = cursor.rowcount
        if expired or idle or locked:
            log.info("visit.swept expired=%d idle=%d locked=%d", expired, idle, locked)
