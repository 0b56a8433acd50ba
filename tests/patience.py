"""Polling, with a timeout, for a state of another process that gives no event to await."""

import asyncio
import time
from collections.abc import Callable
from typing import Any, TypeVar

import psycopg
from django.conf import settings

Answer = TypeVar("Answer")
POLL_S = 0.01


async def until(ask: Callable[[], Answer], *, within_s: float = 10) -> Answer:
    """Poll `ask()` and return its first true answer. Raises TimeoutError."""
    async with asyncio.timeout(within_s):
        while not (answer := ask()):  # noqa: ASYNC110  (another process cannot set an event here)
            await asyncio.sleep(POLL_S)
        return answer


def wait_until(ask: Callable[[], Answer], *, within_s: float = 10) -> Answer:
    """The same for synchronous tests."""
    deadline = time.monotonic() + within_s
    while not (answer := ask()):
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(POLL_S)
    return answer


def waits_for(holder: psycopg.Connection[Any]) -> bool:
    """Whether another connection waits for a lock of this one."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))"
    with psycopg.connect(settings.DATABASE_URL) as look:
        found = look.execute(waiting, [holder.info.backend_pid]).fetchone()
        return found is not None and found[0] > 0
