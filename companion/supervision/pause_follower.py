"""Follows staff pauses in one process, at their notifications and at every tick.

Turns that a pause concerns are paused. Every open page is told of a pause and of its end, whether or not its person
writes.
"""

import asyncio
import logging
from typing import Any
from uuid import UUID

import psycopg
from psycopg_pool import AsyncConnectionPool

from companion.history import History
from companion.ledger import Ledger
from companion.outbox_events import StaffPauseRead
from companion.states import Reason, TurnState
from companion.supervision.pauses import choose_pause_line, find_paused_turns, read_open
from companion.supervision.states import PauseScope
from companion.turn_end import TurnEnd
from companion.turn_policy import TurnPolicy
from companion.watchers import Watchers

log = logging.getLogger(__name__)

PUBLISH_ROUNDS = 3
"""Rounds after a change in which pages are told. The later ones reach a page that was being opened meanwhile."""


class PauseFollower:
    """Of one process. Its own turns only, so that each turn is paused once and by its owner."""

    def __init__(
        self,
        pool: AsyncConnectionPool[Any],
        ledger: Ledger,
        policy: TurnPolicy,
        *,
        process: UUID,
        history: History,
        watchers: Watchers,
    ) -> None:
        self._pool = pool
        self._ledger = ledger
        self._policy = policy
        self._process = process
        self._history = history
        self._watchers = watchers
        self._open: frozenset[int] | None = None
        """The pauses in force when pages were last told; None: they were told of none yet."""
        self._rounds_left = 0
        self._wake = asyncio.Event()

    def check_soon(self) -> None:
        """Look for pauses again: one was opened or ended, or its notification may have been lost."""
        self._wake.set()

    async def run(self) -> None:
        """Pause turns and tell pages after each call of `check_soon`, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self._follow()
            except (psycopg.Error, TimeoutError) as failure:
                log.warning("pause_follower.failed cause=%s", type(failure).__name__)

    async def _follow(self) -> None:
        """Pause the turns concerned, with the words that are stored, and tell the pages. Raises psycopg.Error."""
        async with self._pool.connection() as connection, connection.cursor() as cursor:
            now = frozenset(pause.id for pause in await read_open(cursor))
            turns = await find_paused_turns(cursor, self._process) if now else {}
        # The ledger tells the runner, which closes the upstream and shows nothing more.
        await asyncio.gather(
            *(self._ledger.close(self._pause_end(turn, *paused)) for turn, paused in turns.items())
        )
        await self._tell_pages(now)

    async def _tell_pages(self, now: frozenset[int]) -> None:
        if now != self._open:
            self._open, self._rounds_left = now, PUBLISH_ROUNDS
        conversations = self._watchers.conversations
        if not self._rounds_left or not conversations:
            return
        self._rounds_left -= 1
        for control in await self._history.read_controls(conversations):
            lines = self._policy.in_language(control.language).lines
            line = control.choose_pause_line(lines)
            self._watchers.publish_pause(
                StaffPauseRead(
                    conversation=control.conversation,
                    is_paused=bool(line),
                    line=line or lines.staff_pause_over,
                )
            )

    def _pause_end(self, turn: int, scope: PauseScope, language: str) -> TurnEnd:
        return TurnEnd(
            turn=turn,
            state=TurnState.PAUSED,
            reason=Reason.STAFF_PAUSE,
            line=choose_pause_line(self._policy.in_language(language).lines, scope),
            hold_s=self._policy.hold_s,
        )
