"""Looks, once a minute and in every web process, for what nobody else would notice: the worker may be away."""

import asyncio
import logging
from typing import Any

import psycopg
from psycopg_pool import AsyncConnectionPool

from ops.alerts.ended import ENDED_BADLY, TELL
from ops.alerts.lasting import LASTING
from ops.alerts.statements import (
    DRILL_IS_OVERDUE,
    PERSONA_IS_ANOTHER,
    PIN_IS_LONG,
    WORKER_IS_AWAY,
    watching,
)
from ops.minutes import LAST_HOUR

log = logging.getLogger(__name__)

EVERY_S = 60.0


class Watch:
    """Raises alerts about what lasts too long, and about a character that is not the one of before."""

    def __init__(
        self, pool: AsyncConnectionPool[Any], *, persona_version: str, every_s: float = EVERY_S
    ) -> None:
        self._pool = pool
        self._facts = watching(persona_version)
        self._every_s = every_s

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            try:
                async with asyncio.timeout(5):
                    await self.look()
            except (psycopg.Error, TimeoutError) as failure:
                log.warning("watch.missed cause=%s", type(failure).__name__)
            await asyncio.sleep(self._every_s)

    async def look(self) -> None:
        """Look once. Raises psycopg.Error."""
        async with self._pool.connection() as connection:
            for one in LASTING:
                await connection.execute(one.statement, one.facts)
            for statement in (PERSONA_IS_ANOTHER, PIN_IS_LONG, DRILL_IS_OVERDUE, WORKER_IS_AWAY):
                await connection.execute(statement, self._facts)
            # The worker keeps the minutes that are over too; alerts about them must not wait for it.
            await connection.execute(LAST_HOUR)
            for ending in ENDED_BADLY:
                await connection.execute(TELL, ending.facts)
