"""Pools of connections that one web process has beside Django's. Each is opened by the part that uses it."""

from typing import Any

import psycopg
from django.conf import settings
from psycopg_pool import AsyncConnectionPool

from ops.project.addresses import VANISHED_SERVER


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
    return AsyncConnectionPool(
        settings.DATABASE_URL,
        min_size=min_size,
        max_size=max_size,
        timeout=timeout_s,
        open=False,
        kwargs={**VANISHED_SERVER, "application_name": name, "autocommit": True, **options},
        configure=_plan_once if plans_once else None,
        name=name,
    )


async def _plan_once(connection: psycopg.AsyncConnection[Any]) -> None:
    # To plan them each time took longer than to carry them out.
    await connection.execute("SET plan_cache_mode = force_generic_plan")
