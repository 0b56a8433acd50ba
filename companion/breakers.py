"""The breakers that all processes share: rows that change by compare-and-set, on the database's clock.

A breaker that is closed, or known to be open, is answered from memory, so that no call waits for the database. Only a
probe does, under a row lock. While the database is away, each process goes on with the breakers that it knows.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
from psycopg import AsyncCursor
from psycopg_pool import AsyncConnectionPool

from companion.doorbell import notify_breakers_changed
from routing import breaker as rules
from routing.breaker import Breaker, Permit, Skip, State, Tuning
from routing.contracts import Lane
from routing.errors import CallFailed

log = logging.getLogger(__name__)

QUERY_TIMEOUT_S = 1.0
"""After this the process goes on with the breakers that it knows."""

COLUMNS = tuple(field.name for field in fields(Breaker))
READ = f"SELECT lane, clock_timestamp(), {', '.join(COLUMNS)} FROM companion_breaker"
# With the clock also where there is no breaker yet.
READ_ALL = f"""
SELECT lane, clock_timestamp(), {", ".join(COLUMNS)} FROM (VALUES (0)) AS always LEFT JOIN companion_breaker ON true
"""
INSERT_CLOSED = "INSERT INTO companion_breaker (lane) VALUES (%s) ON CONFLICT (lane) DO NOTHING"
LOCK = f"{READ} WHERE lane = %s FOR UPDATE"
WRITE = f"""
UPDATE companion_breaker
SET {", ".join(f"{name} = %({name})s" for name in COLUMNS)}, changed_at = clock_timestamp()
WHERE lane = %(lane)s AND generation = %(was)s
"""

Decide = Callable[[Breaker, datetime], Breaker]


@dataclass(slots=True)
class _Row:
    """One breaker under lock, and the database's time."""

    known: Breaker
    now: datetime


