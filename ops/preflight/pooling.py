"""Finds out what stands between a connection and its server, by what arrives.

A pooler answers with a backend whose pid differs from the handshake's, as in `ops.backups.connecting.direct`. Whether
it keeps one session for each client is shown by a notification: a listener whose session goes to another client
receives none.
"""

import secrets
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from enum import StrEnum
from typing import Any

import psycopg
from psycopg import sql

RING_TIMEOUT_S = 2.0
"""A notification arrives within milliseconds, or never."""

Connect = Callable[[], Awaitable[psycopg.AsyncConnection[Any]]]
"""Opens a new connection in autocommit."""


class Pooling(StrEnum):
    """What a connection leads through."""

    DIRECT = "direct"
    SESSION = "session"
    """A pooler that keeps a session of the server for each client, for as long as the client is connected."""
    TRANSACTION = "transaction"
    """A pooler that gives the session to another client after each transaction, or each statement."""


async def find_pooling(connect: Connect) -> Pooling:
    """Return what connections lead through. Raises psycopg.Error."""
    async with await connect() as listener:
        if await _fetch_backend_pid(listener) == listener.info.backend_pid:
            return Pooling.DIRECT
        channel = f"preflight_{secrets.token_hex(8)}"
        await listener.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
        async with await connect() as other:
            await other.execute("SELECT pg_catalog.pg_notify(%s, '')", [channel])
        try:
            async with aclosing(listener.notifies(timeout=RING_TIMEOUT_S, stop_after=1)) as notifications:
                async for _ in notifications:
                    return Pooling.SESSION
            return Pooling.TRANSACTION
        finally:
            # In transaction mode the session that listens goes on to other clients.
            await listener.execute(sql.SQL("UNLISTEN {}").format(sql.Identifier(channel)))


async def _fetch_backend_pid(connection: psycopg.AsyncConnection[Any]) -> int:
    cursor = await connection.execute("SELECT pg_catalog.pg_backend_pid()")
    row = await cursor.fetchone()
    assert row is not None
    return int(row[0])
