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
f.site_id, f.site_name, f.turn, f.count, f.state, f.opened_at, f.last_at, f.seen_at, f.owner, f.owner_name,
f.accepted_at, f.handed_to, f.handed_to_name, f.closed_at, f.closed_by_name, f.outcome, f.stage
"""


def _write_read(flags: str) -> str:
    """The statement that reads the flags that a query gives, each with `site_name`, and adds names of participants.

    The people are looked up by the flags that were found: for a reader of many sites the planner expects so many flags
    that it would read everyone's names to join them.
    """
    return f"""
WITH f AS MATERIALIZED ({flags}),
people AS MATERIALIZED (
    SELECT id, name FROM companion_participant
    WHERE id = ANY (ARRAY(SELECT participant FROM f WHERE conversation_id IS NOT NULL))
)
SELECT {_COLUMNS} FROM f LEFT JOIN people p ON p.id = f.participant AND f.conversation_id IS NOT NULL ORDER BY f.id
"""


# By the index of flags that are not closed, so the cost does not grow with the closed ones. One read for all sites:
# where most flags are of one site, the planner would walk all flags by their ids for each site that has none.
LIST_NOT_CLOSED = _write_read("""
SELECT placed.*, s.name AS site_name FROM (
    SELECT *, row_number() OVER (PARTITION BY site_id ORDER BY id DESC) AS place
    FROM companion_flag WHERE site_id = ANY(%(sites)s::bigint[]) AND state <> 'closed'
) placed
JOIN companion_site s ON s.id = placed.site_id WHERE placed.place <= %(limit)s
""")
# The sites come first: joined to the flags of each, they were read once for every site of an operator.
READ_LAST = _write_read("""
SELECT newest.*, s.name AS site_name FROM companion_site s
CROSS JOIN LATERAL (
    SELECT * FROM companion_flag WHERE site_id = s.id ORDER BY site_id DESC, opened_at DESC LIMIT %(limit)s
) newest WHERE s.id = ANY(%(sites)s::bigint[])
""")
# `+ 0` leaves the primary key as the only index: a plan made while the table was small must not choose the site's.
READ_FLAGS = _write_read("""
SELECT flag.*, s.name AS site_name FROM companion_flag flag JOIN companion_site s ON s.id = flag.site_id
WHERE flag.id = ANY(%(flags)s) AND flag.site_id + 0 = ANY(%(sites)s)
""")
READ_OF_CONVERSATION = _write_read("""
SELECT newest.*, s.name AS site_name FROM (
    SELECT * FROM companion_flag WHERE conversation_id = %(conversation)s ORDER BY id DESC LIMIT %(limit)s
) newest JOIN companion_site s ON s.id = newest.site_id WHERE newest.site_id = ANY(%(sites)s)
""")
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
