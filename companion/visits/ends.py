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


def write_change(change: str, payload: str) -> str:
    """Write the statement that runs an UPDATE, returns the ids that it returns, and notifies every process of them.

    `payload`: the keys and values of the notification, in which `json_agg(id)` is at most `MAX_VISITS` of the ids.
    """
    return f"""
WITH changed AS ({change}),
notified AS (
    SELECT count(pg_notify('{CHANNEL}', payload)) AS times FROM (
        SELECT json_build_object({payload})::text AS payload
        FROM (SELECT id, row_number() OVER (ORDER BY id) - 1 AS place FROM changed) numbered
        GROUP BY place / {MAX_VISITS}) payloads
)
SELECT changed.id FROM changed, notified
"""


def write_end(visits: str) -> str:
    """Write the statement that ends visits. `visits` is an SQL array of their ids."""
    return write_change(
        f"""
    UPDATE companion_visit v SET ended_at = least(clock_timestamp(), v.expires_at), end_reason = %(reason)s
    WHERE v.id = ANY({visits}) AND {HAS_NOT_ENDED}
    RETURNING v.id""",
        # As in `notifications.VisitsEnded`.
        "'visits', json_agg(id), 'reason', %(reason)s::text, 'moved_to', %(moved_to)s::uuid",
    )


END_VISITS = write_end("%(visits)s::uuid[]")


def end_visits(
    cursor: SyncCursor, visits: Iterable[UUID], reason: EndReason, *, moved_to: UUID | None = None
) -> list[UUID]:
    """End those of the visits that have not ended, and return them. Sockets close once the transaction commits.

    `moved_to`: the visit in which their participant goes on.
    """
    cursor.execute(END_VISITS, {"visits": list(visits), "reason": reason.value, "moved_to": moved_to})
    return [row[0] for row in cursor.fetchall()]


async def end_visits_async(cursor: AsyncCursor[Any], visits: Iterable[UUID], reason: EndReason) -> list[UUID]:
    """The same on the pool of a process."""
    await cursor.execute(END_VISITS, {"visits": list(visits), "reason": reason.value, "moved_to": None})
    return [row[0] for row in await cursor.fetchall()]
