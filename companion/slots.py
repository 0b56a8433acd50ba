"""A slot on every lane a turn calls, not on the first alone."""

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import replace

from companion.engine import LaneCaller
from companion.ledger import Ledger
from companion.waiting_room import Admission
from routing.contracts import Ask, Clocks, Finished, Lane, Words
from routing.errors import CallFailed, FailureClass


class SlottedCaller:
    """Takes a slot on a lane before it is called: `max_in_flight` holds over all processes, for every lane.

    `takes` says how many turns a lane is given at this moment.
    The gate has taken one already, on the first lane of the chain as it was then.
    """

    def __init__(
        self, inner: LaneCaller, ledger: Ledger, admitted: Admission, *, takes: Callable[[Lane], int]
    ) -> None:
        self._takes = takes
        self._inner = inner
        self._ledger = ledger
        self._admitted = admitted
        self._holds = admitted.lane

    async def call(self, lane: Lane, ask: Ask, clocks: Clocks) -> AsyncIterator[Words | Finished]:
        """As `LaneCaller.call`; a lane that takes no more is our own limit."""
        if lane.name != self._holds:
            if not await self._enter(lane):
                raise CallFailed(FailureClass.LOCAL_LIMIT)
            self._holds = lane.name
        async with aclosing(self._inner.call(lane, ask, clocks)) as pieces:  # type: ignore[type-var]
            async for piece in pieces:
                yield piece

    async def _enter(self, lane: Lane) -> bool:
        return await self._ledger.enter_lane(self._admitted, replace(lane, max_in_flight=self._takes(lane)))
