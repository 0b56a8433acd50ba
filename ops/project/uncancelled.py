"""Requests that run to their end even if the client leaves.

Ten seconds after a client has hung up, Daphne cancels its request, once a second until it ends. Django returns the
database connection of a request to the pool at its very end, which a request that is cancelled twice never reaches:
while a database stalled, each client that gave up would take a connection out of the pool for ever.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

Application = Callable[..., Awaitable[Any]]


def uncancelled(application: Application) -> Application:
    """The ASGI application; cancelling a call of it ends the waiting for it, not the call."""
    running: set[asyncio.Future[Any]] = set()

    async def run(*args: Any) -> None:
        call = asyncio.ensure_future(application(*args))
        # The event loop itself keeps only a weak reference.
        running.add(call)
        call.add_done_callback(running.discard)
        await asyncio.shield(call)

    return run
