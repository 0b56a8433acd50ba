"""Reads flags and their steps for staff. No statement reads a participant's text.

Each read names the sites that the reader may see, and follows an index whose size does not grow with closed flags, or
reads a fixed number of the newest rows.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import AsyncCursor

from companion.rows import Row

MAX_LISTED_PER_SITE = 200
"""Flags of one site that a list holds, the newest first. Staff close flags, so a site seldom has a dozen."""
MAX_STEPS = 100
"""Steps of one flag that a read returns, the newest."""

_COLUMNS = """
f.id, f.tier, f.kind, f.source, f.rule, f.about_staff, f.conversation_id, f.participant, coalesce(p.name, ''),
f.site_id, s.name, f.turn, f.count, f.state, f.opened_at, f.last_at, f.seen_at, f.owner, f.owner_name, f.accepted_at,
f.handed_to, f.handed_to_name, f.closed_at, f.closed_by_name, f.outcome, f.stage
"""
_WHOSE = """
LEFT JOIN companion_conversation c ON c.id = f.conversation_id
LEFT JOIN companion_participant p ON p.id = c.participant_id
"""
_JOINS = f"JOIN companion_site s ON s.id = f.site_id {_WHOSE}"
# For each site by its index of flags that are not closed, so the cost does not grow with the closed ones. The sites
# come first: joined to the flags of each, they were read once for every site of an operator.
LIST_NOT_CLOSED = f"""
SELECT {_COLUMNS}
FROM companion_site s
CROSS JOIN LATERAL (
    SELECT * FROM companion_flag WHERE site_id = s.id AND state <> 'closed' ORDER BY id DESC LIMIT %(limit)s
) f {_WHOSE}
WHERE s.id = ANY(%(sites)s::bigint[]) ORDER BY f.id
"""
READ_LAST = f"""
SELECT {_COLUMNS}
FROM companion_site s
CROSS JOIN LATERAL (
    SELECT * FROM companion_flag WHERE site_id = s.id ORDER BY site_id DESC, opened_at DESC LIMIT %(limit)s
) f {_WHOSE}
WHERE s.id = ANY(%(sites)s::bigint[]) ORDER BY f.id
"""
# `+ 0` leaves the primary key as the only index: a plan made while the table was small must not choose the site's.
READ_FLAGS = f"""
SELECT {_COLUMNS} FROM companion_flag f {_JOINS}
WHERE f.id = ANY(%(flags)s) AND f.site_id + 0 = ANY(%(sites)s) ORDER BY f.id
"""
READ_OF_CONVERSATION = f"""
SELECT {_COLUMNS}
FROM (SELECT * FROM companion_flag WHERE conversation_id = %(conversation)s ORDER BY id DESC LIMIT %(limit)s) f {_JOINS}
WHERE f.site_id = ANY(%(sites)s) ORDER BY f.id
"""
READ_STEPS = """
SELECT s.flag_id, s.at, s.what, s.who, s.note
FROM unnest(%(flags)s::bigint[]) AS wanted(flag)
CROSS JOIN LATERAL (
    SELECT * FROM companion_flagstep WHERE flag_id = wanted.flag ORDER BY flag_id DESC, id DESC LIMIT %(limit)s
) s
ORDER BY s.id
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class FlagView:
    """A flag as staff see it: no participant's text."""

    id: int
    tier: str
    kind: str
    source: str
    rule: str
    about_staff: bool
    conversation: int | None
    """None once the person is erased."""
    participant: int
    participant_name: str
    site: int
    site_name: str
    turn: int | None
    count: int
    state: str
    opened_at: datetime
    last_at: datetime
    seen_at: datetime | None
    owner: int | None
    owner_name: str
    accepted_at: datetime | None
    handed_to: int | None
    handed_to_name: str
    closed_at: datetime | None
    closed_by_name: str
    outcome: str
    stage: int


@dataclass(frozen=True, kw_only=True, slots=True)
class FlagStepView:
    """One step in the life of a flag. `note` is written by staff."""

    flag: int
    at: datetime
    what: str
    who: str
    note: str


FLAG_FIELDS = tuple(FlagView.__dataclass_fields__)


def build_view(row: Sequence[Any]) -> FlagView:
    """The view of a row with the columns of these statements."""
    return FlagView(**dict(zip(FLAG_FIELDS, row, strict=True)))


async def list_open(cursor: AsyncCursor[Row], sites: Collection[int]) -> list[FlagView]:
    """The flags of these sites that are not closed, the newest 200 of each site, in the order of their ids."""
    await cursor.execute(LIST_NOT_CLOSED, {"sites": sorted(sites), "limit": MAX_LISTED_PER_SITE})
    return [build_view(row) for row in await cursor.fetchall()]


async def read_flags(
    cursor: AsyncCursor[Row], flags: Collection[int], *, sites: Collection[int]
) -> list[FlagView]:
    """Those of these flags that are of these sites, in any state."""
    await cursor.execute(READ_FLAGS, {"flags": sorted(flags), "sites": sorted(sites)})
    return [build_view(row) for row in await cursor.fetchall()]


async def read_of_conversation(
    cursor: AsyncCursor[Row], conversation: int, *, sites: Collection[int], limit: int = 20
) -> tuple[list[FlagView], list[FlagStepView]]:
    """The last flags of a conversation with their steps, oldest first."""
    await cursor.execute(
        READ_OF_CONVERSATION, {"conversation": conversation, "sites": sorted(sites), "limit": limit}
    )
    views = [build_view(row) for row in await cursor.fetchall()]
    return views, await read_steps(cursor, [view.id for view in views])


async def read_steps(cursor: AsyncCursor[Row], flags: Collection[int]) -> list[FlagStepView]:
    """The steps of these flags, oldest first: of each flag the newest `MAX_STEPS`."""
    await cursor.execute(READ_STEPS, {"flags": sorted(flags), "limit": MAX_STEPS})
    return [
        FlagStepView(flag=flag, at=at, what=what, who=who, note=text)
        for flag, at, what, who, text in await cursor.fetchall()
    ]
