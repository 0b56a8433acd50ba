"""The one way in which visits end: a compare-and-set that stores the reason and notifies every process.

Pages run the statement on Django's connection and processes on their own pool, so it is one statement with its
notifications in it. PostgreSQL delivers them when the transaction commits.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID

from psycopg import AsyncCursor

from companion.notifications import CHANNEL, MAX_VISITS
from companion.visits.conditions import HAS_NOT_ENDED


class EndReason(StrEnum):
    """Why a visit has ended, as stored."""

    FINISHED = "finished"
    """Its participant has pressed *I am finished*."""
    QUICK_EXIT = "quick_exit"
    IDLE = "idle"
    """It was locked, and its participant did not come back."""
    STAFF = "staff"
    MOVED = "moved"
    """Its participant has come in elsewhere."""
    EXPIRED = "expired"
    """It has reached its absolute age."""
    WITHDRAWN = "withdrawn"
    """The card was withdrawn, the site was closed, or the participant was erased."""
    REPLACED = "replaced"
    """Another visit was opened in the same browser."""


class SyncCursor(Protocol):
    """What is used of Django's cursor."""

    def execute(self, query: str, parameters: Mapping[str, Any]) -> Any: ...
    def fetchall(self) -> Sequence[tuple[Any, ...]]: ...


# Keys of the payload as in `notifications.VisitsEnded`, at most MAX_VISITS in each.
END_VISITS = f"""
WITH ended AS (
    UPDATE companion_visit v SET ended_at = least(clock_timestamp(), expires_at), end_reason = %(reason)s
    WHERE id = ANY(%(visits)s::uuid[]) AND {HAS_NOT_ENDED}
    RETURNING v.id
),
notified AS (
    SELECT count(pg_notify('{CHANNEL}', payload)) AS times FROM (
        SELECT json_build_object('visits', json_agg(id), 'reason', %(reason)s::text,
                                 'moved_to', %(moved_to)s::uuid)::text AS payload
        FROM (SELECT id, row_number() OVER (ORDER BY id) - 1 AS place FROM ended) numbered
        GROUP BY place / {MAX_VISITS}) payloads
)
SELECT ended.id FROM ended, notified
"""


def end_visits(
    cursor: SyncCursor, visits: Iterable[UUID], reason: EndReason, *, moved_to: UUID | None = None
) -> list[UUID]:
    """End those of the visits that have not ended, and return them. Sockets close once the transaction commits.

    `moved_to`: the visit in which their participant goes on.
    """
    facts = {"visits": list(visits), "reason": reason.value, "moved_to": moved_to}
    cursor.execute(END_VISITS, facts)
    return [row[0] for row in cursor.fetchall()]


async def end_visits_async(cursor: AsyncCursor[Any], visits: Iterable[UUID], reason: EndReason) -> list[UUID]:
    """The same on the pool of a process."""
    facts = {"visits": list(visits), "reason": reason.value, "moved_to": None}
    await cursor.execute(END_VISITS, facts)
    return [row[0] for row in await cursor.fetchall()]
