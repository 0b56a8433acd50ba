"""Takes a slot on every lane that a turn calls after its first."""

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

    `takes` gives the number of turns that a lane may have now. The gate took the first slot, on `admission.lane`.
    """

    def __init__(
        self, inner: LaneCaller, ledger: Ledger, admission: Admission, *, takes: Callable[[Lane], int]
    ) -> None:
        self._takes = takes
        self._inner = inner
        self._ledger = ledger
        self._admission = admission
        self._holds = admission.lane

    async def call(self, lane: Lane, ask: Ask, clocks: Clocks) -> AsyncIterator[Words | Finished]:
        """As `LaneCaller.call`. Raises CallFailed with LOCAL_LIMIT if the lane is full."""
        if lane.name != self._holds:
            if not await self._enter(lane):
                raise CallFailed(FailureClass.LOCAL_LIMIT)
            # The row names one lane: entering this one has given the slot on the last one back.
            self._holds = lane.name
        async with aclosing(self._inner.call(lane, ask, clocks)) as events:  # type: ignore[type-var]
            async for event in events:
                yield event

    async def _enter(self, lane: Lane) -> bool:
        return await self._ledger.enter_lane(self._admission, replace(lane, max_in_flight=self._takes(lane)))
