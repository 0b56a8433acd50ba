"""What a member of staff does: each act is one transaction, one compare-and-set and one answer.

The caller checks the rights in the same moment and hands in the sites; every statement names them again. `record`
writes the act to the audit record within its transaction.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg import AsyncCursor
from psycopg_pool import AsyncConnectionPool

from companion.doorbell import notify_turns_changed
from companion.frames import MAX_MESSAGE_CHARS, clean_text, is_visible
from companion.languages import find_texts
from companion.rows import Row
from companion.supervision import pauses, quiet, take_overs
from companion.supervision.act_answers import (
    ActAnswer,
    ActDone,
    ActKind,
    ActRecorder,
    ActRefusal,
    ActRefused,
    open_act,
)
from companion.supervision.control import notify_control_changed
from companion.supervision.entries import NewEntry, insert_entry, lock_control
from companion.supervision.flag_acts import FlagActs
from companion.supervision.flags import notify_flags_changed
from companion.supervision.seizure import LiveTurnsBusy, retry_seizure
from companion.supervision.staff import Staff, clean_reason
from companion.supervision.states import EntryKind, PauseScope
from companion.supervision.take_overs import HeldBy, TookOver
from companion.turn_close import ClosedTurn
from companion.turn_policy import TurnPolicy
from companion.visits.conditions import IS_OPEN
from companion.visits.ends import EndReason, end_visits_async
from companion.waiting_room import GateResult

READING_SHOWN_EVERY_S = 1_800
"""Seconds after which the same person's reading is shown to the participant again."""

