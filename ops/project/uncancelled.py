"""Requests that run to their end even if the client leaves.

Ten seconds after a client has hung up, Daphne cancels its request, once a second until it ends. Django returns the
database connection of a request to the pool at its very end, which a request that is cancelled twice never reaches:
while a database stalled, each client that gave up would take a connection out of the pool for ever.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

Application = Callable[..., Awaitable[Any]]


class UncancelledRequests:
    """The ASGI application; cancelling a call of it ends the waiting for it, not the call."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._running: set[asyncio.Future[Any]] = set()

    async def __call__(self, *args: Any) -> None:
        call = asyncio.ensure_future(self._application(*args))
        # The event loop itself keeps only a weak reference.
        self._running.add(call)
        call.add_done_callback(self._running.discard)
        await asyncio.shield(call)

    def __len__(self) -> int:
        """Requests under way."""
        return len(self._running)

    async def finish(self, *, within_s: float) -> None:
        """Wait until no request is under way, at most so long.

        A request works in a thread that waits for the event loop, so one that outlives the loop would never end.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within_s
        while self._running and (left_s := deadline - loop.time()) > 0:
            await asyncio.wait(self._running, timeout=left_s)
