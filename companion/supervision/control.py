"""Who may speak in a conversation: the statements on its control row. Every change compares and sets.

Lock order. A seizure locks the live turns, then the control row, and waits for no turn after that. It never takes the
gate. An opening holds the gate and then waits for control rows, so what holds a control row must not wait for the gate.
A statement on several control rows skips those that are locked.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from psycopg import AsyncCursor

from companion.languages import OF_PERSON, speak_to
from companion.notifications import NOTIFY, notify_parameters, split_control
from companion.states import Reason, TurnState
from companion.supervision.causes import FlagCause
from companion.supervision.entries import NewEntry, insert_entry
from companion.supervision.flags import RaisedFlag, raise_flag
from companion.supervision.states import EntryKind, FlagKind, FlagSource, FlagTier, PauseScope
from companion.turn_close import ClosedTurn, close_locked
from companion.turn_conditions import is_live
from companion.turn_end import TurnEnd
from companion.turn_policy import DraftedLines, TurnPolicy

Row = tuple[Any, ...]
Result = TypeVar("Result")

SEIZE_TRIES = 20
SEIZE_RETRY_S = 0.02
CARE_S = 86_400
"""Time after a quiet spell for which prompts carry the instruction for care."""
MAX_LEASES_LOST = 50
"""Take-overs that one transaction ends because their screens are gone."""

IS_QUIET = "(k.quiet_since IS NOT NULL AND (k.quiet_until IS NULL OR k.quiet_until > clock_timestamp()))"
"""Whether the companion is quiet in the conversation of the control row `k`."""

# A person who is there answers the message, so the companion need not be quiet.
CLAIM_QUIET = f"""
UPDATE companion_control k
SET quiet_since = CASE WHEN k.person IS NOT NULL OR {IS_QUIET} THEN k.quiet_since ELSE clock_timestamp() END,
    quiet_until = CASE WHEN k.person IS NOT NULL THEN k.quiet_until
                       ELSE clock_timestamp() + make_interval(secs => %(quiet_s)s) END,
    quiet_told = k.quiet_told AND {IS_QUIET}
WHERE k.conversation_id = %(conversation)s
RETURNING k.person
"""

# The index of open pauses is tiny. Each of the three is looked up, because a condition with OR would read all of it.
PAUSE_IN_FORCE = """
SELECT s.scope
FROM (VALUES (1, 'person', a.participant), (2, 'site', a.site), (3, 'everyone', 0)) AS w(place, scope, about)
JOIN companion_staffpause s ON s.scope = w.scope AND s.about = w.about AND s.ended_at IS NULL
ORDER BY w.place LIMIT 1
"""
"""The narrowest open pause that concerns `a.participant` of `a.site`."""

IS_CARE_DUE = f"""(k.care_until IS NOT NULL AND k.care_until > clock_timestamp()
    OR k.quiet_until <= clock_timestamp()
       AND k.quiet_until > clock_timestamp() - make_interval(secs => {CARE_S}))"""
"""Whether prompts of the control row `k` carry the instruction for care."""

# The conditions match the index `turn_beside`, which holds live turns only.
LOCK_LIVE = f"""
SELECT t.id FROM companion_turn t WHERE t.conversation_id + 0 = %(conversation)s AND {is_live("t")}
ORDER BY t.id + 0 FOR NO KEY UPDATE
"""
READ_LIVE = f"""
SELECT t.id FROM companion_turn t WHERE t.conversation_id + 0 = %(conversation)s AND {is_live("t")}
"""
LOCK_NEW = f"""
SELECT t.id FROM companion_turn t WHERE t.id = ANY(%(turns)s) AND {is_live("t")}
ORDER BY t.id FOR NO KEY UPDATE SKIP LOCKED
"""

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

RELEASE = f"""
UPDATE companion_control k
SET care_until = clock_timestamp() + make_interval(secs => {CARE_S}),
    quiet_since = NULL, quiet_until = NULL, quiet_told = false
FROM companion_conversation c JOIN companion_participant p ON p.id = c.participant_id
WHERE k.conversation_id = %(conversation)s AND c.id = k.conversation_id AND p.site_id = ANY(%(sites)s)
  AND k.quiet_since IS NOT NULL
