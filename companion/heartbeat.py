"""The heartbeat of one process: a row, written every second with the database's clock.

It is the lease of all its turns: a turn belongs to its owner while the owner's row is younger than the lease.
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
from routing.chain import Route

log = logging.getLogger(__name__)

# A process that is draining stays so: a beat that was sent before must not make it admit turns again.
BEAT = """
INSERT INTO companion_process AS p (id, host, pid, sockets, draining, persona_version, routing_version, preset,
                                    routing_hash, documents_refused, conditions, pages)
VALUES (%(id)s, %(host)s, %(pid)s, %(sockets)s, %(draining)s, %(persona_version)s, %(routing_version)s, %(preset)s,
        %(routing_hash)s, %(documents_refused)s, %(conditions)s::varchar[], %(pages)s::bigint[])
ON CONFLICT (id) DO UPDATE
SET beat_at = clock_timestamp(), sockets = excluded.sockets, draining = p.draining OR excluded.draining,
    routing_version = excluded.routing_version, preset = excluded.preset,
    documents_refused = excluded.documents_refused, conditions = excluded.conditions, pages = excluded.pages
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedRouting:
    """The routing that turns starting now on a process are served by."""

    routing_version: int
    preset: str
    routing_hash: str
    documents_refused: int
    conditions: tuple[str, ...] = ()


def describe_routing(route: Route, documents_refused: int, conditions: tuple[str, ...]) -> ServedRouting:
    """Return what a process serves by a route. `conditions` names what is wrong with its configuration."""
    return ServedRouting(
        routing_version=route.version,
        preset=route.preset,
        routing_hash=route.file_hash,
        documents_refused=documents_refused,
        conditions=conditions,
    )


class Heartbeat:
    """Writes the heartbeat of one process. `sockets` counts its open sockets, `routing` returns what it serves.

    `pages` are the conversations whose participants have a page open here.
    """

    def __init__(
        self,
        pool: AsyncConnectionPool[Any],
        policy: TurnPolicy,
        *,
        process: UUID,
        sockets: Callable[[], int],
        routing: Callable[[], ServedRouting],
        pages: Callable[[], list[int]] = list,
    ) -> None:
        self._pool = pool
        self._policy = policy
        self._process = process
        self._persona_version = policy.character_version
        self._sockets = sockets
        self._routing = routing
        self._pages = pages
        self._last_beat_s = 0.0
        self.draining = False

    @property
    def is_fresh(self) -> bool:
        """Whether the last good beat is younger than three quarters of the lease."""
        return time.monotonic() - self._last_beat_s < 0.75 * self._policy.lease_s

    @property
    def has_lapsed(self) -> bool:
        """Whether other processes take this one for dead."""
        return time.monotonic() - self._last_beat_s > self._policy.lease_s

    async def beat(self) -> None:
        """Write the row once. Raises psycopg.Error."""
        began, routing = time.monotonic(), self._routing()
        async with self._pool.connection() as connection:
            await connection.execute(
                BEAT,
                {
                    "id": self._process,
                    "host": socket.gethostname()[:100],
                    "pid": os.getpid(),
                    "sockets": self._sockets(),
                    "draining": self.draining,
                    "persona_version": self._persona_version,
                    "routing_version": routing.routing_version,
                    "preset": routing.preset,
                    "routing_hash": routing.routing_hash,
                    "documents_refused": routing.documents_refused,
                    "conditions": [condition[:140] for condition in routing.conditions],
                    "pages": self._pages(),
                },
            )
        # From before the statement: this process must believe its lease over no later than the others do.
        self._last_beat_s = began

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            try:
                # Half the lease, so that a second try fits into it.
                async with asyncio.timeout(self._policy.lease_s / 2):
                    await self.beat()
            except (psycopg.Error, TimeoutError) as failure:
                log.warning("heartbeat.missed cause=%s", type(failure).__name__)
                await self._check_pool()
            await asyncio.sleep(self._policy.beat_s)

    async def _check_pool(self) -> None:
        # Discards connections to a server that has restarted, before a turn needs one.
        with contextlib.suppress(psycopg.Error, TimeoutError):
            async with asyncio.timeout(self._policy.lease_s / 2):
                await self._pool.check()

    async def delete(self) -> None:
        """Delete the row: its turns have no owner from now on."""
        async with self._pool.connection() as connection:
            await connection.execute("DELETE FROM companion_process WHERE id = %s", (self._process,))
