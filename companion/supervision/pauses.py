"""The SQL of staff pauses: while one is open, the companion answers nothing for a person, a site or everyone."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import AsyncCursor

from companion.notifications import NOTIFY, StaffPausesChanged, notify_parameters
from companion.rows import Row
from companion.supervision.staff import Staff
from companion.supervision.states import PauseScope
from companion.turn_conditions import is_live
from companion.turn_policy import DraftedLines

EVERYONE = 0
"""The `about` of a pause for everyone."""
MAX_LISTED = 1_000
"""Open pauses that one read returns, the newest first."""

PAUSE = """
INSERT INTO companion_staffpause (scope, about, reason, by, by_name)
VALUES (%(scope)s, %(about)s, %(reason)s, %(user)s, %(name)s)
ON CONFLICT (scope, about) WHERE ended_at IS NULL DO NOTHING
RETURNING id
"""
RESUME = """
UPDATE companion_staffpause SET ended_at = clock_timestamp(), ended_by_name = %(name)s
WHERE scope = %(scope)s AND about = %(about)s AND ended_at IS NULL
RETURNING id
"""
# By the unique index of open pauses: their number, not that of ended ones, bounds the read.
READ_OPEN = """
SELECT id, scope, about, reason, by, by_name, at FROM companion_staffpause
WHERE ended_at IS NULL ORDER BY id DESC LIMIT %(limit)s
"""


def pause_in_force(participant: str, site: str) -> str:
    """Write the SQL of the narrowest open pause that concerns a participant of a site. Both are SQL expressions."""
    # The index of open pauses is small. Each of the three is looked up: a condition with OR would read all of it.
    return f"""
SELECT open.scope
FROM (VALUES (1, 'person', {participant}), (2, 'site', {site}), (3, 'everyone', {EVERYONE})) AS w(place, scope, about)
JOIN companion_staffpause open ON open.scope = w.scope AND open.about = w.about AND open.ended_at IS NULL
ORDER BY w.place LIMIT 1
"""


FIND_PAUSED_TURNS = f"""
SELECT t.id, ({pause_in_force("p.id", "p.site_id")}) AS scope, t.language
FROM companion_turn t
JOIN companion_conversation c ON c.id = t.conversation_id
JOIN companion_participant p ON p.id = c.participant_id
WHERE t.owner = %(process)s AND {is_live("t")}
  AND EXISTS (SELECT 1 FROM companion_staffpause open WHERE open.ended_at IS NULL)
"""
"""The live turns of a process, while any pause is open, each with the pause that concerns it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PauseView:
    """An open pause: who has paused whom, and why."""

    id: int
    scope: str
    about: int
    reason: str
    by: int | None
    by_name: str
    at: datetime


PAUSE_FIELDS = tuple(PauseView.__dataclass_fields__)


def choose_pause_line(lines: DraftedLines, scope: PauseScope) -> str:
    """Return the drafted line about a pause of this scope."""
    return lines.staff_pause_person if scope is PauseScope.PERSON else lines.staff_pause_site


async def pause(
    cursor: AsyncCursor[Row], scope: PauseScope, about: int, staff: Staff, *, reason: str
) -> PauseView | None:
    """Open a pause. Returns the open one if there was one before, and None for the new one.

    Every process pauses its turns when this transaction commits.
    """
    facts = {"scope": scope.value, "about": about, "reason": reason, "user": staff.user, "name": staff.name}
    await cursor.execute(PAUSE, facts)
    if await cursor.fetchone() is None:
        opened = [one for one in await read_open(cursor) if (one.scope, one.about) == (scope.value, about)]
        if opened:
            return opened[0]
    await _notify_pauses_changed(cursor)
    return None


async def resume(cursor: AsyncCursor[Row], scope: PauseScope, about: int, staff: Staff) -> bool:
    """End the open pause. False: there is none."""
    await cursor.execute(RESUME, {"scope": scope.value, "about": about, "name": staff.name})
    if await cursor.fetchone() is None:
        return False
    await _notify_pauses_changed(cursor)
    return True


async def read_open(cursor: AsyncCursor[Row]) -> list[PauseView]:
    """The open pauses, the newest first."""
    await cursor.execute(READ_OPEN, {"limit": MAX_LISTED})
    return [build_pause(row) for row in await cursor.fetchall()]


def build_pause(row: Sequence[Any]) -> PauseView:
    """The view of a row of `READ_OPEN`."""
    return PauseView(**dict(zip(PAUSE_FIELDS, row, strict=True)))


async def find_paused_turns(cursor: AsyncCursor[Row], process: UUID) -> dict[int, tuple[PauseScope, str]]:
    """The live turns of a process that an open pause concerns, with its scope and the language of the turn."""
    await cursor.execute(FIND_PAUSED_TURNS, {"process": process})
    rows: Sequence[tuple[Any, ...]] = await cursor.fetchall()
    return {turn: (PauseScope(scope), language) for turn, scope, language in rows if scope is not None}


async def _notify_pauses_changed(cursor: AsyncCursor[Row]) -> None:
    await cursor.execute(NOTIFY, notify_parameters(StaffPausesChanged(pauses=True)))
