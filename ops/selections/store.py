"""Which chain this process serves, and how it learns of another: the copy on disk, a push, and a poll.

Nothing here can take a chain away. A read that fails changes nothing, a selection that makes no sense is counted and
leaves the one before it in force, and an older one is never applied.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

import psycopg
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from ops.alerts.kinds import Kind
from ops.selections import pins
from ops.selections.last_known_good import LastKnownGood
from routing import chain, selection
from routing.chain import Route
from routing.errors import SelectionInvalid
from routing.lanes import Routing
from routing.selection import COMPILED_IN, Selection

log = logging.getLogger(__name__)

POLL_S = 5.0
WITHIN_S = 4.0
"""A read that takes longer has failed. Poll and read together stay under ten seconds."""
LOOK_BACK = 20
MOST_REFUSED = 1_000
"""Distinct invalid documents that are remembered."""

# The last rows and not the last one alone: a process that starts while the newest makes no sense to it must serve
# what the others, who have seen the ones before, are serving.
READ = """
SELECT version, preset, by, reason, at, expires_at FROM ops_selection
WHERE version > %s ORDER BY version DESC LIMIT %s
"""


class Tell(Protocol):
    """Whom operators are told by; see `ops.alerts.book`."""

    def __call__(self, kind: Kind, about: str) -> None: ...


class RoutingStore:
    """Built with the copy on disk already read: no network call is needed to know the chain."""

    def __init__(
        self,
        routing: Routing,
        copy: LastKnownGood,
        pool: AsyncConnectionPool[Any],
        *,
        tell: Tell,
        changed: Callable[[], None],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        poll_s: float = POLL_S,
    ) -> None:
        self._routing = routing
        self._copy = copy
        self._pool = pool
        self._tell = tell
        self._changed = changed
        self._now = now
        self._poll_s = poll_s
        self._notified = asyncio.Event()
        self._refused: set[str] = set()
        self._current = self._at_start()
        self._route = self._made()

    @property
    def current(self) -> Selection:
        """The selection this process serves."""
        return self._current

    @property
    def refused(self) -> int:
        """How many documents there were that could not be used. Each is counted, logged and told of once."""
        return len(self._refused)

    def route(self) -> Route:
        """The chain for a turn that starts now. Never waits."""
        if self._route.preset != selection.effective_preset(self._current, self._now()):
            self._route = self._made()
        return self._route

    def follow(self, version: int) -> None:
        """Read soon, if `version` is newer than the selection this process serves."""
        if version > self._current.version:
            self._notified.set()

    async def run(self) -> None:
        """Read at once, at each ring, and at least every few seconds; until cancelled."""
        while True:
            self._notified.clear()
            await self.look()
            try:
                async with asyncio.timeout(self._pause_s()):
                    await self._notified.wait()
            except TimeoutError:
                # What was pinned may be over by now, without anything having been read.
                if self._route.preset != self.route().preset:
                    self._changed()

    async def look(self) -> None:
        """Read once. A failure changes nothing."""
        try:
            async with asyncio.timeout(WITHIN_S), self._pool.connection() as connection:
                cursor = connection.cursor(row_factory=dict_row)
                await cursor.execute(READ, (self._current.version, LOOK_BACK))
                found = await cursor.fetchall()
                await self._tend(connection)
        except (psycopg.Error, TimeoutError) as failure:
            log.warning("routing_store.unread cause=%s", type(failure).__name__)
            return
        for document in found:
            if await self._take(document, f"version {document['version']}"):
                break

    def _at_start(self) -> Selection:
        try:
            return self._copy.read() or COMPILED_IN
        except SelectionInvalid as refusal:
            try:
                document = self._copy.path.read_bytes()
            except OSError:
                document = str(refusal).encode()
            self._refuse(document, "the copy on disk", refusal)
            return COMPILED_IN

    async def _take(self, document: Mapping[str, Any], name: str) -> bool:
        try:
            found = selection.read(document, self._routing)
        except SelectionInvalid as refusal:
            self._refuse(document, name, refusal)
            return False
        if selection.pick_newest(self._current, found) is not found:
            return False
        before, self._current = self._route, found
        self._route = self._made()
        self._changed()
        # Who and why are in the row that the version names; both are free text and stay out of the log.
        log.warning(
            "routing_store.selected version=%d preset=%s from=%s from_version=%d by=%s reason_length=%d",
            found.version,
            self._route.preset,
            before.preset,
            before.version,
            "the_service" if found.by == pins.THE_SERVICE else "a_person",
            len(found.reason),
        )
        try:
            await asyncio.to_thread(self._copy.write, found)
        except OSError as failure:
            # It is in force all the same; only a start without the database would not know of it.
            log.error("routing_store.not_kept version=%d cause=%s", found.version, type(failure).__name__)
        return True

    def _refuse(self, document: Mapping[str, Any] | bytes, name: str, refusal: SelectionInvalid) -> None:
        mark = selection.fingerprint_document(document)
        if mark in self._refused or len(self._refused) >= MOST_REFUSED:
            return
        self._refused.add(mark)
        log.error("routing_store.refused document=%s which=%s why=%s", mark, name, refusal)
        self._tell(Kind.INVALID_DOCUMENT, name)

    async def _tend(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """What the worker does as well: go back to normal when the time is up."""
        if not selection.has_expired(self._current, self._now()):
            return
        async with connection.transaction(), connection.cursor() as cursor:
            await cursor.execute(pins.LOCK)
            await cursor.execute(pins.REVERT, pins.facts(self._current.version))
            if back := await cursor.fetchone():
                log.warning("routing_store.reverted version=%d", back[0])
                self._notified.set()

    def _pause_s(self) -> float:
        """Until the next look: no longer than to the moment the selection ends."""
        if self._current.expires_at is None:
            return self._poll_s
        left = (self._current.expires_at - self._now()).total_seconds()
        return self._poll_s if left <= 0 else min(self._poll_s, left + 0.01)

    def _made(self) -> Route:
        preset = selection.effective_preset(self._current, self._now())
        return chain.build_route(self._routing, preset, version=self._current.version)
