"""The figures of the moment for open staff pages: read once a second by each process, however many pages are open."""

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import psycopg
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

from ops.access import StaffAccess
from ops.alerts.rows import build_views
from ops.alerts.statements import LIST_OPEN
from ops.minutes import LAST_HOUR, aggregate
from ops.socket_access import RIGHTS_CHANGED, StaffScreen, StaffSessions
from ops.status import frames, held_questions, minutes
from ops.status.figures import FIGURES, StatusSettings, build_status
from ops.status.frames import StatusSnapshot
from ops.status.turn_marks import SELECT_TURN_MARKS, TurnMark, parse_marks

log = logging.getLogger(__name__)

INTERVAL_S = 1.0
ROUNDS_PER_DRAWING = 10
"""The drawing of the last hour is renewed once in this many rounds."""
MAX_TURNS = 50
"""Turns that one page may follow. A list holds fewer."""
ROUND_TIMEOUT_S = 5.0


@dataclass(slots=True)
class _Subscription:
    """What one page may see, and what it was sent last."""

    access: StaffAccess
    wants_figures: bool
    sent: dict[str, Any] | None = None
    turns: dict[int, TurnMark | None] = field(default_factory=dict)
    """The turns on the page, as it was last sent that they stand."""


class LiveStatus:
    """The open staff pages of one process. Reads only while there are some.

    `settings` gives what the figures are compared with, `turn_url` the address of turn 0.
    """

    def __init__(
        self,
        pool: AsyncConnectionPool[Any],
        sessions: StaffSessions,
        *,
        settings: Callable[[], StatusSettings],
        turn_url: Callable[[], str],
    ) -> None:
        self._pool = pool
        self._sessions = sessions
        self._settings = settings
        self._turn_url = turn_url
        self._pages: dict[StaffScreen, _Subscription] = {}
        self._task: asyncio.Task[None] | None = None
        self._hour: list[minutes.Minute] = []

    def __len__(self) -> int:
        return len(self._pages)

    async def admit(self, session_key: str | None) -> StaffAccess | None:
        """What the user of this session may see; None unless they are active staff. Raises psycopg.Error."""
        return await self._sessions.admit(session_key)

    def subscribe(self, page: StaffScreen, access: StaffAccess, *, wants_figures: bool) -> None:
        """Send `page` a frame whenever its rights change, and the figures if it wants them."""
        self._pages[page] = _Subscription(access=access, wants_figures=wants_figures)
        if self._task is None or self._task.done():
            # An empty context: it outlives the request that started it.
            self._task = asyncio.create_task(self._run(), context=contextvars.Context())

    def follow(self, page: StaffScreen, turns: Sequence[int]) -> None:
        """Send `page` how these turns stand, now and whenever one of them changes."""
        if subscription := self._pages.get(page):
            subscription.turns = dict.fromkeys(turns[:MAX_TURNS])

    def unsubscribe(self, page: StaffScreen) -> None:
        """Send `page` nothing more."""
        self._pages.pop(page, None)

    async def close(self, code: int) -> None:
        """Close every page's socket with this code, and stop reading."""
        await asyncio.gather(*(page.close(code) for page in list(self._pages)), return_exceptions=True)
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if not self._pool.closed:
            await self._pool.close(timeout=2)

    async def _run(self) -> None:
        # The figures are read beside the access: however long they take, a page whose access has ended is told in time.
        figures: asyncio.Task[bool] | None = None
        rounds = 0
        loop = asyncio.get_running_loop()
        try:
            while self._pages:
                # Of the whole round, so that a slow one is not followed by a further wait.
                due = loop.time() + INTERVAL_S
                # Rights first: no figures are read for pages whose access could not be checked.
                is_checked = await self._attempt(self._follow_pages())
                if is_checked and self._wants_figures() and (figures is None or figures.done()):
                    figures = asyncio.create_task(self._attempt(self._refresh_figures(rounds)))
                    rounds += 1
                await asyncio.sleep(max(0.0, due - loop.time()))
        finally:
            if figures is not None:
                figures.cancel()

    async def _attempt(self, step: Awaitable[None]) -> bool:
        """Await `step` for a limited time; False if the database did not answer."""
        try:
            async with asyncio.timeout(ROUND_TIMEOUT_S):
                await step
        except (psycopg.Error, TimeoutError) as failure:
            # Send nothing: the page notices by itself that its figures grow old.
            log.warning("live.cannot_read pages=%d cause=%s", len(self._pages), type(failure).__name__)
            return False
        return True

    async def _follow_pages(self) -> None:
        await self._recheck_access()
        await self._send_turns()

    def _wants_figures(self) -> bool:
        return any(subscription.wants_figures for subscription in self._pages.values())

    async def _refresh_figures(self, rounds: int) -> None:
        with_hour = rounds % ROUNDS_PER_DRAWING == 0 or not self._hour
        await self._send_figures(await self._read(with_hour=with_hour))

    async def _read(self, *, with_hour: bool) -> StatusSnapshot:
        async with self._pool.connection() as native:
            [row] = await _fetch_all(native, FIGURES)
            held = await _fetch_all(native, held_questions.SELECT_HELD, held_questions.PARAMS)
            alerts = await _fetch_all(native, LIST_OPEN)
            hour = aggregate(await _fetch_all(native, LAST_HOUR))
        if with_hour:
            self._hour = minutes.build_minutes(hour.minutes)
        return StatusSnapshot(
            figures=build_status(row, self._settings(), hour),
            held=tuple(held_questions.parse_held(held)),
            hour=tuple(self._hour),
            alerts=tuple(build_views(alerts)),
            at=datetime.now(UTC),
        )

    async def _send_figures(self, snapshot: StatusSnapshot) -> None:
        turn_url = self._turn_url()
        for page, subscription in list(self._pages.items()):
            if not subscription.wants_figures:
                continue
            dashboard = frames.build_dashboard(snapshot, subscription.access, turn_url=turn_url)
            await page.send_frame(frames.build_frame(subscription.sent, dashboard))
            subscription.sent = dashboard

    async def _recheck_access(self) -> None:
        """Access ends within a second of a sign-out, a withdrawal or the loss of a site."""
        # A page that opens while the rights are read has just been admitted, and is none of those that are read.
        checked = list(self._pages.items())
        current = await self._sessions.get_access([page.session_key for page, _ in checked])
        for page, subscription in checked:
            if page not in self._pages:
                continue
            access = current.get(page.session_key)
            if access is None:
                await page.deny()
                continue
            if access != subscription.access:
                await page.send_frame(RIGHTS_CHANGED)
            subscription.access = access

    async def _send_turns(self) -> None:
        turns = {turn for subscription in self._pages.values() for turn in subscription.turns}
        if not turns:
            return
        async with self._pool.connection() as native:
            marks = parse_marks(await _fetch_all(native, SELECT_TURN_MARKS, {"turns": list(turns)}))
        for page, subscription in list(self._pages.items()):
            for turn, sent in subscription.turns.items():
                mark = marks.get(turn)
                # The page names the turns, so their site is compared with its rights each time.
                if mark is None or mark == sent or mark.site not in subscription.access.sites:
                    continue
                subscription.turns[turn] = mark
                await page.send_frame(
                    {"type": "turn", "turn": turn, "stands": mark.state_key, "seq": mark.seq}
                )


async def _fetch_all(
    native: AsyncConnection[Any], query: str, params: dict[str, Any] | None = None
) -> list[tuple[Any, ...]]:
    async with native.cursor() as cursor:
        await cursor.execute(query, params)
        return await cursor.fetchall()
