"""Raises what web processes find once a minute. The worker does not do this, because it may be away itself."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg_pool import AsyncConnectionPool

from ops.alerts.condition_queries import CONDITION_QUERIES
from ops.alerts.statements import (
    RAISE_FOR_ENDINGS,
    RAISE_LONG_PIN,
    RAISE_OVERDUE_DRILL,
    RAISE_PERSONA_CHANGED,
    RAISE_WORKER_AWAY,
    watch_params,
)
from ops.alerts.turns import ENDING_RULES
from ops.minutes import LAST_HOUR

log = logging.getLogger(__name__)

INTERVAL_S = 60.0
TIMEOUT_S = 5.0


class AlertWatch:
    """Runs the statements that look for causes in the database."""

    def __init__(
        self, pool: AsyncConnectionPool[Any], *, persona_versions: Sequence[str], every_s: float = INTERVAL_S
    ) -> None:
        self._pool = pool
        self._params = watch_params(persona_versions)
        self._every_s = every_s

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            try:
                async with asyncio.timeout(TIMEOUT_S):
                    await self.look()
            except (psycopg.Error, TimeoutError) as failure:
                log.warning("watch.missed cause=%s", type(failure).__name__)
            await asyncio.sleep(self._every_s)

    async def look(self) -> None:
        """Run every statement once. Raises psycopg.Error."""
        async with self._pool.connection() as connection:
            for condition in CONDITION_QUERIES:
                await connection.execute(condition.statement, condition.params)
            for statement in (RAISE_PERSONA_CHANGED, RAISE_LONG_PIN, RAISE_OVERDUE_DRILL, RAISE_WORKER_AWAY):
                await connection.execute(statement, self._params)
            # The worker keeps the minutes too, but alerts about them must not wait for it.
            await connection.execute(LAST_HOUR)
            for rule in ENDING_RULES:
                await connection.execute(RAISE_FOR_ENDINGS, rule.params)
