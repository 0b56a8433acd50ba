"""What a web process has to tell operators: without waiting, and kept while the database is away."""

import asyncio
import logging
from collections import Counter, deque
from typing import Any

import psycopg
from psycopg_pool import AsyncConnectionPool

from companion.turn_end import TurnEnd
from ops.alerts.kinds import Kind, alerts_of, is_content_refusal
from ops.alerts.statements import RAISE, RAISE_OF_TURN, facts, facts_of_turn

log = logging.getLogger(__name__)

MOST = 200
"""Different things that are kept while they cannot be written."""
AGAIN_AFTER_S = 1.0


class AlertBook:
    """Gathers alerts and writes them as rows, the same ones together."""

    def __init__(self, pool: AsyncConnectionPool[Any]) -> None:
        self._pool = pool
        self._kept: Counter[tuple[Kind, str]] = Counter()
        self._turns: deque[int] = deque(maxlen=MOST)
        """Turns whose content was refused, and no row says so yet."""
        self._has_some = asyncio.Event()

    def tell(self, kind: Kind, about: str) -> None:
        """Operators should know."""
        if (kind, about) not in self._kept:
            log.warning("alerts.raised kind=%s", kind.value)
            if len(self._kept) >= MOST:
                return
        self._kept[kind, about] += 1
        self._has_some.set()

    def heard(self, end: TurnEnd) -> None:
        """A turn has ended like this."""
        for kind, about in alerts_of(end):
            self.tell(kind, about)
        if is_content_refusal(end):
            log.warning("alerts.raised kind=%s turn=%d", Kind.CONTENT_REFUSED.value, end.turn)
            self._turns.append(end.turn)
            self._has_some.set()

    async def run(self) -> None:
        """Write what is told, until cancelled."""
        while True:
            await self._has_some.wait()
            self._has_some.clear()
            try:
                await self.write()
            except (psycopg.Error, TimeoutError) as failure:
                log.warning("alerts.unwritten cause=%s", type(failure).__name__)
                self._has_some.set()
                await asyncio.sleep(AGAIN_AFTER_S)

    async def write(self) -> None:
        """Write what has been told so far. Raises psycopg.Error or TimeoutError, and keeps it then."""
        told, self._kept = self._kept, Counter()
        turns = list(self._turns)
        try:
            async with asyncio.timeout(5), self._pool.connection() as connection, connection.transaction():
                for (kind, about), times in told.items():
                    await connection.execute(RAISE, facts(kind, about, times=times))
                for turn in turns:
                    await connection.execute(RAISE_OF_TURN, facts_of_turn(Kind.CONTENT_REFUSED, turn))
        except BaseException:
            self._kept.update(told)
            raise
        # What came while these were written stays.
        self._turns = deque((turn for turn in self._turns if turn not in turns), maxlen=MOST)
