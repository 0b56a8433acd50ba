"""LISTEN on one direct connection per process, and NOTIFY within the transactions that change rows.

A notification may be lost, so nothing depends on one: a tick every second reads the same rows.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import UUID

import psycopg
from psycopg import AsyncCursor
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from companion.notifications import (
    CHANNEL,
    NOTIFY,
    BreakersChanged,
    KeptChanged,
    Notification,
    TurnsChanged,
    notify_parameters,
    parse_notification,
    split_turns,
)
from companion.rows import Row
from companion.transactions import is_read_only
from companion.turn_close import ClosedTurn
from companion.waiting_room import GateResult

log = logging.getLogger(__name__)

# TCP keepalive detects a vanished server within 20 s.
_KEEPALIVE = "keepalives=1 keepalives_idle=10 keepalives_interval=3 keepalives_count=3"


async def notify_turns_changed(
    cursor: AsyncCursor[Row],
    *,
    by: UUID,
    result: GateResult,
    ended: Sequence[ClosedTurn] = (),
    opened: Sequence[tuple[int, int]] = (),
) -> None:
    """Notify every process, when this transaction commits, of the turns that it changed."""
    gone = [*ended, *result.lost]
    every = TurnsChanged(
        by=by,
        changed=(
            *opened,
            *((turn.turn, turn.conversation) for turn in gone),
            *((turn.turn, turn.conversation) for turn in result.admitted),
        ),
        ended=tuple(turn.turn for turn in gone),
        admitted=tuple(
            (turn.turn, turn.conversation, turn.owner, turn.fence, turn.lane) for turn in result.admitted
        ),
    )
    # PostgreSQL refuses a notification of 8,000 bytes, and with it the whole transaction.
    for part in split_turns(every):
        await cursor.execute(NOTIFY, notify_parameters(part))


async def notify_breakers_changed(cursor: AsyncCursor[Row], *, by: UUID) -> None:
    """Notify every process, when this transaction commits, that a breaker has opened, closed or half-opened."""
    await cursor.execute(NOTIFY, notify_parameters(BreakersChanged(by=by, breakers=True)))


async def notify_kept_changed(cursor: AsyncCursor[Row], *, by: UUID, conversation: int) -> None:
    """Notify every process, when this transaction commits, that a kept question of this conversation was settled."""
    await cursor.execute(NOTIFY, notify_parameters(KeptChanged(by=by, kept=(conversation,))))


class Doorbell:
    """Receives notifications and passes each to `on_notification`.

    `on_connect` is awaited after every (re)connect, before the first notification. `connection_class` connects.
    """

    def __init__(
        self,
        url: str,
        *,
        on_notification: Callable[[Notification], None],
        on_connect: Callable[[], Awaitable[None]],
        connection_class: type[psycopg.AsyncConnection[Any]] = psycopg.AsyncConnection,
    ) -> None:
        self._url = make_conninfo(url, **conninfo_to_dict(_KEEPALIVE))
        self._on_notification = on_notification
        self._on_connect = on_connect
        self._connection_class = connection_class

    async def run(self) -> None:
        """Listen until cancelled; reconnect when the connection is lost."""
        wait_s = 0.1
        while True:
            try:
                async with await self._connection_class.connect(
                    self._url, autocommit=True, connect_timeout=5
                ) as connection:
                    # LISTEN first, then read: a change in between arrives as a notification.
                    await connection.execute(f"LISTEN {CHANNEL}")
                    await self._on_connect()
                    wait_s = 0.1
                    await self._listen(connection)
            except (psycopg.Error, OSError) as failure:
                log.warning("doorbell.lost cause=%s", type(failure).__name__)
            await asyncio.sleep(wait_s)
            wait_s = min(wait_s * 2, 1.0)

    async def _listen(self, connection: psycopg.AsyncConnection[Any]) -> None:
        while True:
            async for notify in connection.notifies(timeout=10):
                notification = parse_notification(notify.payload)
                if notification is not None:
                    self._on_notification(notification)
            # After ten silent seconds: a statement finds a server that has gone behind a connection that looks open.
            await connection.execute("SELECT 1")
            if is_read_only(connection):
                # Its successor has the writers, and so the notifications.
                raise psycopg.OperationalError("the server has become read-only")
