"""Transactions of turns, sockets and the acts of staff, on the process's own pool."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any

import psycopg
from psycopg import AsyncCursor
from psycopg_pool import AsyncConnectionPool

from companion.rows import Row


@asynccontextmanager
async def open_transaction(
    pool: AsyncConnectionPool[Any], *, within_s: float, is_pipelined: bool = False
) -> AsyncIterator[AsyncCursor[Row]]:
    """Open a transaction that is rolled back after `within_s` seconds. Raises psycopg.Error, then too.

    `is_pipelined`: statements travel together until a result is fetched.
    """
    try:
        # The pool's connections autocommit, so a transaction is explicit.
        async with asyncio.timeout(within_s), pool.connection() as connection:
            pipeline: AbstractAsyncContextManager[object] = (
                connection.pipeline() if is_pipelined else nullcontext()
            )
            async with pipeline, connection.transaction(), connection.cursor() as cursor:
                yield cursor
    except TimeoutError:
        # Sockets answer a database that is away by *come back*.
        raise psycopg.OperationalError(f"the database did not answer within {within_s:g} s") from None


def is_read_only(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> bool:
    """Whether the server has said that it accepts no writes any more. Sends nothing: it reports this with an answer."""
    status = connection.info.parameter_status
    return "on" in (status("default_transaction_read_only"), status("in_hot_standby"))
