"""The heartbeat of one process: a row, written every second on the database's clock.

All leases hang on it: a turn is its owner's as long as the owner's row is young.
"""

import asyncio
import contextlib
import logging
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
from psycopg_pool import AsyncConnectionPool

from companion.turn_policy import TurnPolicy

log = logging.getLogger(__name__)

BEAT = """
INSERT INTO companion_process AS p (id, host, pid, sockets, draining, persona_version, routing_version, preset,
                                    routing_hash, documents_refused, conditions)
VALUES (%(id)s, %(host)s, %(pid)s, %(sockets)s, %(draining)s, %(persona_version)s, %(routing_version)s, %(preset)s,
        %(routing_hash)s, %(documents_refused)s, %(conditions)s::varchar[])
ON CONFLICT (id) DO UPDATE
SET beat_at = clock_timestamp(), sockets = excluded.sockets, draining = p.draining OR excluded.draining,
    routing_version = excluded.routing_version, preset = excluded.preset,
    documents_refused = excluded.documents_refused, conditions = excluded.conditions
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedRouting:
    """What turns that start now on a process are served by, for its heartbeat."""

    routing_version: int
    preset: str
    routing_hash: str
    documents_refused: int
    conditions: tuple[str, ...] = ()


class Heartbeat:
    """Beats for one process. `sockets` counts its open sockets, `serves` tells which chain it serves."""

    def __init__(
        self,
        pool: AsyncConnectionPool[Any],
        policy: TurnPolicy,
        *,
        process: UUID,
        sockets: Callable[[], int],
        serves: Callable[[], ServedRouting],
    ) -> None:
        self._pool = pool
        self._policy = policy
        self._process = process
        self._sockets = sockets
        self._serves = serves
        self._beaten_at = 0.0
        self.draining = False

    @property
    def is_fresh(self) -> bool:
        """Whether the lease is safely held: the last good beat is younger than three quarters of it."""
        return time.monotonic() - self._beaten_at < 0.75 * self._policy.lease_s

    @property
    def has_lapsed(self) -> bool:
        """Whether everybody else takes this process for dead."""
        return time.monotonic() - self._beaten_at > self._policy.lease_s

    async def beat(self) -> None:
        """Write the row once. Raises psycopg.Error."""
        began, serves = time.monotonic(), self._serves()
        async with self._pool.connection() as connection:
            await connection.execute(
                BEAT,
                {
                    "id": self._process,
                    "host": socket.gethostname()[:100],
                    "pid": os.getpid(),
                    "sockets": self._sockets(),
                    "draining": self.draining,
                    "persona_version": self._policy.persona_version,
                    "routing_version": serves.routing_version,
                    "preset": serves.preset,
                    "routing_hash": serves.routing_hash,
                    "documents_refused": serves.documents_refused,
                    "conditions": [one[:140] for one in serves.conditions],
                },
            )
        self._beaten_at = began

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            try:
                async with asyncio.timeout(self._policy.lease_s / 2):
                    await self.beat()
            except (psycopg.Error, TimeoutError) as failure:
                log.warning("heartbeat.missed cause=%s", type(failure).__name__)
                await self._look_at_the_pool()
            await asyncio.sleep(self._policy.beat_s)

    async def _look_at_the_pool(self) -> None:
        # Connections of a server that restarted are thrown away now, not by the next who needs one.
        with contextlib.suppress(psycopg.Error, TimeoutError):
            async with asyncio.timeout(self._policy.lease_s / 2):
                await self._pool.check()

    async def leave(self) -> None:
        """Take the row away: a process that has left owns nothing."""
        async with self._pool.connection() as connection:
            await connection.execute("DELETE FROM companion_process WHERE id = %s", (self._process,))
