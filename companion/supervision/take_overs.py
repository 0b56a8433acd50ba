"""Take-overs: a member of staff speaks instead of the companion, for as long as their screen shows the conversation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from psycopg import AsyncCursor

from companion.languages import find_texts
from companion.rows import Row
from companion.states import Reason
from companion.supervision.causes import FlagCause
from companion.supervision.control import CARE_S
from companion.supervision.entries import NewEntry, insert_entry
from companion.supervision.flags import RaisedFlag, raise_flag
from companion.supervision.seizure import seize
from companion.supervision.states import EntryKind, FlagKind, FlagSource, FlagTier
from companion.turn_close import ClosedTurn
from companion.turn_policy import DraftedLines, TurnPolicy

MAX_LEASES_LOST = 50
"""Take-overs that one transaction ends because their screens are gone."""

TAKE_OVER = f"""
UPDATE companion_control k
SET person = %(staff)s, person_name = %(name)s, person_since = clock_timestamp(), person_seen_at = clock_timestamp(),
    take_overs = k.take_overs + 1,
    care_until = CASE WHEN k.quiet_since IS NULL THEN k.care_until
                      ELSE clock_timestamp() + make_interval(secs => {CARE_S}) END,
    quiet_since = NULL, quiet_until = NULL, quiet_told = false
FROM companion_conversation c JOIN companion_participant p ON p.id = c.participant_id
WHERE k.conversation_id = %(conversation)s AND c.id = k.conversation_id AND p.site_id = ANY(%(sites)s)
  AND k.person IS NULL
RETURNING k.take_overs
"""

FIND_PERSON = """
SELECT k.person, k.person_name FROM companion_control k
JOIN companion_conversation c ON c.id = k.conversation_id
JOIN companion_participant p ON p.id = c.participant_id
WHERE k.conversation_id = %(conversation)s AND p.site_id = ANY(%(sites)s)
"""

HAND_BACK = """
UPDATE companion_control k
SET person = NULL, person_name = '', person_since = NULL, person_seen_at = NULL
WHERE k.conversation_id = %(conversation)s AND k.person = %(staff)s
RETURNING k.conversation_id
"""

LOCK_PERSON = """
SELECT k.person_name FROM companion_control k
WHERE k.conversation_id = %(conversation)s AND k.person = %(staff)s
FOR NO KEY UPDATE
"""

RENEW_LEASES = """
WITH held AS (
    SELECT conversation_id FROM companion_control
    WHERE conversation_id = ANY(%(conversations)s) AND person = %(staff)s FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE companion_control k SET person_seen_at = clock_timestamp() FROM held
WHERE k.conversation_id = held.conversation_id
"""

LOSE_LEASES = f"""
WITH lost AS (
    SELECT conversation_id, person, person_name FROM companion_control
    WHERE person IS NOT NULL AND person_seen_at < clock_timestamp() - make_interval(secs => %(lease_s)s)
    ORDER BY person_seen_at LIMIT {MAX_LEASES_LOST} FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE companion_control k
SET person = NULL, person_name = '', person_since = NULL, person_seen_at = NULL
FROM lost WHERE k.conversation_id = lost.conversation_id
RETURNING k.conversation_id, lost.person, lost.person_name
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class TookOver:
    """The conversation is taken over. `closed` are the turns that ended with it."""

    number: int
    entry: int
    closed: tuple[ClosedTurn, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldBy:
    """A member of staff, perhaps the same, had taken over before."""

    person: int
    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LostLease:
    """A take-over that ended because its screen is gone, and the flag that says so."""

    conversation: int
    person: int
    flag: RaisedFlag


async def take_over(
    cursor: AsyncCursor[Row],
    policy: TurnPolicy,
    *,
    conversation: int,
    staff: int,
    name: str,
    sites: Sequence[int],
) -> TookOver | HeldBy | None:
    """Let a member of staff of these sites speak instead of the companion. None: no such conversation.

    Raises LiveTurnsBusy. Notify of the closed turns and of the control row in the same transaction.
    """
    facts = {"conversation": conversation, "staff": staff, "name": name, "sites": list(sites)}

    async def claim() -> Row | None:
        await cursor.execute(TAKE_OVER, facts)
        return await cursor.fetchone()

    seized = await seize(cursor, conversation, claim=claim, reason=Reason.PERSON)
    if seized is None:
        await cursor.execute(FIND_PERSON, facts)
        row = await cursor.fetchone()
        return None if row is None or row[0] is None else HeldBy(person=row[0], name=row[1])
    [number], closed = seized
    entry = await _insert_line(
        cursor,
        policy,
        conversation,
        EntryKind.JOINS,
        lambda lines: lines.person_joins,
        staff=staff,
        name=name,
    )
    return TookOver(number=number, entry=entry, closed=tuple(closed))


async def lock_as_person(cursor: AsyncCursor[Row], *, conversation: int, staff: int) -> str | None:
    """Lock the control row while this member of staff has taken over; returns the name shown. None: they have not."""
    await cursor.execute(LOCK_PERSON, {"conversation": conversation, "staff": staff})
    row = await cursor.fetchone()
    return None if row is None else row[0]


async def hand_back(
    cursor: AsyncCursor[Row], policy: TurnPolicy, *, conversation: int, staff: int
) -> int | None:
    """Let the companion speak again. Returns the entry that says so; None: this member of staff had not taken over."""
    name = await lock_as_person(cursor, conversation=conversation, staff=staff)
    if name is None:
        return None
    await cursor.execute(HAND_BACK, {"conversation": conversation, "staff": staff})
    return await _insert_line(
        cursor,
        policy,
        conversation,
        EntryKind.LEAVES,
        lambda lines: lines.person_leaves,
        staff=staff,
        name=name,
    )


async def renew_lease(cursor: AsyncCursor[Row], *, conversations: Sequence[int], staff: int) -> None:
    """Note that a screen of this member of staff still shows these conversations."""
    await cursor.execute(RENEW_LEASES, {"conversations": list(conversations), "staff": staff})


async def lose_leases(cursor: AsyncCursor[Row], policy: TurnPolicy) -> list[LostLease]:
    """End the take-overs whose screens are gone: an entry says so, and a flag rings."""
    await cursor.execute(LOSE_LEASES, {"lease_s": policy.person_lease_s})
    lost = []
    for conversation, person, name in await cursor.fetchall():
        await _insert_line(
            cursor,
            policy,
            conversation,
            EntryKind.LOST,
            lambda lines: lines.person_lost,
            staff=person,
            name=name,
        )
        cause = FlagCause(
            conversation=conversation,
            tier=FlagTier.RED,
            kind=FlagKind.SCREEN_LOST,
            source=FlagSource.SCREEN,
        )
        if flag := await raise_flag(cursor, cause):
            lost.append(LostLease(conversation=conversation, person=person, flag=flag))
    return lost


async def _insert_line(
    cursor: AsyncCursor[Row],
    policy: TurnPolicy,
    conversation: int,
    kind: EntryKind,
    choose: Callable[[DraftedLines], str],
    *,
    staff: int,
    name: str,
) -> int:
    texts = await find_texts(cursor, policy, conversation)
    entry = NewEntry(
        conversation=conversation,
        kind=kind,
        text=choose(texts.lines).format(name=name),
        person=staff,
        name=name,
        version=texts.persona_version,
    )
    stored = await insert_entry(cursor, entry)
    # The control row is locked, so its conversation exists.
    assert stored is not None
    return stored.entry
