"""What staff do with flags: each change compares and sets, adds a step, and notifies every process when it commits.

A flag has exactly one owner once it is accepted, and only its owner closes it. Its person may have been erased
meanwhile: it can still be accepted and closed. No statement reads or writes a participant's text.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from psycopg import AsyncCursor

from companion.notifications import NOTIFY, FlagsChanged, notify_parameters
from companion.rows import Row
from companion.supervision.flag_views import FlagView, read_flags
from companion.supervision.staff import Staff
from companion.supervision.states import FlagOutcome, FlagState, FlagStepKind

ADD_STEP = """
INSERT INTO companion_flagstep (flag_id, what, who, note) VALUES (%(flag)s, %(what)s, %(who)s, %(note)s)
"""

MARK_SEEN = """
WITH known AS (
    SELECT id, seen_at, least(count, %(count)s) AS shown FROM companion_flag
    WHERE id = %(flag)s AND site_id = ANY(%(sites)s) AND state = 'open' FOR NO KEY UPDATE
)
UPDATE companion_flag f SET seen_at = coalesce(f.seen_at, clock_timestamp()), shown_count = known.shown
FROM known WHERE f.id = known.id AND f.shown_count < known.shown
RETURNING f.site_id, known.seen_at IS NULL
"""

ACCEPT = """
UPDATE companion_flag
SET state = 'accepted', owner = %(user)s, owner_name = %(name)s, accepted_at = clock_timestamp(),
    seen_at = coalesce(seen_at, clock_timestamp()), next_stage_at = NULL
WHERE id = %(flag)s AND site_id = ANY(%(sites)s) AND state = 'open'
RETURNING site_id
"""

HAND = """
UPDATE companion_flag SET handed_to = %(to)s, handed_to_name = %(to_name)s
WHERE id = %(flag)s AND site_id = ANY(%(sites)s) AND state = 'accepted' AND owner = %(user)s
RETURNING site_id
"""

# Without a name to take it from, only the one it was handed to takes it on. An owner who is gone can be named, so
# that no flag is left without a person.
TAKE_ON = """
UPDATE companion_flag
SET owner = %(user)s, owner_name = %(name)s, handed_to = NULL, handed_to_name = ''
WHERE id = %(flag)s AND site_id = ANY(%(sites)s) AND state = 'accepted' AND owner <> %(user)s
  AND (handed_to = %(user)s OR owner = %(from_owner)s)
RETURNING site_id
"""

CLOSE = """
UPDATE companion_flag
SET state = 'closed', closed_at = clock_timestamp(), closed_by_name = %(name)s, outcome = %(outcome)s,
    handed_to = NULL, handed_to_name = ''
WHERE id = %(flag)s AND site_id = ANY(%(sites)s) AND state = 'accepted' AND owner = %(user)s
RETURNING site_id
"""


class FlagRefusal(StrEnum):
    """Why a change of a flag was refused."""

    NOT_THERE = "not_there"
    """There is no such flag at the caller's sites."""
    NOT_ACCEPTED = "not_accepted"
    ACCEPTED = "accepted"
    """Another person has accepted it."""
    NOT_OWNER = "not_owner"
    NOT_HANDED = "not_handed"
    """It was not handed to the caller, and its owner is not the one that the caller named."""
    CLOSED = "closed"


@dataclass(frozen=True, kw_only=True, slots=True)
class FlagRefused:
    """A change that was refused; `owner_name` is empty while the flag has no owner."""

    why: FlagRefusal
    owner_name: str = ""


async def add_step(
    cursor: AsyncCursor[Row], flag: int, what: FlagStepKind, *, who: str = "", note: str = ""
) -> None:
    """Add a step to the life of a flag."""
    await cursor.execute(ADD_STEP, {"flag": flag, "what": what.value, "who": who, "note": note})


async def mark_seen(
    cursor: AsyncCursor[Row], flag: int, staff: Staff, *, sites: Collection[int], count: int = 1
) -> bool:
    """Note that a screen of the site's staff shows the flag with so many causes.

    Returns whether it is the first screen. Nothing changes if one showed as many causes, or there is no such open flag.
    """
    facts = {"flag": flag, "sites": sorted(sites), "count": count}
    await cursor.execute(MARK_SEEN, facts)
    row = await cursor.fetchone()
    if row is None:
        return False
    site, is_first = row
    if is_first:
        await _add_change(cursor, flag, site, FlagStepKind.SEEN, staff)
    else:
        await _notify_changed(cursor, flag, site)
    return bool(is_first)


