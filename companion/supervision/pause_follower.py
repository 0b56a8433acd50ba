"""Pauses the turns of a process that a staff pause concerns: at its notification, and at every tick."""

import asyncio
import logging
from typing import Any
from uuid import UUID

import psycopg
from psycopg_pool import AsyncConnectionPool

from companion.ledger import Ledger
from companion.states import Reason, TurnState
from companion.supervision.pauses import find_paused_turns
from companion.supervision.states import PauseScope
from companion.turn_end import TurnEnd
from companion.turn_policy import TurnPolicy

log = logging.getLogger(__name__)


class PauseFollower:
    """Of one process. Its own turns only, so that each turn is paused once and by its owner."""

    def __init__(
        self, pool: AsyncConnectionPool[Any], ledger: Ledger, policy: TurnPolicy, *, process: UUID
    ) -> None:
        self._pool = pool
        self._ledger = ledger
        self._policy = policy
        self._process = process
        self._wake = asyncio.Event()

    def check_soon(self) -> None:
        """Look for turns to pause: a pause was opened, or its notification may have been lost."""
        self._wake.set()

    async def run(self) -> None:
        """Pause turns after each call of `check_soon`, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self.pause_turns()
            except (psycopg.Error, TimeoutError) as failure:
                log.warning("pause_follower.failed cause=%s", type(failure).__name__)

    async def pause_turns(self) -> int:
        """Pause the turns concerned, with the words that are stored; returns how many. Raises psycopg.Error."""
        async with self._pool.connection() as connection, connection.cursor() as cursor:
            turns = await find_paused_turns(cursor, self._process)
        # The ledger tells the runner, which closes the upstream and shows nothing more.
        closed = await asyncio.gather(
            *(self._ledger.close(self._pause_end(turn, scope)) for turn, scope in turns.items())
        )
        return sum(turn is not None for turn in closed)

    def _pause_end(self, turn: int, scope: PauseScope) -> TurnEnd:
        lines = self._policy.lines
        return TurnEnd(
            turn=turn,
            state=TurnState.PAUSED,
            reason=Reason.STAFF_PAUSE,
            line=lines.staff_pause_person if scope is PauseScope.PERSON else lines.staff_pause_site,
            hold_s=self._policy.hold_s,
        )
