"""The idle lock on the database's clock: signs of life, the lock, coming back, and the sweep.

A page locks itself by its own clock. The service locks by its own too, because a page may be frozen or killed.
"""

import logging
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connection
from psycopg import AsyncCursor
from psycopg_pool import AsyncConnectionPool

from companion.batch import Batch
from companion.notifications import CHANNEL, MAX_VISITS
from companion.visits.conditions import IS_LIVE, IS_LOCKED, IS_OPEN, LIMIT_PASSED
from companion.visits.ends import EndReason, end_visits_async

log = logging.getLogger(__name__)

LAG_S = 30
"""The service locks this much later than the page: the page reports a sign of life up to twenty seconds late."""
COME_BACK_WITHIN_S = 1_800
"""A visit that is locked for longer ends."""
MAX_UNLOCK_MISSES = 3
"""Wrong choices of pictures on a locked page after which it takes the code alone."""
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

# Keys of the payload as in `notifications.VisitsLocked`.
LOCK = f"""
WITH locked AS (
    UPDATE companion_visit v SET locked_at = clock_timestamp()
    WHERE v.id = ANY(%(visits)s::uuid[]) AND {IS_OPEN} AND v.locked_at IS NULL
    RETURNING v.id
),
notified AS (
    SELECT count(pg_notify('{CHANNEL}', payload)) AS times FROM (
        SELECT json_build_object('locked', json_agg(id))::text AS payload
        FROM (SELECT id, row_number() OVER (ORDER BY id) - 1 AS place FROM locked) numbered
        GROUP BY place / {MAX_VISITS}) payloads
)
SELECT locked.id FROM locked, notified
"""

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

COUNT_MISS = """
UPDATE companion_visit SET unlock_misses = unlock_misses + 1 WHERE id = %(visit)s RETURNING unlock_misses
"""

FORGIVE_MISS = "UPDATE companion_visit SET unlock_misses = unlock_misses - 1 WHERE id = %(visit)s"

DUE_TO_LOCK = f"""
SELECT v.id FROM companion_visit v
WHERE v.ended_at IS NULL AND v.locked_at IS NULL AND v.locks_at IS NOT NULL AND {LIMIT_PASSED}
ORDER BY v.locks_at LIMIT {MAX_SWEPT} FOR NO KEY UPDATE SKIP LOCKED
"""
LOCKED_TOO_LONG = f"""
SELECT v.id FROM companion_visit v
WHERE v.ended_at IS NULL AND v.locked_at IS NOT NULL
  AND v.locked_at <= clock_timestamp() - make_interval(secs => {COME_BACK_WITHIN_S})
ORDER BY v.locked_at LIMIT {MAX_SWEPT} FOR NO KEY UPDATE SKIP LOCKED
"""
PAST_THEIR_AGE = f"""
SELECT v.id FROM companion_visit v
WHERE v.ended_at IS NULL AND v.expires_at <= clock_timestamp()
ORDER BY v.expires_at LIMIT {MAX_SWEPT} FOR NO KEY UPDATE SKIP LOCKED
"""


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
            expired = await end_visits_async(cursor, await _find(cursor, PAST_THEIR_AGE), EndReason.EXPIRED)
            idle = await end_visits_async(cursor, await _find(cursor, LOCKED_TOO_LONG), EndReason.IDLE)
            await cursor.execute(LOCK, {"visits": await _find(cursor, DUE_TO_LOCK)})
            locked = await cursor.fetchall()
        if expired or idle or locked:
            log.info("visit.swept expired=%d idle=%d locked=%d", len(expired), len(idle), len(locked))


async def _find(cursor: AsyncCursor[Any], query: str) -> list[UUID]:
    await cursor.execute(query)
    return [row[0] for row in await cursor.fetchall()]