FIND_CONVERSATION = """
SELECT c.id, p.id, p.name, p.site_id, s.name, s.shows_reading
FROM companion_conversation c
JOIN companion_participant p ON p.id = c.participant_id
JOIN companion_site s ON s.id = p.site_id
WHERE c.id = %(conversation)s AND p.site_id = ANY(%(sites)s)
"""
HAS_OPEN_VISIT = f"""
SELECT EXISTS (SELECT 1 FROM companion_visit v WHERE v.participant_id = %(participant)s AND {IS_OPEN})
"""
WAS_SAID = """
SELECT e.id FROM companion_transcriptentry e
WHERE e.conversation_id = %(conversation)s AND e.key = %(key)s AND e.person = %(staff)s
"""
WAS_READING_SHOWN = """
SELECT 1 FROM (
    SELECT kind, person, at FROM companion_transcriptentry
    WHERE conversation_id = %(conversation)s ORDER BY conversation_id DESC, id DESC LIMIT 50) last
WHERE kind = 'reading' AND person = %(staff)s AND at > clock_timestamp() - make_interval(secs => %(every_s)s)
"""
FIND_VISIT = """
SELECT v.participant_id FROM companion_visit v JOIN companion_participant p ON p.id = v.participant_id
WHERE v.id = %(visit)s AND p.site_id = ANY(%(sites)s)
"""
FIND_PARTICIPANT = """
SELECT p.id FROM companion_participant p WHERE p.id = %(participant)s AND p.site_id = ANY(%(sites)s)
"""
EXPIRE_LEASES = """
UPDATE companion_control SET person_seen_at = 'epoch'
WHERE person = %(staff)s AND conversation_id = ANY(%(conversations)s)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class SupervisedConversation:
    """Whose conversation it is."""

    conversation: int
    participant: int
    participant_name: str
    site: int
    site_name: str
    shows_reading: bool


class StaffActs:
    """The acts of staff at the sockets of one process.

    `run_gate` admits the next in line after turns were ended. `on_change` is told of ended turns, and of conversations
    whose control row or entries have changed.
    """

    def __init__(
        self,
        pool: AsyncConnectionPool[Any],
        policy: TurnPolicy,
        *,
        process: UUID,
        record: ActRecorder,
        run_gate: Callable[[], Awaitable[object]],
        on_change: Callable[[Iterable[ClosedTurn], Collection[int]], None],
    ) -> None:
        self.flags = FlagActs(pool, record=record)
        self._pool = pool
        self._policy = policy
        self._process = process
        self._record = record
        self._run_gate = run_gate
        self._on_change = on_change

    async def find_conversation(
        self, conversation: int, *, sites: Collection[int]
    ) -> SupervisedConversation | None:
        """Whose conversation it is; None if it is not of these sites."""
        async with open_act(self._pool) as cursor:
            return await _find_conversation(cursor, conversation, sites)

    async def read_along(
        self, conversation: int, staff: Staff, *, sites: Collection[int], note: str = ""
    ) -> SupervisedConversation | None:
        """Record that `staff` reads along from now on, and show it where the site says so. None: not of these sites."""
        async with open_act(self._pool) as cursor:
            head = await _find_conversation(cursor, conversation, sites)
            if head is None:
                return None
            note = ", ".join(part for part in (f"conversation {conversation}", note) if part)
            await self._record(cursor, ActKind.READ_ALONG, staff, about=head.participant, note=note)
            shown = head.shows_reading and await self._show_reading(cursor, conversation, staff)
            if shown:
                await notify_control_changed(cursor, by=self._process, conversations=[conversation])
        if shown:
            self._on_change((), [conversation])
        return head

    async def take_over(self, conversation: int, staff: Staff, *, sites: Collection[int]) -> ActAnswer:
        """Speak instead of the companion. Its reply under way ends with this commit. Harmless if repeated."""
        try:
            taken, head = await retry_seizure(
                lambda: open_act(self._pool),
                lambda cursor: self._take_over(cursor, conversation, staff, sites),
            )
        except LiveTurnsBusy:
            return ActRefused(code=ActRefusal.BUSY)
        if head is None or taken is None:
            return ActRefused(code=ActRefusal.NOT_THERE)
        if isinstance(taken, HeldBy):
            if taken.person == staff.user:
                return ActDone(facts={"conversation": conversation, "name": taken.name})
            return ActRefused(code=ActRefusal.TAKEN, name=taken.name)
        self._on_change(taken.closed, [conversation])
        if taken.closed:
            await self._run_gate()
        return ActDone(facts={"conversation": conversation, "entry": taken.entry, "name": staff.name})

    async def say(
        self, conversation: int, staff: Staff, key: UUID, text: str, *, sites: Collection[int]
    ) -> ActAnswer:
        """Store words of the person who has taken over. The same key again is the same entry."""
        text = clean_text(text)
        if len(text) > MAX_MESSAGE_CHARS:
            return ActRefused(code=ActRefusal.TOO_LONG)
        if not is_visible(text):
            return ActRefused(code=ActRefusal.EMPTY)
        async with open_act(self._pool) as cursor:
            answer, is_new = await self._say(cursor, conversation, staff, key, text, sites)
        if is_new:
            self._on_change((), [conversation])
        return answer

    async def hand_back(self, conversation: int, staff: Staff, *, sites: Collection[int]) -> ActAnswer:
        """Let the companion speak again."""
        async with open_act(self._pool) as cursor:
            head = await _find_conversation(cursor, conversation, sites)
            if head is None:
                return ActRefused(code=ActRefusal.NOT_THERE)
            entry = await take_overs.hand_back(
                cursor, self._policy, conversation=conversation, staff=staff.user
            )
            if entry is None:
                return ActRefused(code=ActRefusal.NOT_TAKEN_OVER)
            await self._record_about(cursor, ActKind.HANDED_BACK, staff, head)
            await notify_control_changed(cursor, by=self._process, conversations=[conversation])
        self._on_change((), [conversation])
        return ActDone(facts={"conversation": conversation, "entry": entry})

    async def release(self, conversation: int, staff: Staff, *, sites: Collection[int]) -> ActAnswer:
        """Let the companion speak again after a red message."""
        async with open_act(self._pool) as cursor:
            head = await _find_conversation(cursor, conversation, sites)
            if head is None:
                return ActRefused(code=ActRefusal.NOT_THERE)
            if not await quiet.release(cursor, conversation=conversation, sites=sorted(sites)):
                return ActRefused(code=ActRefusal.NOT_QUIET)
            await self._record_about(cursor, ActKind.RELEASED, staff, head)
            await notify_control_changed(cursor, by=self._process, conversations=[conversation])
        self._on_change((), [conversation])
        return ActDone(facts={"conversation": conversation})

    async def renew(self, leases: Mapping[int, Collection[int]]) -> None:
        """Renew the take-overs that screens of their owners show: conversations by member of staff."""
        async with open_act(self._pool) as cursor:
            for user, conversations in leases.items():
                await take_overs.renew_lease(cursor, conversations=sorted(conversations), staff=user)

    async def lose(self, user: int, conversations: Collection[int]) -> int:
        """End the take-overs of a member of staff who was signed out or has lost the right; returns how many."""
        async with open_act(self._pool) as cursor:
            await cursor.execute(EXPIRE_LEASES, {"staff": user, "conversations": sorted(conversations)})
            if not cursor.rowcount:
                return 0
            lost = await take_overs.lose_leases(cursor, self._policy)
            changed = [lease.conversation for lease in lost]
            await notify_control_changed(cursor, by=self._process, conversations=changed)
            await notify_flags_changed(cursor, [lease.flag for lease in lost])
        self._on_change((), changed)
        return len(lost)

    async def pause(
        self, scope: PauseScope, about: int, staff: Staff, *, sites: Collection[int], reason: str
    ) -> ActAnswer:
        """Pause the companion. The caller checks who may pause everyone."""
        reason = clean_reason(reason)
        if not reason:
            return ActRefused(code=ActRefusal.REASON_MISSING)
        async with open_act(self._pool) as cursor:
            if not await _is_within(cursor, scope, about, sites):
                return ActRefused(code=ActRefusal.NOT_THERE)
            earlier = await pauses.pause(cursor, scope, about, staff, reason=reason)
            if earlier is not None:
                return ActRefused(code=ActRefusal.PAUSED_ALREADY, name=earlier.by_name)
            await self._record_pause(cursor, ActKind.PAUSED, scope, about, staff)
        return ActDone(facts={"scope": scope.value, "id": about})

    async def resume(
        self, scope: PauseScope, about: int, staff: Staff, *, sites: Collection[int]
    ) -> ActAnswer:
        """End a pause."""
        async with open_act(self._pool) as cursor:
            if not await _is_within(cursor, scope, about, sites):
                return ActRefused(code=ActRefusal.NOT_THERE)
            if not await pauses.resume(cursor, scope, about, staff):
                return ActRefused(code=ActRefusal.NOT_PAUSED)
            await self._record_pause(cursor, ActKind.RESUMED, scope, about, staff)
        return ActDone(facts={"scope": scope.value, "id": about})

    async def end_visit(self, visit: UUID, staff: Staff, *, sites: Collection[int]) -> ActAnswer:
        """End a participant's visit: every process closes its sockets and stops its turns."""
        async with open_act(self._pool) as cursor:
            await cursor.execute(FIND_VISIT, {"visit": visit, "sites": sorted(sites)})
            row = await cursor.fetchone()
            if row is None:
                return ActRefused(code=ActRefusal.NOT_THERE)
            if not await end_visits_async(cursor, [visit], EndReason.STAFF):
                return ActRefused(code=ActRefusal.VISIT_ENDED)
            await self._record(cursor, ActKind.ENDED_VISIT, staff, about=row[0], note=f"visit {visit}")
        return ActDone(facts={"visit": str(visit)})

    async def _take_over(
        self, cursor: AsyncCursor[Row], conversation: int, staff: Staff, sites: Collection[int]
    ) -> tuple[TookOver | HeldBy | None, SupervisedConversation | None]:
        head = await _find_conversation(cursor, conversation, sites)
        taken = await take_overs.take_over(
            cursor,
            self._policy,
            conversation=conversation,
            staff=staff.user,
            name=staff.name,
            sites=sorted(sites),
        )
        if isinstance(taken, TookOver) and head is not None:
            await self._record_about(cursor, ActKind.TOOK_OVER, staff, head)
            await notify_turns_changed(
                cursor, by=self._process, result=GateResult(admitted=[], lost=[]), ended=taken.closed
            )
            await notify_control_changed(cursor, by=self._process, conversations=[conversation])
        return taken, head

    async def _say(
        self,
        cursor: AsyncCursor[Row],
        conversation: int,
        staff: Staff,
        key: UUID,
        text: str,
        sites: Collection[int],
    ) -> tuple[ActAnswer, bool]:
        head = await _find_conversation(cursor, conversation, sites)
        if head is None:
            return ActRefused(code=ActRefusal.NOT_THERE), False
        facts: dict[str, Any] = {"conversation": conversation, "key": str(key)}
        await cursor.execute(WAS_SAID, {"conversation": conversation, "key": key, "staff": staff.user})
        if row := await cursor.fetchone():
            # Sent again after its answer was lost, perhaps after the hand-back: it is stored.
            return ActDone(facts={**facts, "entry": row[0]}), False
        # The lock lasts to the commit: a hand-back comes before these words, or after them.
        name = await take_overs.lock_as_person(cursor, conversation=conversation, staff=staff.user)
        if name is None:
            return ActRefused(code=ActRefusal.NOT_TAKEN_OVER), False
        await cursor.execute(HAS_OPEN_VISIT, {"participant": head.participant})
        [is_here] = await cursor.fetchone() or (False,)
        if not is_here:
            return ActRefused(code=ActRefusal.VISIT_ENDED), False
        entry = NewEntry(
            conversation=conversation,
            kind=EntryKind.SAID,
            key=key,
            person=staff.user,
            name=name,
            text=text,
        )
        stored = await insert_entry(cursor, entry)
        if stored is None:
            return ActRefused(code=ActRefusal.NOT_THERE), False
        if stored.is_new:
            await self._record(
                cursor, ActKind.SAID, staff, about=head.participant, note=f"entry {stored.entry}"
            )
            await notify_control_changed(cursor, by=self._process, conversations=[conversation])
        return ActDone(facts={**facts, "entry": stored.entry}), stored.is_new

    async def _show_reading(self, cursor: AsyncCursor[Row], conversation: int, staff: Staff) -> bool:
        facts = {"conversation": conversation, "staff": staff.user, "every_s": READING_SHOWN_EVERY_S}
        await lock_control(cursor, conversation)
        await cursor.execute(WAS_READING_SHOWN, facts)
        if await cursor.fetchone() is not None:
            return False
        texts = await find_texts(cursor, self._policy, conversation)
        entry = NewEntry(
            conversation=conversation,
            kind=EntryKind.READING,
            text=texts.lines.reading_along,
            person=staff.user,
            name=staff.name,
            version=texts.persona_version,
        )
        return await insert_entry(cursor, entry) is not None

    async def _record_about(
        self, cursor: AsyncCursor[Row], act: ActKind, staff: Staff, head: SupervisedConversation
    ) -> None:
        note = f"conversation {head.conversation}"
        await self._record(cursor, act, staff, about=head.participant, note=note)

    async def _record_pause(
        self, cursor: AsyncCursor[Row], act: ActKind, scope: PauseScope, about: int, staff: Staff
    ) -> None:
        person = about if scope is PauseScope.PERSON else None
        note = scope.value if scope is not PauseScope.SITE else f"site {about}"
        await self._record(cursor, act, staff, about=person, note=note)


async def _find_conversation(
    cursor: AsyncCursor[Row], conversation: int, sites: Collection[int]
) -> SupervisedConversation | None:
    await cursor.execute(FIND_CONVERSATION, {"conversation": conversation, "sites": sorted(sites)})
    row = await cursor.fetchone()
    if row is None:
        return None
    number, participant, name, site, site_name, shows_reading = row
    return SupervisedConversation(
        conversation=number,
        participant=participant,
        participant_name=name,
        site=site,
        site_name=site_name,
        shows_reading=shows_reading,
    )


async def _is_within(cursor: AsyncCursor[Row], scope: PauseScope, about: int, sites: Collection[int]) -> bool:
    """Whether the person or the site of a pause is of these sites. The caller has checked a pause for everyone."""
    if scope is PauseScope.EVERYONE:
        return True
    if scope is PauseScope.SITE:
        return about in sites
    await cursor.execute(FIND_PARTICIPANT, {"participant": about, "sites": sorted(sites)})
    return await cursor.fetchone() is not None
