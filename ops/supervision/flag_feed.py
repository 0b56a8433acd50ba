"""Sends changed flags to the open screens of one process at once, beside the rounds of the desk."""

import asyncio
import contextvars
import logging
from collections.abc import Iterable, Mapping
from typing import Any

import psycopg
from psycopg_pool import AsyncConnectionPool

from companion.supervision import flag_views
from ops.socket_access import StaffScreen
from ops.supervision import frames
from ops.supervision.screen import ShownScreen

log = logging.getLogger(__name__)

LOOK_AGAIN_S = 1.0
"""The longest time until it is noticed that the last screen is gone."""
SEND_TIMEOUT_S = 5.0


class FlagFeed:
    """Reads the flags that notifications name, and sends them to every screen of their sites in `shown`."""

    def __init__(self, pool: AsyncConnectionPool[Any], shown: Mapping[StaffScreen, ShownScreen]) -> None:
        self._pool = pool
        self._shown = shown
        self._changed: set[int] = set()
        self._sent_at_s: dict[int, float] = {}
        """When flags were last sent, on the clock of the event loop."""
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Send from now on, until no screen is shown."""
        if self._task is None or self._task.done():
            # An empty context: it outlives the request that started it.
            self._task = asyncio.create_task(self._run(), context=contextvars.Context())

    def note_changed(self, flags: Iterable[int]) -> None:
        """Read and send these flags without delay."""
        self._changed.update(flags)
        self._wake.set()

    def list_sent_since(self, at_s: float) -> set[int]:
        """The flags that were sent from that time on: what a round read then may be older."""
        return {number for number, sent_at_s in self._sent_at_s.items() if sent_at_s >= at_s}

    async def close(self) -> None:
        """Send nothing more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        """Send changed flags at once, beside the rounds: a round of many people takes a moment."""
        while self._shown:
            try:
                async with asyncio.timeout(SEND_TIMEOUT_S):
                    await self._send_changed()
            except Exception as failure:
                log.warning("desk.cannot_read_flags cause=%s", type(failure).__name__)
                await asyncio.sleep(0.2)
                self._wake.set()
            try:
                async with asyncio.timeout(LOOK_AGAIN_S):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._wake.clear()

    async def _send_changed(self) -> None:
        """Send the flags that notifications have named, to every screen of their sites."""
        numbers, self._changed = self._changed, set()
        if not numbers:
            return
        sites = frozenset().union(*(shown.access.sites for shown in self._shown.values()))
        try:
            async with self._pool.connection() as connection, connection.cursor() as cursor:
                views = await flag_views.read_flags(cursor, numbers, sites=sites)
        except psycopg.Error:
            self._changed |= numbers
            raise
        now = asyncio.get_running_loop().time()
        self._sent_at_s = {
            number: at_s for number, at_s in self._sent_at_s.items() if at_s > now - 2 * SEND_TIMEOUT_S
        }
        for view in views:
            self._sent_at_s[view.id] = now
            named, nameless = frames.flag(view), frames.flag(view, with_name=False)
            for screen, shown in list(self._shown.items()):
                if not shown.has_hello or view.site not in shown.access.sites:
                    continue
                frame = named if view.site in shown.access.supervised else nameless
                await send_flags(screen, shown, {view.id: frame})
                if view.state == "closed":
                    shown.flags.pop(view.id, None)


async def send_flags(screen: StaffScreen, shown: ShownScreen, flags: Mapping[int, dict[str, Any]]) -> None:
    """Send the flags that differ from what the screen was sent last."""
    for number, flag in flags.items():
        if shown.flags.get(number) != flag:
            shown.flags[number] = flag
            await screen.send_frame(flag)
