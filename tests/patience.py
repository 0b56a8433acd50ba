"""Waiting for something in another process, where no event can be awaited: asked often, and never for ever."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")
OFTEN_S = 0.01


async def until(ask: Callable[[], Answer], *, within_s: float = 10) -> Answer:
    """The first answer of `ask()` that is true. Raises TimeoutError."""
    async with asyncio.timeout(within_s):
        while not (answer := ask()):  # noqa: ASYNC110  (another process cannot set an event of ours)
            await asyncio.sleep(OFTEN_S)
        return answer


def wait_until(ask: Callable[[], Answer], *, within_s: float = 10) -> Answer:
    """The same for tests that are no coroutines."""
    deadline = time.monotonic() + within_s
    while not (answer := ask()):
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(OFTEN_S)
    return answer
