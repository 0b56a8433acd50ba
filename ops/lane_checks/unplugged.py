"""Makes the head of a chain fail below the adapters, so that all code above is the code that serves people."""

from collections.abc import AsyncIterator

import httpx

from companion.engine import LaneCaller
from routing.contracts import Ask, Clocks, Finished, Lane, Words


class UnpluggedTransport(httpx.AsyncBaseTransport):
    """Refuses every connection, and counts them in `tried`."""

    def __init__(self) -> None:
        self.tried = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.tried += 1
        raise httpx.ConnectError("unplugged", request=request)


class HeadUnpluggedCaller:
    """Calls the head with the unplugged caller, and every other lane with the real one."""

    def __init__(self, *, head: str, unplugged: LaneCaller, real: LaneCaller) -> None:
        self._head = head
        self._unplugged = unplugged
        self._real = real

    def call(self, lane: Lane, ask: Ask, clocks: Clocks) -> AsyncIterator[Words | Finished]:
        """See `companion.engine.Caller`."""
        return (self._unplugged if lane.name == self._head else self._real).call(lane, ask, clocks)
