"""Follows which lanes may be called, and lets waiting turns wait for the lane they will get."""

import asyncio
import logging
from collections.abc import Callable, Collection
from dataclasses import replace

import psycopg

from companion.breakers import SharedBreakers
from companion.ledger import Ledger
from routing.chain import Breakers, Route
from routing.contracts import Lane

log = logging.getLogger(__name__)


def heading(route: Route, breakers: Breakers) -> Route:
    """The chain as turns that wait should see it: the lanes that may be called first, in their order.

    A lane that has just recovered comes behind those that take all they can: it is given a few turns more each second.
    """
    lanes = [replace(lane, max_in_flight=breakers.takes(lane)) for lane in route.lanes]
    takes_all = {lane.name: lane.max_in_flight for lane in route.lanes}

    def how_free(lane: Lane) -> tuple[bool, bool]:
        return breakers.bars(lane.name) is not None, lane.max_in_flight < takes_all[lane.name]

    return replace(route, lanes=tuple(sorted(lanes, key=how_free)))


class LaneFollower:
    """For one process. `waiting` are the turns of it that have not been admitted."""

    def __init__(
        self,
        breakers: SharedBreakers,
        *,
        ledger: Ledger,
        heading: Callable[[], Route],
        waiting: Callable[[], Collection[int]],
    ) -> None:
        self._breakers = breakers
        self._ledger = ledger
        self._heading = heading
        self._waiting = waiting
        self._moved = asyncio.Event()
        self._waits_for: Route | None = None
        self._once_more = False

    def moved(self) -> None:
        """Something may have changed: what is selected, or what is known of a lane."""
        self._moved.set()

    async def run(self) -> None:
        """Look whenever something may have changed, until cancelled."""
        while True:
            await self._moved.wait()
            self._moved.clear()
            try:
                await self._breakers.refresh()
                heading = self._heading()
                if heading != self._waits_for or (self._once_more and self._waiting()):
                    await self._ledger.reroute()
                # A turn that was being opened meanwhile waits for what was known before; the next look finds it.
                self._once_more = heading != self._waits_for
                self._waits_for = heading
            except (psycopg.Error, TimeoutError) as failure:
                log.warning("following.not_followed cause=%s", type(failure).__name__)