RETURNING k.conversation_id
"""

END_QUIET = f"""
WITH over AS (
    SELECT conversation_id FROM companion_control
    WHERE quiet_since IS NOT NULL AND quiet_until <= clock_timestamp()
    ORDER BY quiet_until LIMIT {MAX_LEASES_LOST} FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE companion_control k
SET care_until = k.quiet_until + make_interval(secs => {CARE_S}),
    quiet_since = NULL, quiet_until = NULL, quiet_told = false
FROM over WHERE k.conversation_id = over.conversation_id
RETURNING k.conversation_id
"""

READ_CONTROL = f"""
SELECT k.conversation_id, k.person, k.person_name, k.person_since, {IS_QUIET}, pause.scope, {OF_PERSON}
FROM companion_control k
JOIN companion_conversation c ON c.id = k.conversation_id
JOIN companion_participant p ON p.id = c.participant_id
JOIN companion_site s ON s.id = p.site_id
LEFT JOIN LATERAL (
    SELECT open.scope
    FROM (VALUES (1, 'person', p.id), (2, 'site', p.site_id), (3, 'everyone', 0)) AS w(place, scope, about)
    JOIN companion_staffpause open ON open.scope = w.scope AND open.about = w.about AND open.ended_at IS NULL
    ORDER BY w.place LIMIT 1
) pause ON true
WHERE k.conversation_id = ANY(%(conversations)s)
"""


class LiveTurnsBusy(Exception):
    """A live turn is being changed by another transaction. Roll back and seize again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ControlView:
    """Who may speak in a conversation. `person` is the id of the member of staff who has taken over, or None."""

    conversation: int
    person: int | None = None
    name: str = ""
    since: datetime | None = None
    is_quiet: bool = False
    pause_scope: PauseScope | None = None
    """The narrowest scope for which staff have paused the companion here; None: it is not paused."""
    language: str = ""
    """Of the participant."""

    @property
    def is_paused(self) -> bool:
        """Whether staff have paused the companion for the person, the site or everyone."""
        return self.pause_scope is not None

    def choose_pause_line(self, lines: DraftedLines) -> str:
        """The drafted line about the pause; empty if there is none."""
        if self.pause_scope is None:
            return ""
        is_own = self.pause_scope is PauseScope.PERSON
        return lines.staff_pause_person if is_own else lines.staff_pause_site

    def to_person(self) -> dict[str, str] | None:
        """The shape in `hello`: {name, since}, or None if no person has taken over."""
        return None if self.since is None else {"name": self.name, "since": self.since.isoformat()}


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


async def seize(
    cursor: AsyncCursor[Row], conversation: int, *, claim: Callable[[], Awaitable[Row | None]], reason: Reason
) -> tuple[Row, list[ClosedTurn]] | None:
    """End every live turn of a conversation as handed over, together with `claim`, which updates the control row.

    Returns what `claim` returned, and the turns. None: `claim` changed no row, and nothing was ended. Raises
    LiveTurnsBusy.
    """
    await cursor.execute(LOCK_LIVE, {"conversation": conversation})
    locked = {row[0] for row in await cursor.fetchall()}
    claimed = await claim()
    if claimed is None:
        return None
    # Openings waited for, or wait for, the control row. A turn opened before that is live now, and not locked.
    await cursor.execute(READ_LIVE, {"conversation": conversation})
    live = {row[0] for row in await cursor.fetchall()}
    if new := live - locked:
        await cursor.execute(LOCK_NEW, {"turns": sorted(new)})
        if {row[0] for row in await cursor.fetchall()} != new:
            raise LiveTurnsBusy
    ends = [TurnEnd(turn=turn, state=TurnState.HANDED_OVER, reason=reason) for turn in sorted(live)]
    return claimed, await close_locked(cursor, ends)


async def retry_seizure(
    begin: Callable[[], AbstractAsyncContextManager[AsyncCursor[Row]]],
    call: Callable[[AsyncCursor[Row]], Awaitable[Result]],
) -> Result:
    """Run `call`, which seizes, in a transaction that `begin` opens, and again while live turns are being changed.

    Raises LiveTurnsBusy if they still are after `SEIZE_TRIES`.
    """
    for _ in range(SEIZE_TRIES):
        try:
            async with begin() as cursor:
                return await call(cursor)
        except (LiveTurnsBusy, psycopg.errors.DeadlockDetected):
            await asyncio.sleep(SEIZE_RETRY_S)
    raise LiveTurnsBusy


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


async def claim_quiet(
    cursor: AsyncCursor[Row], conversation: int, *, quiet_s: int | None
) -> tuple[int | None, list[ClosedTurn]] | None:
    """Make the companion quiet after a red message, unless a person is there: returns their id, and the turns closed.

    None: the conversation is erased. Raises LiveTurnsBusy.
    """

    async def claim() -> Row | None:
        await cursor.execute(CLAIM_QUIET, {"conversation": conversation, "quiet_s": quiet_s})
        return await cursor.fetchone()

    seized = await seize(cursor, conversation, claim=claim, reason=Reason.RED)
    if seized is None:
        return None
    [person], closed = seized
    return person, closed


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


async def release(cursor: AsyncCursor[Row], *, conversation: int, sites: Sequence[int]) -> bool:
    """Let the companion speak again after a red message. False: it was not quiet, or is not of these sites."""
    await cursor.execute(RELEASE, {"conversation": conversation, "sites": list(sites)})
    return await cursor.fetchone() is not None


async def end_quiet(cursor: AsyncCursor[Row]) -> list[int]:
    """Note the conversations whose quiet time is over. It is over without this, too: every reader compares the time."""
    await cursor.execute(END_QUIET)
    return [row[0] for row in await cursor.fetchall()]


def make_control(row: Row) -> ControlView:
    """The view of a row that `READ_CONTROL` returned."""
    conversation, person, name, since, is_quiet, scope, language = row
    return ControlView(
        conversation=conversation,
        person=person,
        name=name,
        since=since,
        is_quiet=is_quiet,
        pause_scope=None if scope is None else PauseScope(scope),
        language=language,
    )


async def notify_control_changed(cursor: AsyncCursor[Row], *, by: UUID, conversations: Sequence[int]) -> None:
    """Notify every process, when this transaction commits, that control rows or entries have changed."""
    for part in split_control(by, conversations):
        await cursor.execute(NOTIFY, notify_parameters(part))


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
    policy = await speak_to(cursor, policy, conversation)
    entry = NewEntry(
        conversation=conversation,
        kind=kind,
        text=choose(policy.lines).format(name=name),
        person=staff,
        name=name,
        version=policy.persona_version,
    )
    stored = await insert_entry(cursor, entry)
    # The control row is locked, so its conversation exists.
    assert stored is not None
    return stored.entry
