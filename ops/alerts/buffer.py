"""Alerts of a web process: added without waiting, written by a task, and kept while the database is away."""

import asyncio
import logging
from collections import Counter, deque
from typing import Any

import psycopg
from psycopg_pool import AsyncConnectionPool

from companion.turn_end import TurnEnd
from ops.alerts.kinds import AlertKind
from ops.alerts.statements import RAISE, RAISE_FOR_TURN, raise_for_turn_params, raise_params
from ops.alerts.turns import find_turn_alerts, is_content_refusal

log = logging.getLogger(__name__)

MAX_BUFFERED = 200
"""Distinct alerts that are kept while they cannot be written."""
RETRY_S = 1.0
WRITE_TIMEOUT_S = 5.0


class AlertBuffer:
    """Counts equal alerts, and writes each as one row."""

    def __init__(self, pool: AsyncConnectionPool[Any]) -> None:
        self._pool = pool
        self._counts: Counter[tuple[AlertKind, str]] = Counter()
        self._turns: deque[int] = deque(maxlen=MAX_BUFFERED)
        """Turns whose content was refused, without a row yet."""
        self._has_some = asyncio.Event()

    def add(self, kind: AlertKind, about: str) -> None:
        """Raise an alert at the next write."""
        if (kind, about) not in self._counts:
            log.warning("alerts.raised kind=%s", kind.value)
            if len(self._counts) >= MAX_BUFFERED:
                return
        self._counts[kind, about] += 1
        self._has_some.set()

    def add_turn(self, end: TurnEnd) -> None:
        """Add what an ended turn raises."""
        for kind, about in find_turn_alerts(end):
            self.add(kind, about)
        if is_content_refusal(end):
            log.warning("alerts.raised kind=%s turn=%d", AlertKind.CONTENT_REFUSED.value, end.turn)
            self._turns.append(end.turn)
            self._has_some.set()

    async def run(self) -> None:
        """Write what is added, until cancelled."""
        while True:
            await self._has_some.wait()
            self._has_some.clear()
            try:
                await self.write()
            except (psycopg.Error, TimeoutError) as failure:
                log.warning("alerts.unwritten cause=%s", type(failure).__name__)
                self._has_some.set()
                await asyncio.sleep(RETRY_S)

    async def write(self) -> None:
        """Write everything added so far. Raises psycopg.Error or TimeoutError, and keeps it then."""
        counts, self._counts = self._counts, Counter()
        turns = list(self._turns)
        try:
            async with (
                asyncio.timeout(WRITE_TIMEOUT_S),
                self._pool.connection() as connection,
                connection.transaction(),
            ):
                for (kind, about), times in counts.items():
                    await connection.execute(RAISE, raise_params(kind, about, times=times))
                for turn in turns:
                    params = raise_for_turn_params(AlertKind.CONTENT_REFUSED, turn)
                    await connection.execute(RAISE_FOR_TURN, params)
        except BaseException:
            self._counts.update(counts)
            raise
        # Turns that were added during the write stay.
        self._turns = deque((turn for turn in self._turns if turn not in turns), maxlen=MAX_BUFFERED)
