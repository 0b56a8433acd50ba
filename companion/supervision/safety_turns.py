"""Stores red messages and requests for a person, each with its flag in one transaction, and words their lines.

A line says that staff were told only if a screen of the site's staff shows the flag within `TurnPolicy.decide_s`. Until
then it is not shown. A process that dies in between leaves the line that is true without staff, and it shows itself.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import psycopg
from psycopg import AsyncCursor
from psycopg_pool import AsyncConnectionPool

from companion.doorbell import notify_turns_changed
from companion.languages import OF_PERSON
from companion.notifications import NOTIFY, WritingNoticed, notify_parameters
from companion.rows import Row
from companion.states import Reason, TurnState
from companion.supervision.causes import FlagCause
from companion.supervision.control import notify_control_changed
from companion.supervision.entries import (
    DECIDE_ENTRY,
    NewEntry,
    find_recent,
    insert_entry,
    lock_control,
)
from companion.supervision.flags import FLAG_IS_SEEN, RaisedFlag, notify_flags_changed, raise_flag
from companion.supervision.helplines import HelpAnswer, Helpline
from companion.supervision.noticing import Notice
from companion.supervision.quiet import claim_quiet
from companion.supervision.seizure import LiveTurnsBusy, retry_seizure
from companion.supervision.states import EntryKind, FlagKind, FlagSource, FlagTier
from companion.transactions import open_transaction
from companion.turn_close import ClosedTurn
from companion.turn_open import OpenedTurn, OpenRefusal, SayRequest
from companion.turn_policy import TurnPolicy
from companion.visits.conditions import IS_LIVE, WITH_PERSON
from companion.waiting_room import GateResult

log = logging.getLogger(__name__)

RECHECK_S = 0.2
"""Seconds after which a flag is looked at again, in case the notification that it was seen is lost."""
HELP_LINE_EVERY_S = 5.0
"""A press within this time of the last line is counted, and shows no further line."""

# The rate limit reads one old turn by index.
FIND_WRITER = f"""
SELECT c.id, s.helpline_voice, s.helpline_text, s.quiet_s, {OF_PERSON}, t.id,
       coalesce((SELECT e.created_at FROM companion_turn e WHERE e.conversation_id = c.id
                 ORDER BY e.id DESC OFFSET %(per_minute)s - 1 LIMIT 1), '-infinity')
       > clock_timestamp() - interval '1 minute'
FROM companion_visit v
{WITH_PERSON}
LEFT JOIN companion_turn t ON t.conversation_id = c.id AND t.key = %(key)s
WHERE v.id = %(visit)s AND {IS_LIVE}
"""

FIND_HELPLINE = f"""
SELECT s.helpline_voice, s.helpline_text, {OF_PERSON}
FROM companion_conversation c
JOIN companion_participant p ON p.id = c.participant_id
JOIN companion_site s ON s.id = p.site_id
WHERE c.id = %(conversation)s
"""

INSERT_ENDED = """
INSERT INTO companion_turn (conversation_id, key, question, state, reason, line, owner, persona_version,
                            language, wait_until, closed_at, show_at)
VALUES (%(conversation)s, %(key)s, %(question)s, %(state)s, %(reason)s, %(line)s, %(owner)s, %(persona)s,
        %(language)s, clock_timestamp(), clock_timestamp(), clock_timestamp() + make_interval(secs => %(decide_s)s))
ON CONFLICT (conversation_id, key) DO NOTHING
RETURNING id
"""

FIND_TURN = "SELECT id FROM companion_turn WHERE conversation_id = %(conversation)s AND key = %(key)s"

DECIDE_TURN = f"""
UPDATE companion_turn SET line = %(line)s, show_at = clock_timestamp()
WHERE id = %(turn)s AND show_at > clock_timestamp() AND {FLAG_IS_SEEN}
RETURNING id
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class SafetyStored:
    """A red message is stored. `closed` are the turns that ended with it; `told` the line if staff were told."""

    opened: OpenedTurn
    closed: tuple[ClosedTurn, ...] = ()
    flag: RaisedFlag | None = None
    told: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class HelpStored:
    """A press is stored. `answer` is shown unless `told` becomes true in time."""

    entry: int
    answer: HelpAnswer
    told: HelpAnswer
    flag: RaisedFlag | None = None
    """None: it is the answer to a press of a moment ago."""


