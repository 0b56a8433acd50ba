"""Waiting for something in another process, where no event can be awaited: asked often, and never for ever."""

import asyncio
from collections.abc import Callable


async def until(is_so: Callable[[], object], *, within_s: float = 10) -> None:
    """Return as soon as `is_so()` is true. Raises TimeoutError."""
    async with asyncio.timeout(within_s):
        while not is_so():  # noqa: ASYNC110  (another process cannot set an event of ours)
            await asyncio.sleep(0.01)
