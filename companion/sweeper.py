"""Sweeps the turns of one process, one sweep at a time: it ends what is lost, and claims what waits elsewhere."""

import asyncio
import logging
from collections.abc import Callable

import psycopg

from companion.hand_over import MAX_CLAIMED
from companion.ledger import Ledger
from companion.runner import Runner
from companion.watchers import Watchers

log = logging.getLogger(__name__)


class Sweeper:
    """Runs the ledger's sweep with what is running and watched here. `is_draining`: then it claims nothing."""

    def __init__(
        self, *, ledger: Ledger, runner: Runner, watchers: Watchers, is_draining: Callable[[], bool]
    ) -> None:
        self._ledger = ledger
        self._runner = runner
        self._watchers = watchers
        self._is_draining = is_draining
        # Until a claimed turn has its task, another sweep would pause it as one without a driver.
        self._lock = asyncio.Lock()
        self._due = asyncio.Event()

    def sweep_soon(self) -> None:
        """Sweep in `run`: a process that leaves offers its waiting turns."""
        self._due.set()

    async def sweep(self) -> None:
        """Sweep once. Raises psycopg.Error and TimeoutError."""
        async with self._lock:
            claimed = await self._ledger.sweep(
                running=self._runner.running,
                watched=self._watchers.conversations,
                claims=not self._is_draining(),
            )
            for turn in claimed:
                self._runner.adopt(turn)
        if claimed:
            log.info("sweeper.claimed turns=%d", len(claimed))
        if len(claimed) == MAX_CLAIMED:
            self.sweep_soon()

    async def run(self) -> None:
        """Sweep whenever it is due, until cancelled."""
        while True:
            await self._due.wait()
            self._due.clear()
            try:
                await self.sweep()
            except (psycopg.Error, TimeoutError) as failure:
                # The tick sweeps as well, a moment later.
                log.warning("sweeper.missed cause=%s", type(failure).__name__)