class SafetyTurns:
    """Of one process. `on_change` is called after each commit: ended turns, then conversations and turns to read."""

    def __init__(
        self,
        pool: AsyncConnectionPool[Any],
        policy: TurnPolicy,
        *,
        process: UUID,
        on_change: Callable[[Sequence[ClosedTurn], Sequence[int], Sequence[tuple[int, int]]], None],
    ) -> None:
        self._pool = pool
        self._policy = policy
        self._process = process
        self._on_change = on_change
        self._waiting: dict[int, set[asyncio.Event]] = defaultdict(set)

    async def store_red(self, request: SayRequest, notice: Notice) -> SafetyStored | OpenRefusal:
        """Store a red message with its line and its flag, end what is live, and make the companion quiet."""
        try:
            stored = await retry_seizure(
                self._transaction, lambda cursor: self._store_red(cursor, request, notice)
            )
        except LiveTurnsBusy:
            raise psycopg.OperationalError("the live turns of the conversation stayed locked") from None
        if isinstance(stored, SafetyStored):
            opened = stored.opened
            turns = [(opened.turn, opened.conversation)] if opened.is_new else []
            self._on_change(stored.closed, [opened.conversation], turns)
        return stored

    async def decide_red(self, stored: SafetyStored) -> None:
        """Wait until a screen shows the flag, or the time is over: the line is worded then."""
        flag, turn = stored.flag, stored.opened.turn
        if flag is None or not stored.told:
            return
        facts = {"turn": turn, "line": stored.told, "flag": flag.flag, "count": flag.count}

        async def decide(cursor: AsyncCursor[Row]) -> bool:
            await cursor.execute(DECIDE_TURN, facts)
            if await cursor.fetchone() is None:
                return False
            changed = [(turn, stored.opened.conversation)]
            result = GateResult(admitted=[], lost=[])
            await notify_turns_changed(cursor, by=self._process, result=result, opened=changed)
            return True

        if await self._decide(flag, decide):
            self._on_change((), (), [(turn, stored.opened.conversation)])

    async def store_help(self, conversation: int) -> HelpStored | None:
        """Store that the participant asks for a person. None: the conversation is erased."""
        async with self._transaction() as cursor:
            stored = await self._store_help(cursor, conversation)
        if stored is not None:
            self._on_change((), [conversation], ())
        return stored

    async def decide_help(self, conversation: int, stored: HelpStored) -> HelpAnswer:
        """Wait as for a red message; returns the answer that is shown."""
        flag = stored.flag
        if flag is None:
            return stored.answer
        facts = {"entry": stored.entry, "text": stored.told.line, "flag": flag.flag, "count": flag.count}

        async def decide(cursor: AsyncCursor[Row]) -> bool:
            await cursor.execute(f"{DECIDE_ENTRY} AND {FLAG_IS_SEEN} RETURNING id", facts)
            if await cursor.fetchone() is None:
                return False
            await notify_control_changed(cursor, by=self._process, conversations=[conversation])
            return True

        if await self._decide(flag, decide):
            self._on_change((), [conversation], ())
            return stored.told
        return stored.answer

    async def note_writing(self, conversation: int, *, staff: int | None = None) -> None:
        """Notify every process that the participant, or this member of staff, is typing. Nothing is stored."""
        noticed = WritingNoticed(writing=conversation, staff=staff)
        async with self._pool.connection() as connection:
            await connection.execute(NOTIFY, notify_parameters(noticed))

    def note_flags_changed(self, flags: Iterable[int]) -> None:
        """Look again at once at flags that a line waits for."""
        for flag in flags:
            for event in self._waiting.get(flag, ()):
                event.set()

    async def _store_red(
        self, cursor: AsyncCursor[Row], request: SayRequest, notice: Notice
    ) -> SafetyStored | OpenRefusal:
        facts: dict[str, Any] = {"visit": request.visit, "key": request.key}
        per_minute = self._policy.unanswered_per_minute
        await cursor.execute(FIND_WRITER, facts | {"per_minute": per_minute})
        row = await cursor.fetchone()
        if row is None:
            return OpenRefusal.SIGNED_OUT
        conversation, voice, text, quiet_s, language, known, is_too_many = row
        if known is not None:
            return _stored_before(known, conversation)
        if is_too_many:
            return OpenRefusal.TOO_MANY
        claimed = await claim_quiet(cursor, conversation, quiet_s=quiet_s)
        if claimed is None:
            return OpenRefusal.SIGNED_OUT
        person, closed = claimed
        texts = self._policy.in_language(language)
        lines, helpline = texts.lines, Helpline(voice=voice, text=text)
        is_answered = person is not None
        await cursor.execute(
            INSERT_ENDED,
            facts
            | {
                "conversation": conversation,
                "question": request.question,
                "state": (TurnState.HANDED_OVER if is_answered else TurnState.SAFETY).value,
                "reason": (Reason.PERSON if is_answered else Reason.RED).value,
                "line": "" if is_answered else helpline.write_safety_line(lines, is_told=False),
                "owner": self._process,
                "persona": texts.persona_version,
                "language": language,
                "decide_s": 0 if is_answered else self._policy.decide_s,
            },
        )
        inserted = await cursor.fetchone()
        if inserted is None:
            await cursor.execute(FIND_TURN, facts | {"conversation": conversation})
            [known] = await cursor.fetchone() or [0]
            return _stored_before(known, conversation)
        [turn] = inserted
        cause = notice.to_cause(FlagSource.MESSAGE, conversation=conversation, turn=turn)
        flag = await raise_flag(cursor, cause)
        await notify_flags_changed(cursor, [flag] if flag else [])
        result = GateResult(admitted=[], lost=closed)
        await notify_turns_changed(cursor, by=self._process, result=result, opened=[(turn, conversation)])
        await notify_control_changed(cursor, by=self._process, conversations=[conversation])
        return SafetyStored(
            opened=OpenedTurn(turn=turn, conversation=conversation, is_new=True, is_ended=True),
            closed=tuple(closed),
            flag=flag,
            told="" if is_answered else helpline.write_safety_line(lines, is_told=True),
        )

    async def _store_help(self, cursor: AsyncCursor[Row], conversation: int) -> HelpStored | None:
        if not await lock_control(cursor, conversation):
            return None
        cause = FlagCause(
            conversation=conversation, tier=FlagTier.RED, kind=FlagKind.HELP, source=FlagSource.BUTTON
        )
        flag = await raise_flag(cursor, cause)
        await cursor.execute(FIND_HELPLINE, {"conversation": conversation})
        row = await cursor.fetchone()
        if flag is None or row is None:
            return None
        await notify_flags_changed(cursor, [flag])
        helpline = Helpline(voice=row[0], text=row[1])
        texts = self._policy.in_language(row[2])
        answer, told = (helpline.write_help_answer(texts.lines, is_told=is_told) for is_told in (False, True))
        if recent := await find_recent(cursor, conversation, kind=EntryKind.HELP, within_s=HELP_LINE_EVERY_S):
            shown = replace(told if recent.text == told.line else answer, line=recent.text)
            return HelpStored(entry=recent.entry, answer=shown, told=told)
        entry = await insert_entry(
            cursor,
            NewEntry(
                conversation=conversation,
                kind=EntryKind.HELP,
                text=answer.line,
                version=texts.persona_version,
                flag=flag.flag,
                decide_s=self._policy.decide_s,
            ),
        )
        assert entry is not None  # Its control row is locked.
        await notify_control_changed(cursor, by=self._process, conversations=[conversation])
        return HelpStored(entry=entry.entry, answer=answer, told=told, flag=flag)

    async def _decide(self, flag: RaisedFlag, decide: Callable[[AsyncCursor[Row]], Awaitable[bool]]) -> bool:
        """Try to say that staff were told, at each sign that the flag was seen, while the time lasts."""
        loop = asyncio.get_running_loop()
        give_up_at = loop.time() + self._policy.decide_s
        seen = asyncio.Event()
        self._waiting[flag.flag].add(seen)
        try:
            while loop.time() < give_up_at:
                seen.clear()
                async with self._transaction() as cursor:
                    if await decide(cursor):
                        return True
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(RECHECK_S, max(0.0, give_up_at - loop.time()))):
                        await seen.wait()
        except psycopg.Error as failure:
            log.warning("safety.undecided flag=%d cause=%s", flag.flag, type(failure).__name__)
        finally:
            self._waiting[flag.flag].discard(seen)
            if not self._waiting[flag.flag]:
                del self._waiting[flag.flag]
        log.warning("safety.unseen flag=%d site=%d", flag.flag, flag.site)
        return False

    def _transaction(self) -> AbstractAsyncContextManager[AsyncCursor[Row]]:
        return open_transaction(self._pool, within_s=self._policy.lease_s)


def _stored_before(turn: int, conversation: int) -> SafetyStored:
    return SafetyStored(opened=OpenedTurn(turn=turn, conversation=conversation, is_new=False, is_ended=True))
