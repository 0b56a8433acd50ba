"""Reroutes the waiting turns of a process when the selection or a breaker changes."""

import asyncio
import logging
from collections.abc import Callable, Collection

import psycopg

from companion.breakers import SharedBreakers
from companion.ledger import Ledger
from routing.chain import Route

log = logging.getLogger(__name__)


class LaneFollower:
    """Of one process. `ordered_route` gives the route in waiting order, `waiting` the turns not yet admitted."""

    def __init__(
        self,
        breakers: SharedBreakers,
        *,
        ledger: Ledger,
        ordered_route: Callable[[], Route],
        waiting: Callable[[], Collection[int]],
    ) -> None:
        self._breakers = breakers
        self._ledger = ledger
        self._ordered_route = ordered_route
        self._waiting = waiting
        self._changed = asyncio.Event()
        self._applied: Route | None = None
        self._repeat = False

    def check_soon(self) -> None:
        """Compare again: the selection or a breaker may have changed."""
        self._changed.set()

    async def run(self) -> None:
        """Reroute after each change, until cancelled."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self._breakers.refresh()
                route = self._ordered_route()
                if route != self._applied or (self._repeat and self._waiting()):
                    await self._ledger.reroute()
                # A turn that was being opened meanwhile was stored with the old order; the next check reroutes it.
                self._repeat = route != self._applied
                self._applied = route
            except (psycopg.Error, TimeoutError) as failure:
                log.warning("lane_follower.failed cause=%s", type(failure).__name__)
