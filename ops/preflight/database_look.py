"""Looks at a database by an address of the settings."""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import psycopg
from django.conf import settings

from ops.preflight.database_facts import OLDEST_MAJOR, ConnectionFacts, read_facts
from ops.preflight.pooling import Connect, find_pooling

LOOK_TIMEOUT_S = 20.0


def build_connect() -> Connect:
    """What opens connections as the service does, by DATABASE_URL."""
    timeouts: dict[str, Any] = dict(settings.DATABASE_TIMEOUTS)
    return partial(
        settings.ASYNC_CONNECTION_CLASS.connect,
        settings.DATABASE_URL,
        **timeouts,
        autocommit=True,
        # A pooler may give each statement another session.
        prepare_threshold=None,
        application_name="companion preflight",
    )


async def look_at_database(
    connect: Connect, *, wall_clock: Callable[[], float] = time.time
) -> ConnectionFacts:
    """Return what is found at an address. Raises psycopg.Error, and TimeoutError after `LOOK_TIMEOUT_S`."""
    async with asyncio.timeout(LOOK_TIMEOUT_S):
        pooling = await find_pooling(connect)
        async with await connect() as connection:
            version = connection.info.server_version
            if version // 10_000 < OLDEST_MAJOR:
                return ConnectionFacts(version=version, pooling=pooling, database=None)
            before = wall_clock()
            facts = await read_facts(connection)
            between = (before + wall_clock()) / 2
    return ConnectionFacts(
        version=version, pooling=pooling, database=facts, clock_ahead_s=facts.clock - between
    )


async def commit_once(connect: Connect, *, within_s: float) -> float:
    """Commit a change of no table; return the seconds it took. Raises psycopg.Error and TimeoutError.

    It writes to the server's journal and waits for a synchronous standby, as storing a word does.
    """
    began = time.monotonic()
    async with asyncio.timeout(within_s):
        connection: psycopg.AsyncConnection[Any] = await connect()
        async with connection:
            await connection.execute(
                "SELECT pg_catalog.pg_logical_emit_message(true, 'companion', 'preflight')"
            )
    return time.monotonic() - began
