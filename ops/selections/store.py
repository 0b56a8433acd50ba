"""Keeps the selection that this process serves current: from the copy on disk, by notification, and by polling.

A process always has a chain. A failed read changes nothing; an invalid selection is counted and the one before it stays
in force; an older one is never applied.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

import psycopg
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from ops.alerts.kinds import AlertKind
from ops.selections import pins
from ops.selections.last_known_good import LastKnownGood
from routing import chain, selection
from routing.chain import Route
from routing.errors import SelectionInvalid
from routing.lanes import Routing
from routing.selection import COMPILED_IN, Selection

log = logging.getLogger(__name__)

POLL_S = 5.0
READ_TIMEOUT_S = 4.0
"""Poll interval and read together stay under ten seconds."""
MAX_ROWS = 20
MAX_REFUSED = 1_000
"""Distinct invalid documents that are remembered."""

# Read several rows, not only the newest: a process that starts while the newest is invalid for it must serve the
# same earlier selection as the other processes.
READ = """
SELECT version, preset, by, reason, at, expires_at FROM ops_selection
WHERE version > %s ORDER BY version DESC LIMIT %s
"""


class RaiseAlert(Protocol):
    """Raises an alert for operators; see `ops.alerts.buffer`."""

    def __call__(self, kind: AlertKind, about: str) -> None: ...


class RoutingStore:
    """Reads the copy on disk when it is built, so a chain is known without any network call."""

    def __init__(
        self,
        routing: Routing,
        copy: LastKnownGood,
        pool: AsyncConnectionPool[Any],
        *,
        raise_alert: RaiseAlert,
        on_change: Callable[[], None],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        poll_s: float = POLL_S,
    ) -> None:
        self._routing = routing
        self._copy = copy
        self._pool = pool
        self._raise_alert = raise_alert
        self._on_change = on_change
        self._now = now
        self._poll_s = poll_s
        self._notified = asyncio.Event()
        self._refused: set[str] = set()
        self._current = self._load_initial()
        self._route = self._build_route()

    @property
    def current(self) -> Selection:
        """The selection this process serves."""
        return self._current

    @property
    def refused(self) -> int:
        """How many distinct invalid documents were read. Each is counted, logged and alerted once."""
        return len(self._refused)

    def route(self) -> Route:
        """The chain for a turn that starts now. Does no I/O."""
        if self._route.preset != selection.effective_preset(self._current, self._now()):
            self._route = self._build_route()
        return self._route

    def follow(self, version: int) -> None:
        """Read soon, if `version` is newer than the selection this process serves."""
        if version > self._current.version:
            self._notified.set()

    async def run(self) -> None:
        """Read now, at each notification, and at least every `poll_s` seconds; until cancelled."""
        while True:
            # Cleared before the read: a notification during it leads to another one.
            self._notified.clear()
            await self.look()
            try:
                async with asyncio.timeout(self._next_poll_s()):
                    await self._notified.wait()
            except TimeoutError:
                # The selection may have expired since the last read.
                if self._route.preset != self.route().preset:
                    self._on_change()

    async def look(self) -> None:
        """Read once. A failure changes nothing."""
        try:
            async with asyncio.timeout(READ_TIMEOUT_S), self._pool.connection() as connection:
                cursor = connection.cursor(row_factory=dict_row)
                await cursor.execute(READ, (self._current.version, MAX_ROWS))
                documents = await cursor.fetchall()
                await self._revert_expired(connection)
        except (psycopg.Error, TimeoutError) as failure:
            log.warning("routing_store.unread cause=%s", type(failure).__name__)
            return
        # Newest first. An invalid one is counted, and the one before it is tried.
        for document in documents:
            if await self._apply(document, f"version {document['version']}"):
                break

    def _load_initial(self) -> Selection:
        try:
            return self._copy.read() or COMPILED_IN
        except SelectionInvalid as refusal:
            try:
                document = self._copy.path.read_bytes()
            except OSError:
                document = str(refusal).encode()
            self._refuse(document, "the copy on disk", refusal)
            return COMPILED_IN

    async def _apply(self, document: Mapping[str, Any], name: str) -> bool:
        try:
            chosen = selection.read(document, self._routing)
        except SelectionInvalid as refusal:
            self._refuse(document, name, refusal)
            return False
        if selection.pick_newest(self._current, chosen) is not chosen:
            return False
        # In force before it is on disk: a full disk must not delay moving traffic.
        before, self._current = self._route, chosen
        self._route = self._build_route()
        self._on_change()
        # `by` and `reason` are free text, which logs never contain. They are in the row of this version.
        log.warning(
            "routing_store.selected version=%d preset=%s from=%s from_version=%d by=%s reason_length=%d",
            chosen.version,
            self._route.preset,
            before.preset,
            before.version,
            "the_service" if chosen.by == pins.THE_SERVICE else "a_person",
            len(chosen.reason),
        )
        try:
            await asyncio.to_thread(self._copy.write, chosen)
        except OSError as failure:
            # The selection is in force; only a start without the database would miss it.
            log.error("routing_store.not_kept version=%d cause=%s", chosen.version, type(failure).__name__)
        return True

    def _refuse(self, document: Mapping[str, Any] | bytes, name: str, refusal: SelectionInvalid) -> None:
        mark = selection.fingerprint_document(document)
        # The same document is read at every poll; it is reported once. The limit bounds the memory.
        if mark in self._refused or len(self._refused) >= MAX_REFUSED:
            return
        self._refused.add(mark)
        log.error("routing_store.refused document=%s which=%s why=%s", mark, name, refusal)
        self._raise_alert(AlertKind.INVALID_DOCUMENT, name)

    async def _revert_expired(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Revert an expired selection, as the worker does; the worker may be down."""
        if not selection.has_expired(self._current, self._now()):
            return
        async with connection.transaction(), connection.cursor() as cursor:
            await cursor.execute(pins.LOCK)
            await cursor.execute(pins.REVERT, pins.revert_parameters(self._current.version))
            if back := await cursor.fetchone():
                log.warning("routing_store.reverted version=%d", back[0])
                self._notified.set()

    def _next_poll_s(self) -> float:
        """Seconds until the next read: at most until the selection expires."""
        if self._current.expires_at is None:
            return self._poll_s
        left = (self._current.expires_at - self._now()).total_seconds()
        # Just after the end, or the read would find the selection still in force and wait a whole interval.
        return self._poll_s if left <= 0 else min(self._poll_s, left + 0.01)

    def _build_route(self) -> Route:
        preset = selection.effective_preset(self._current, self._now())
        return chain.build_route(self._routing, preset, version=self._current.version)
