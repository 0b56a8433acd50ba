"""Pools of connections that one web process has beside Django's. Each is opened by the part that uses it."""

from typing import Any

import psycopg
from django.conf import settings
from psycopg_pool import AsyncConnectionPool

from companion.transactions import is_read_only
from ops.project.addresses import RECONNECT_TIMEOUT_S

TURN_CONNECTIONS = 8
DESK_CONNECTIONS = 6
STAFF_CONNECTIONS = 2
MACHINE_CONNECTIONS = 2
BELL_CONNECTIONS = 1


def count_connections() -> int:
    """Return how many connections one web process opens at most, those of pages included."""
    pages: int = settings.DATABASES["default"]["OPTIONS"]["pool"]["max_size"]
    others = TURN_CONNECTIONS + DESK_CONNECTIONS + STAFF_CONNECTIONS + MACHINE_CONNECTIONS
    return pages + others + BELL_CONNECTIONS


def build_pool(
    name: str,
    *,
    max_size: int,
    min_size: int = 0,
    timeout_s: float = 4,
    plans_once: bool = False,
    **options: Any,
) -> AsyncConnectionPool[Any]:
    """A pool that PostgreSQL lists as `name`; `options` are those of a connection. `timeout_s`: to wait for one.

    `plans_once` is for statements that come again and again with values of the same shape.
    """

    async def leave_read_only(connection: psycopg.AsyncConnection[Any]) -> None:
        # Asked before each use, and sends nothing. The other connections of the pool lead to the same server.
        if is_read_only(connection):
            await connection.close()
            await pool.drain()
            raise psycopg.OperationalError("the server has become read-only")

    pool: AsyncConnectionPool[Any] = AsyncConnectionPool(
        settings.DATABASE_URL,
        connection_class=settings.ASYNC_CONNECTION_CLASS,
        min_size=min_size,
        max_size=max_size,
        timeout=timeout_s,
        reconnect_timeout=RECONNECT_TIMEOUT_S,
        open=False,
        kwargs={**settings.DATABASE_TIMEOUTS, "application_name": name, "autocommit": True, **options},
        configure=_plan_once if plans_once else None,
        check=leave_read_only if settings.DATABASE_FOLLOWS_PRIMARY else None,
        name=name,
    )
    return pool


def build_turn_pool() -> AsyncConnectionPool[Any]:
    """The pool of turns and sockets. Pages have Django's own, so that a slow page cannot delay a reply."""
    # A pooler between us and the server would lose prepared statements; direct connections keep them. A single
    # statement is one trip when it commits by itself, and three when a transaction is put around it.
    return build_pool(
        "companion",
        min_size=2,
        max_size=TURN_CONNECTIONS,
        timeout_s=5,
        plans_once=True,
        prepare_threshold=0,
    )


async def _plan_once(connection: psycopg.AsyncConnection[Any]) -> None:
    # To plan them each time took longer than to carry them out.
    await connection.execute("SET plan_cache_mode = force_generic_plan")
