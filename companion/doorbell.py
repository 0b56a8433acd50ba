"""LISTEN on one direct connection: processes tell each other that something changed, never what was said.

A ring may be lost, so nothing depends on one: a tick every second reads the same rows.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import UUID

import psycopg
from psycopg import AsyncCursor
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from companion.turn_close import ClosedTurn, Row
from companion.waiting_room import GateResult

log = logging.getLogger(__name__)

CHANNEL = "companion"
# A connection whose other end has vanished is noticed by the system within 20 s.
_KEEPALIVE = "keepalives=1 keepalives_idle=10 keepalives_interval=3 keepalives_count=3"


A_RING_HOLDS = 40
"""Turns in one notification, which the server limits to 8,000 bytes."""


async def ring(
    cursor: AsyncCursor[Row],
    *,
    by: UUID,
    result: GateResult,
    ended: Sequence[ClosedTurn] = (),
    opened: Sequence[tuple[int, int]] = (),
) -> None:
    """Tell every process, with this transaction's commit, which turns it changed."""
    gone = [*ended, *result.lost]
    changed = [
        *opened,
        *((one.turn, one.conversation) for one in gone),
        *((one.turn, one.conversation) for one in result.admitted),
    ]
    admitted = [(one.turn, one.conversation, str(one.owner), one.fence, one.lane) for one in result.admitted]
    for start in range(0, len(changed), A_RING_HOLDS):
        part = slice(start, start + A_RING_HOLDS)
        told = {
            "by": str(by),
            "changed": changed[part],
            "ended": [one.turn for one in gone][part],
            "admitted": admitted[part],
        }
        await cursor.execute("SELECT pg_notify(%s, %s)", (CHANNEL, json.dumps(told)))


async def ring_breakers(cursor: AsyncCursor[Row], *, by: UUID) -> None:
    """Tell every process, with this transaction's commit, that a lane may be called again, or may not."""
    await cursor.execute("SELECT pg_notify(%s, %s)", (CHANNEL, json.dumps({"by": str(by), "breakers": True})))


async def ring_kept(cursor: AsyncCursor[Row], *, by: UUID, conversation: int) -> None:
    """Tell every process, with this transaction's commit, that a kept question of this conversation was settled."""
    told = {"by": str(by), "kept": [conversation]}
    await cursor.execute("SELECT pg_notify(%s, %s)", (CHANNEL, json.dumps(told)))


class Doorbell:
    """Hears rings and passes each on. `returned` is awaited after every (re)connect, before the first ring."""

    def __init__(
        self,
        url: str,
        *,
        rung: Callable[[dict[str, Any]], None],
        returned: Callable[[], Awaitable[None]],
    ) -> None:
        self._url = make_conninfo(url, **conninfo_to_dict(_KEEPALIVE))
        self._rung = rung
        self._returned = returned

    async def run(self) -> None:
        """Listen until cancelled; reconnect when the connection is lost."""
        wait_s = 0.1
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(
                    self._url, autocommit=True, connect_timeout=5
                ) as connection:
                    # Listen first, then read: what changes in between rings.
                    await connection.execute(f"LISTEN {CHANNEL}")
                    await self._returned()
                    wait_s = 0.1
                    await self._listen(connection)
            except (psycopg.Error, OSError) as failure:
                log.warning("doorbell.lost cause=%s", type(failure).__name__)
            await asyncio.sleep(wait_s)
            wait_s = min(wait_s * 2, 1.0)

    async def _listen(self, connection: psycopg.AsyncConnection[Any]) -> None:
        while True:
            async for notify in connection.notifies(timeout=10):
                try:
                    ring = json.loads(notify.payload)
                except ValueError:
                    continue
                if isinstance(ring, dict):
                    self._rung(ring)
            await connection.execute("SELECT 1")
