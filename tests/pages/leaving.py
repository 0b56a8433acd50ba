"""Closing what a browser opened, for as long as is reasonable: a browser that does not answer must not stop the run.

What stays open goes with the browser, whose process ends with the tests.
"""

import asyncio
import contextlib
from collections.abc import Awaitable

WITHIN_S = 20
LEFT_EARLY = "WebSocket is closed before the connection is established"
"""A browser's remark on a page that was left while its socket still connected: nothing is wrong with that page."""


async def close_in_time(closing: Awaitable[None]) -> None:
    """Wait for `closing`, but not for ever."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(WITHIN_S):
            await closing
