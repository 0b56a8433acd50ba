"""A slot on every lane a turn calls, not on the first alone."""

from collections.abc import AsyncIterator
from contextlib import aclosing

from companion.engine import Caller
from companion.ledger import Ledger
from companion.waiting_room import Admitted
from routing.contracts import Ask, Clocks, Finished, Lane, Words
from routing.errors import CallFailed, FailureClass


class SlottedCaller:
    """Takes a slot on a lane before it is called: `max_in_flight` holds over all processes, for every lane.

    The gate has taken one already, on the first lane of the chain as it was then.
    """

    def __init__(self, inner: Caller, ledger: Ledger, admitted: Admitted) -> None:
        self._inner = inner
        self._ledger = ledger
        self._admitted = admitted
        self._holds = admitted.lane

    async def call(self, lane: Lane, ask: Ask, clocks: Clocks) -> AsyncIterator[Words | Finished]:
        """As `Caller.call`; a lane that takes no more is our own limit."""
        if lane.name != self._holds:
            if not await self._ledger.enter_lane(self._admitted, lane):
                raise CallFailed(FailureClass.LOCAL_LIMIT)
            self._holds = lane.name
        async with aclosing(self._inner.call(lane, ask, clocks)) as pieces:  # type: ignore[type-var]
            async for piece in pieces:
                yield piece
