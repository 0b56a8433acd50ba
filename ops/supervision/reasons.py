"""Operators who do not supervise a site: they state a reason and read one conversation for an hour, on record."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from psycopg import AsyncCursor

from companion.rows import Row
from companion.supervision.staff import Staff
from ops import audit
from ops.access import StaffAccess
from ops.database import execute, fetch_one
from ops.supervision.record import record_entry

IN_FORCE_FOR = timedelta(hours=1)
MAX_LISTED = 100

STATE = """
INSERT INTO ops_statedreason (staff, name, conversation, participant, site_id, reason, until)
SELECT %(staff)s, %(name)s, c.id, p.id, p.site_id, %(reason)s, clock_timestamp() + %(for)s
FROM companion_conversation c JOIN companion_participant p ON p.id = c.participant_id
WHERE c.id = %(conversation)s AND p.site_id = ANY(%(sites)s)
RETURNING participant
"""
# In force, by the index of a person's reasons.
READ_UNTIL = """
SELECT extract(epoch FROM until - clock_timestamp())::float8 FROM ops_statedreason
WHERE staff = %(staff)s AND until > statement_timestamp() AND conversation = %(conversation)s
ORDER BY until DESC LIMIT 1
"""
LIST_IN_FORCE = """
SELECT r.id, r.staff, r.name, r.conversation, r.participant, r.site_id, r.reason, r.at, r.until
FROM unnest(%(sites)s::bigint[]) AS wanted(id)
CROSS JOIN LATERAL (
    SELECT * FROM ops_statedreason WHERE site_id = wanted.id AND until > statement_timestamp()
    ORDER BY site_id DESC, until DESC LIMIT %(limit)s
) r
ORDER BY r.until DESC LIMIT %(limit)s
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReasonView:
    """Who reads which conversation without supervising its site, why, and until when."""

    id: int
    staff: int
    name: str
    conversation: int
    participant: int
    site: int
    reason: str
    at: datetime
    until: datetime


REASON_FIELDS = tuple(ReasonView.__dataclass_fields__)


async def state_reason(
    cursor: AsyncCursor[Row], conversation: int, staff: Staff, *, sites: Collection[int], reason: str
) -> bool:
    """Store a reason, as `clean_reason` returns it, and record it. False: no such conversation at these sites."""
    await cursor.execute(STATE, _reason_parameters(conversation, staff, sites, reason))
    row = await cursor.fetchone()
    if row is None:
        return False
    note = f"conversation {conversation}"
    await record_entry(cursor, audit.STATED_REASON, staff, about=row[0], note=note)
    return True


def store_reason(conversation: int, access: StaffAccess, *, reason: str) -> None:
    """The same for pages, without the entry in the record. Uses Django's connection."""
    staff = Staff(user=access.user or 0, name=access.name)
    execute(STATE, _reason_parameters(conversation, staff, access.sites, reason))


async def read_until(cursor: AsyncCursor[Row], conversation: int, staff: int) -> float | None:
    """For how many seconds this person may still read the conversation by a stated reason; None: they may not."""
    await cursor.execute(READ_UNTIL, {"staff": staff, "conversation": conversation})
    row = await cursor.fetchone()
    return None if row is None else row[0]


def has_stated_reason(conversation: int, staff: int) -> bool:
    """Whether they may, for pages. Uses Django's connection."""
    return fetch_one(READ_UNTIL, {"staff": staff, "conversation": conversation}) is not None


async def list_in_force(cursor: AsyncCursor[Row], sites: Collection[int]) -> list[ReasonView]:
    """The reasons in force at these sites, the newest first."""
    await cursor.execute(LIST_IN_FORCE, {"sites": sorted(sites), "limit": MAX_LISTED})
    return [build_reason(row) for row in await cursor.fetchall()]


def build_reason(row: Sequence[Any]) -> ReasonView:
    """The view of a row of `LIST_IN_FORCE`."""
    return ReasonView(**dict(zip(REASON_FIELDS, row, strict=True)))


def _reason_parameters(
    conversation: int, staff: Staff, sites: Collection[int], reason: str
) -> dict[str, Any]:
    return {
        "staff": staff.user,
        "name": staff.name,
        "conversation": conversation,
        "sites": sorted(sites),
        "reason": reason,
        "for": IN_FORCE_FOR,
    }
