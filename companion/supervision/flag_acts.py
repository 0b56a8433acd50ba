"""What staff do with flags at the sockets of one process: each act is one transaction, and on the audit record."""

from collections.abc import Awaitable, Callable, Collection
from typing import Any

from psycopg import AsyncCursor
from psycopg_pool import AsyncConnectionPool

from companion.frames import clean_text, is_visible
from companion.rows import Row
from companion.supervision import flag_changes
from companion.supervision.act_answers import (
    ActAnswer,
    ActDone,
    ActKind,
    ActRecorder,
    ActRefusal,
    ActRefused,
    open_act,
)
from companion.supervision.flag_changes import FlagRefused
from companion.supervision.flag_views import FlagView
from companion.supervision.staff import Staff
from companion.supervision.states import FlagOutcome

MAX_NOTE_CHARS = 2_000


class FlagActs:
    """The caller checks the rights in the same moment and hands in the sites; every statement names them again."""

    def __init__(self, pool: AsyncConnectionPool[Any], *, record: ActRecorder) -> None:
        self._pool = pool
        self._record = record

    async def see_flag(self, flag: int, staff: Staff, *, sites: Collection[int], count: int = 1) -> ActAnswer:
        """Note that a screen of the site's staff shows the flag with so many causes."""
        async with open_act(self._pool) as cursor:
            if await flag_changes.mark_seen(cursor, flag, staff, sites=sites, count=count):
                await self._record(cursor, ActKind.SAW_FLAG, staff, about=None, note=f"flag {flag}")
        return ActDone(facts={"flag": flag})

    async def accept(self, flag: int, staff: Staff, *, sites: Collection[int]) -> ActAnswer:
        """Become the owner of a flag."""
        return await self._change_flag(
            ActKind.ACCEPTED_FLAG,
            staff,
            lambda cursor: flag_changes.accept(cursor, flag, staff, sites=sites),
        )

    async def note_flag(self, flag: int, staff: Staff, *, sites: Collection[int], text: str) -> ActAnswer:
        """Add a note to a flag."""
        if (refused := _check_note(text)) is not None:
            return refused
        return await self._change_flag(
            ActKind.NOTED_FLAG,
            staff,
            lambda cursor: flag_changes.note(cursor, flag, staff, sites=sites, text=clean_text(text)),
        )

    async def hand_flag(self, flag: int, staff: Staff, *, sites: Collection[int], to: Staff) -> ActAnswer:
        """Offer a flag to a colleague, whose rights the caller has checked."""
        return await self._change_flag(
            ActKind.HANDED_FLAG,
            staff,
            lambda cursor: flag_changes.hand(cursor, flag, staff, sites=sites, to=to),
        )

    async def take_on(
        self, flag: int, staff: Staff, *, sites: Collection[int], from_owner: int | None = None
    ) -> ActAnswer:
        """Become the owner of a flag that was handed over, or whose owner is gone."""
        return await self._change_flag(
            ActKind.TOOK_ON_FLAG,
            staff,
            lambda cursor: flag_changes.take_on(cursor, flag, staff, sites=sites, from_owner=from_owner),
        )

    async def close_flag(
        self, flag: int, staff: Staff, *, sites: Collection[int], outcome: FlagOutcome, text: str
    ) -> ActAnswer:
        """Close a flag that the caller owns, with what was found and why."""
        if (refused := _check_note(text)) is not None:
            return refused
        return await self._change_flag(
            ActKind.CLOSED_FLAG,
            staff,
            lambda cursor: flag_changes.close(
                cursor, flag, staff, sites=sites, outcome=outcome, text=clean_text(text)
            ),
        )

    async def _change_flag(
        self,
        act: ActKind,
        staff: Staff,
        change: Callable[[AsyncCursor[Row]], Awaitable[FlagView | FlagRefused]],
    ) -> ActAnswer:
        async with open_act(self._pool) as cursor:
            changed = await change(cursor)
            if isinstance(changed, FlagRefused):
                return ActRefused(code=changed.why, name=changed.owner_name)
            await self._record(cursor, act, staff, about=changed.participant, note=f"flag {changed.id}")
        return ActDone(facts={"flag": changed.id, "conversation": changed.conversation})


def _check_note(text: str) -> ActRefused | None:
    if len(text) > MAX_NOTE_CHARS:
        return ActRefused(code=ActRefusal.TOO_LONG)
    if not is_visible(clean_text(text)):
        return ActRefused(code=ActRefusal.NOTE_MISSING)
    return None