class SharedBreakers:
    """The breakers of all lanes, for one process. See `routing.chain.Breakers`.

    `on_change` is called when a breaker that this process knows has changed. `monotonic` is the event loop's clock.
    """

    def __init__(
        self,
        pool: AsyncConnectionPool[Any],
        *,
        process: UUID,
        on_change: Callable[[], None],
        monotonic: Callable[[], float],
        tuning: Tuning = rules.TUNING,
    ) -> None:
        self._pool = pool
        self._process = process
        self._on_change = on_change
        self._monotonic = monotonic
        self._tuning = tuning
        self._known: dict[str, Breaker] = {}
        self._closed_at: dict[str, float] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        # asyncio keeps weak references only.
        self._tasks: set[asyncio.Task[None]] = set()
        self._clock_at = (datetime.now(UTC), monotonic())

    def now(self) -> datetime:
        """The database's time, estimated from the last time it was read."""
        read_at, then = self._clock_at
        return read_at + timedelta(seconds=self._monotonic() - then)

    async def ask(self, lane: str) -> Permit | Skip:
        """Whether the lane may be called now."""
        while True:
            known = self._get(lane)
            skip = rules.find_skip(known, self.now())
            if skip is not None:
                return skip
            if known.state is State.CLOSED:
                return Permit(generation=known.generation, at=self.now())
            # The breaker has been open for its time. One task of this process takes the probe; the others check again.
            async with self._locks[lane]:
                # The task that held the lock before may have probed already.
                if self._get(lane) == known:
                    return await self._probe(lane)

    def force(self, lane: str) -> Permit:
        """The permit of a call that is made although the breaker is open."""
        return rules.force_permit(self._get(lane), now=self.now())

    def bars(self, lane: str) -> Skip | None:
        """Why a lane must not be called, from memory; None: it may be called."""
        return rules.find_skip(self._get(lane), self.now())

    def takes(self, lane: Lane) -> int:
        """How many turns the lane may have now. A process that starts during a recovery allows its full capacity."""
        closed_at = self._closed_at.get(lane.name)
        if closed_at is None:
            return lane.max_in_flight
        return rules.ramp(lane.max_in_flight, closed_s=self._monotonic() - closed_at)

    def report(self, lane: str, permit: Permit, failure: CallFailed | None) -> None:
        """Count the result of a call: here at once, for all processes once the database has stored it."""

        def decide(known: Breaker, now: datetime) -> Breaker:
            if failure is None:
                return rules.record_success(known, permit)
            return rules.record_failure(
                known,
                permit,
                failure.failure,
                now=now,
                retry_after_s=failure.retry_after_s,
                tuning=self._tuning,
            )

        before = self._get(lane)
        after = decide(before, self.now())
        if after != before:
            # Known here before it is stored: the next call of this process must not meet the same failure.
            self._learn(lane, after, because=failure)
            task = asyncio.get_running_loop().create_task(self._write(lane, decide))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def refresh(self) -> None:
        """Read the breakers of all processes. Raises psycopg.Error or TimeoutError."""
        async with asyncio.timeout(QUERY_TIMEOUT_S), self._pool.connection() as connection:
            asked = self._monotonic()
            cursor = await connection.execute(READ_ALL)
            rows = await cursor.fetchall()
            self._set_clock([row[1] for row in rows], asked)
        for lane, _, *values in rows:
            if lane is None:
                continue
            stored = _breaker(values)
            # A row read while a report is being written is older than what this process knows.
            if stored.generation >= self._get(lane).generation and not self._locks[lane].locked():
                self._learn(lane, stored)

    async def settle(self) -> None:
        """Wait until every report of this process is written or has failed."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    def _get(self, lane: str) -> Breaker:
        return self._known.get(lane) or Breaker()

    def _learn(self, lane: str, found: Breaker, *, because: CallFailed | None = None) -> None:
        before = self._get(lane)
        self._known[lane] = found
        if found.state is not before.state:
            if found.state is State.CLOSED:
                self._closed_at[lane] = self._monotonic()
            cause = because.failure.value if because else "-"
            log.warning(
                "breakers.changed lane=%s from=%s to=%s generation=%d cause=%s",
                lane,
                before.state.value,
                found.state.value,
                found.generation,
                cause,
            )
        if (found.state, found.rest_until) != (before.state, before.rest_until):
            self._on_change()

    def _set_clock(self, read: list[datetime], asked: float) -> None:
        # The database read its clock somewhere between question and answer; the middle halves the error.
        self._clock_at = (max(read), (asked + self._monotonic()) / 2)

    async def _probe(self, lane: str) -> Permit | Skip:
        """Take the one probe of a breaker whose time is up. The lane's lock is held."""
        try:
            async with asyncio.timeout(QUERY_TIMEOUT_S), self._locked(lane) as (cursor, row):
                after, answer = rules.may_call(
                    row.known, now=row.now, owner=self._process, tuning=self._tuning
                )
                await self._store(cursor, lane, row, after)
        except (psycopg.Error, TimeoutError) as failure:
            # Without the database each process probes for itself: a few calls more, and the lane is not lost.
            log.warning("breakers.unshared_probe lane=%s cause=%s", lane, type(failure).__name__)
            after, answer = rules.may_call(
                self._get(lane), now=self.now(), owner=self._process, tuning=self._tuning
            )
        self._learn(lane, after)
        return answer

    async def _write(self, lane: str, decide: Decide) -> None:
        async with self._locks[lane]:
            try:
                async with asyncio.timeout(QUERY_TIMEOUT_S), self._locked(lane) as (cursor, row):
                    after = decide(row.known, row.now)
                    await self._store(cursor, lane, row, after)
            except (psycopg.Error, TimeoutError) as failure:
                log.warning("breakers.unshared lane=%s cause=%s", lane, type(failure).__name__)
            else:
                self._learn(lane, after)

    @asynccontextmanager
    async def _locked(self, lane: str) -> AsyncIterator[tuple[AsyncCursor[Any], _Row]]:
        async with (
            self._pool.connection() as connection,
            connection.transaction(),
            connection.cursor() as cursor,
        ):
            # A row that does not exist cannot be locked.
            await cursor.execute(INSERT_CLOSED, (lane,))
            asked = self._monotonic()
            await cursor.execute(LOCK, (lane,))
            found = await cursor.fetchone()
            assert found is not None
            _, now, *values = found
            self._set_clock([now], asked)
            yield cursor, _Row(known=_breaker(values), now=now)

    async def _store(self, cursor: AsyncCursor[Any], lane: str, row: _Row, after: Breaker) -> None:
        if after == row.known:
            return
        facts = {name: getattr(after, name) for name in COLUMNS}
        facts |= {
            "state": after.state.value,
            "strikes": list(after.strikes),
            "lane": lane,
            "was": row.known.generation,
        }
        await cursor.execute(WRITE, facts)
        # The row is locked, so its generation has not changed since it was read.
        assert cursor.rowcount == 1
        # A strike alone changes nothing for other processes, and would notify them at every failure.
        if (after.state, after.rest_until) != (row.known.state, row.known.rest_until):
            await notify_breakers_changed(cursor, by=self._process)


def _breaker(values: list[Any]) -> Breaker:
    facts = dict(zip(COLUMNS, values, strict=True))
    facts["state"] = State(facts["state"])
    facts["strikes"] = tuple(facts["strikes"])
    return Breaker(**facts)
