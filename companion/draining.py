"""A web process that was told to leave: hands on what waits, lets replies end, and sends its pages elsewhere."""

import asyncio
import logging
import math
from contextlib import suppress
from typing import Any
from uuid import UUID

import psycopg
from psycopg_pool import AsyncConnectionPool

from companion.consumers import SocketRegistry
from companion.guarded_consumer import COME_BACK
from companion.hand_over import offer_waiting
from companion.runner import Runner
from companion.turn_policy import TurnPolicy
from companion.watchers import Watchers

log = logging.getLogger(__name__)

STEP_S = 0.1
OFFER_EVERY_S = 0.5
HAND_OVER_S = 6.0
"""After this time a waiting turn that no process has claimed is paused. Those that stay look every three seconds."""
LINGER_S = 0.5
"""A page stays for so long after the end of its turn, so that it is sent the end here."""
SHARE_PER_STEP = 8
"""Every step sends one of so many idle pages on: all at once would meet at the door of another process."""
SEND_ON_S = 4.0
"""The pages that are left so long after the last reply are closed together."""


class Draining:
    """The end of one web process. `run` admits nothing, because its sockets and the gate do not."""

    def __init__(
        self,
        pool: AsyncConnectionPool[Any],
        policy: TurnPolicy,
        *,
        process: UUID,
        runner: Runner,
        watchers: Watchers,
        sockets: SocketRegistry,
    ) -> None:
        self._pool = pool
        self._policy = policy
        self._process = process
        self._runner = runner
        self._watchers = watchers
        self._sockets = sockets
        self._idle_since: dict[int, float] = {}
        self._has_successor = True
        self._emptied = asyncio.Event()

    async def run(self) -> None:
        """Return when no turn runs and no page is open here, at the latest some seconds after the grace time."""
        await self._offer()
        beside = [asyncio.create_task(work()) for work in (self._hand_over, self._send_pages_on)]
        try:
            async with asyncio.timeout(self._policy.grace_s):
                await self._runner.wait_until_idle()
        except TimeoutError:
            await self._pause_running()
        if self._has_successor:
            with suppress(TimeoutError):
                async with asyncio.timeout(SEND_ON_S):
                    await self._emptied.wait()
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        # Last, so that each page has been sent the end of its turn before it is told to come back.
        await self._close_sockets()

    async def _hand_over(self) -> None:
        loop = asyncio.get_running_loop()
        give_up_at = loop.time() + HAND_OVER_S
        while True:
            if self._runner.waiting:
                await self._offer()
                if not self._has_successor or loop.time() > give_up_at:
                    self._runner.pause_waiting()
            await asyncio.sleep(OFFER_EVERY_S)

    async def _offer(self) -> None:
        try:
            async with asyncio.timeout(self._policy.store_within_s):
                self._has_successor = await offer_waiting(self._pool, self._policy, process=self._process)
        except (psycopg.Error, TimeoutError) as failure:
            log.warning("draining.cannot_offer cause=%s", type(failure).__name__)

    async def _send_pages_on(self) -> None:
        """Close the pages in whose conversation no turn runs here, a few at a time: they open again elsewhere."""
        while True:
            await asyncio.sleep(STEP_S)
            if not self._has_successor:
                continue
            now = asyncio.get_running_loop().time()
            idle = set(self._sockets.conversations) - set(self._runner.conversations)
            self._idle_since = {one: self._idle_since.get(one, now) for one in idle}
            ready = [one for one in sorted(idle) if now - self._idle_since[one] >= LINGER_S]
            share = math.ceil(len(ready) / SHARE_PER_STEP)
            await self._sockets.close_conversations(set(ready[:share]), COME_BACK)
            if not self._sockets:
                self._emptied.set()

    async def _pause_running(self) -> None:
        try:
            async with asyncio.timeout(self._policy.store_within_s + 1):
                await self._runner.pause_all()
        except TimeoutError:
            # The database is away. The next sweep of another process pauses them, with the words that were stored.
            log.warning("process.drained_without_pausing turns=%d", len(self._runner.running))

    async def _close_sockets(self) -> None:
        try:
            async with asyncio.timeout(self._policy.store_within_s):
                await self._watchers.flush()
        except (psycopg.Error, TimeoutError):
            log.warning("process.goodbye_without_database process=%s", self._process)
        await self._sockets.close_all(COME_BACK)