async def accept(
    cursor: AsyncCursor[Row], flag: int, staff: Staff, *, sites: Collection[int]
) -> FlagView | FlagRefused:
    """Make the caller the owner of an open flag. The owner's own second press changes nothing and is no refusal."""
    site = await _change(cursor, ACCEPT, flag, sites, staff)
    if site is None:
        found = await _find(cursor, flag, sites)
        if isinstance(found, FlagView) and found.state == FlagState.ACCEPTED and found.owner == staff.user:
            return found
        return _explain(found, FlagRefusal.ACCEPTED)
    await _add_change(cursor, flag, site, FlagStepKind.ACCEPTED, staff)
    return await _read(cursor, flag, sites)


async def note(
    cursor: AsyncCursor[Row], flag: int, staff: Staff, *, sites: Collection[int], text: str
) -> FlagView | FlagRefused:
    """Add a note to a flag in any state."""
    found = await _find(cursor, flag, sites)
    if found is None:
        return FlagRefused(why=FlagRefusal.NOT_THERE)
    await _add_change(cursor, flag, found.site, FlagStepKind.NOTED, staff, text)
    return found


async def hand(
    cursor: AsyncCursor[Row], flag: int, staff: Staff, *, sites: Collection[int], to: Staff
) -> FlagView | FlagRefused:
    """Offer the flag to another person, who takes it on by name. The caller owns it until then."""
    site = await _change(cursor, HAND, flag, sites, staff, to=to.user, to_name=to.name)
    if site is None:
        return _explain(await _find(cursor, flag, sites), FlagRefusal.NOT_OWNER)
    await _add_change(cursor, flag, site, FlagStepKind.HANDED, staff, f"to {to.name}")
    return await _read(cursor, flag, sites)


async def take_on(
    cursor: AsyncCursor[Row],
    flag: int,
    staff: Staff,
    *,
    sites: Collection[int],
    from_owner: int | None = None,
) -> FlagView | FlagRefused:
    """Take on a flag that was handed to the caller, or that its owner, named by id, cannot look after any more."""
    before = await _find(cursor, flag, sites)
    site = await _change(cursor, TAKE_ON, flag, sites, staff, from_owner=from_owner)
    if site is None:
        found = await _find(cursor, flag, sites)
        if found is not None and found.state == FlagState.ACCEPTED and found.owner == staff.user:
            return found
        return _explain(found, FlagRefusal.NOT_HANDED)
    was_owned_by = before.owner_name if before else ""
    await _add_change(cursor, flag, site, FlagStepKind.TAKEN_ON, staff, f"from {was_owned_by}")
    return await _read(cursor, flag, sites)


async def close(
    cursor: AsyncCursor[Row],
    flag: int,
    staff: Staff,
    *,
    sites: Collection[int],
    outcome: FlagOutcome,
    text: str,
) -> FlagView | FlagRefused:
    """Close a flag that the caller owns, with what was found and why."""
    site = await _change(cursor, CLOSE, flag, sites, staff, outcome=outcome.value)
    if site is None:
        return _explain(await _find(cursor, flag, sites), FlagRefusal.NOT_OWNER)
    await _add_change(cursor, flag, site, FlagStepKind.CLOSED, staff, text)
    return await _read(cursor, flag, sites)


async def _change(
    cursor: AsyncCursor[Row],
    statement: str,
    flag: int,
    sites: Collection[int],
    staff: Staff | None = None,
    **values: Any,
) -> int | None:
    """Run a compare-and-set. Returns the site of the flag, or None if nothing was changed."""
    who = {"user": staff.user, "name": staff.name} if staff else {}
    await cursor.execute(statement, {"flag": flag, "sites": sorted(sites), **who, **values})
    row = await cursor.fetchone()
    return row[0] if row else None


async def _add_change(
    cursor: AsyncCursor[Row], flag: int, site: int, what: FlagStepKind, staff: Staff, text: str = ""
) -> None:
    await add_step(cursor, flag, what, who=staff.name, note=text)
    await _notify_changed(cursor, flag, site)


async def _notify_changed(cursor: AsyncCursor[Row], flag: int, site: int) -> None:
    await cursor.execute(NOTIFY, notify_parameters(FlagsChanged(flags=((flag, site),))))


async def _find(cursor: AsyncCursor[Row], flag: int, sites: Collection[int]) -> FlagView | None:
    found = await read_flags(cursor, [flag], sites=sites)
    return found[0] if found else None


async def _read(cursor: AsyncCursor[Row], flag: int, sites: Collection[int]) -> FlagView:
    [view] = await read_flags(cursor, [flag], sites=sites)
    return view


def _explain(found: FlagView | None, otherwise: FlagRefusal) -> FlagRefused:
    if found is None:
        return FlagRefused(why=FlagRefusal.NOT_THERE)
    if found.state == FlagState.CLOSED:
        return FlagRefused(why=FlagRefusal.CLOSED, owner_name=found.closed_by_name)
    if found.state == FlagState.OPEN:
        return FlagRefused(why=FlagRefusal.NOT_ACCEPTED)
    return FlagRefused(why=otherwise, owner_name=found.owner_name)
