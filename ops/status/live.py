"""The figures of the moment for everybody who watches: asked once a second by each process, however many watch."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

import psycopg
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

from ops.alerts.rows import in_words
from ops.alerts.statements import OPEN
from ops.minutes import LAST_HOUR, gather
from ops.socket_access import Staff, StaffDoor
from ops.status import frame, held, hour
from ops.status.figures import FIGURES, Settings, document
from ops.status.frame import Seen
from ops.status.marks import MARKS, Mark, marks

log = logging.getLogger(__name__)

EVERY_S = 1.0
HOUR_EVERY = 10
"""Times that the figures are asked for until the last hour is drawn anew."""
MOST_TURNS = 50
"""How many turns one page may follow: a list holds fewer."""
WITHIN_S = 5.0
RIGHTS_CHANGED = {"type": "rights"}


class Watcher(Protocol):
    """Somebody who watches."""

    @property
    def session_key(self) -> str: ...
    async def show(self, told: dict[str, Any]) -> None: ...
    async def turn_away(self) -> None: ...
    async def close(self, code: int) -> None: ...


@dataclass(slots=True)
class _Watch:
    """What one watcher may see, and was shown last."""

    staff: Staff
    wants_figures: bool
    shown: dict[str, Any] | None = None
    turns: dict[int, Mark | None] = field(default_factory=dict)
    """The turns on the page, as it was told that they stand."""


class Live:
    """Built for one process. `settings` gives what the figures are held against; `place` the address of turn 0."""

    def __init__(
        self,
        pool: AsyncConnectionPool[Any],
        door: StaffDoor,
        *,
        settings: Callable[[], Settings],
        place: Callable[[], str],
    ) -> None:
        self._pool = pool
        self._door = door
        self._settings = settings
        self._place = place
        self._watches: dict[Watcher, _Watch] = {}
        self._task: asyncio.Task[None] | None = None
        self._hour: list[hour.Minute] = []
        self._seen: Seen | None = None
        self._opened = False

    def __len__(self) -> int:
        return len(self._watches)

    async def admit(self, session_key: str | None) -> Staff | None:
        """Whose session this is, if it is a member of staff's. Raises psycopg.Error."""
        if not session_key:
            return None
        await self._open()
        return (await self._door.staff_of([session_key])).get(session_key)

    def watch(self, watcher: Watcher, staff: Staff, *, wants_figures: bool) -> None:
        """Tell `watcher` from now on when its rights change, and show it the figures if it wants them."""
        self._watches[watcher] = _Watch(staff=staff, wants_figures=wants_figures)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    def follow(self, watcher: Watcher, turns: Sequence[int]) -> None:
        """Tell `watcher` how these turns stand, now and whenever one of them changes."""
        if watch := self._watches.get(watcher):
            watch.turns = dict.fromkeys(turns[:MOST_TURNS])

    def leave(self, watcher: Watcher) -> None:
        """`watcher` has gone."""
        self._watches.pop(watcher, None)

    async def close(self, code: int) -> None:
        """Turn everybody away and stop asking."""
        await asyncio.gather(
            *(watcher.close(code) for watcher in list(self._watches)), return_exceptions=True
        )
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._opened:
            await self._pool.close(timeout=2)

    async def _open(self) -> None:
        if not self._opened:
            self._opened = True
            await self._pool.open()

    async def _run(self) -> None:
        asked = 0
        loop = asyncio.get_running_loop()
        while self._watches:
            due = loop.time() + EVERY_S
            try:
                async with asyncio.timeout(WITHIN_S):
                    await self._recheck()
                    await self._tell_of_turns()
                    if any(watch.wants_figures for watch in self._watches.values()):
                        self._seen = await self._look(with_hour=asked % HOUR_EVERY == 0 or not self._hour)
                        await self._tell(self._seen)
            except (psycopg.Error, TimeoutError) as failure:
                # Nothing is said, and the page itself notices that its figures grow old.
                log.warning(
                    "live.cannot_read watchers=%d cause=%s", len(self._watches), type(failure).__name__
                )
            asked += 1
            await asyncio.sleep(max(0.0, due - loop.time()))

    async def _look(self, *, with_hour: bool) -> Seen:
        async with self._pool.connection() as native:
            row = await _one(native, FIGURES)
            found = held.held(await _all(native, held.HELD, held.FACTS))
            alerts = in_words(await _all(native, OPEN))
            spent = gather(await _all(native, LAST_HOUR))
        if with_hour:
            self._hour = hour.minutes(spent.minutes)
        figures = document(row, self._settings(), spent)
        return Seen(
            figures=figures,
            held=tuple(found),
            hour=tuple(self._hour),
            alerts=tuple(alerts),
            at=datetime.now(UTC),
        )

    async def _tell(self, seen: Seen) -> None:
        place = self._place()
        for watcher, watch in list(self._watches.items()):
            if not watch.wants_figures:
                continue
            told = frame.now(seen, sites=watch.staff.sites, operator=watch.staff.is_operator, place=place)
            await watcher.show(frame.since(watch.shown, told))
            watch.shown = told

    async def _recheck(self) -> None:
        """Access is withdrawn live: whoever signed out, left or lost a site sees no more of it."""
        still = await self._door.staff_of([watcher.session_key for watcher in self._watches])
        for watcher, watch in list(self._watches.items()):
            staff = still.get(watcher.session_key)
            if staff is None:
                await watcher.turn_away()
                continue
            if staff != watch.staff:
                await watcher.show(RIGHTS_CHANGED)
            watch.staff = staff

    async def _tell_of_turns(self) -> None:
        turns = {turn for watch in self._watches.values() for turn in watch.turns}
        if not turns:
            return
        async with self._pool.connection() as native:
            found = marks(await _all(native, MARKS, {"turns": list(turns)}))
        for watcher, watch in list(self._watches.items()):
            for turn, told in watch.turns.items():
                mark = found.get(turn)
                if mark is None or mark == told or mark.site not in watch.staff.sites:
                    continue
                watch.turns[turn] = mark
                await watcher.show({"type": "turn", "turn": turn, "stands": mark.stands, "seq": mark.seq})


async def _one(native: AsyncConnection[Any], query: str) -> tuple[Any, ...]:
    [row] = await _all(native, query)
    return row


async def _all(
    native: AsyncConnection[Any], query: str, facts: dict[str, Any] | None = None
) -> list[tuple[Any, ...]]:
    async with native.cursor() as cursor:
        await cursor.execute(query, facts)
        return await cursor.fetchall()
