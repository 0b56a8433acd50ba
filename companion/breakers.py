"""What all processes together know of the lanes: rows that change by compare-and-set, on the database's clock.

A closed breaker, and one known to be open, is answered from memory: no call waits for the database. Taking a probe
does, under a row lock. With the database away each process goes on with what it knows.
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

WITHIN_S = 1.0
"""The database is asked for no longer than this; then the process goes on with what it knows."""

COLUMNS = tuple(field.name for field in fields(Breaker))
READ = f"SELECT lane, clock_timestamp(), {', '.join(COLUMNS)} FROM companion_breaker"
CLOCK = "SELECT clock_timestamp()"
BEGIN = "INSERT INTO companion_breaker (lane) VALUES (%s) ON CONFLICT (lane) DO NOTHING"
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

    `changed` hears when what is known here of any lane has changed. `monotonic` is the event loop's clock.
    """

    def __init__(
        self,
        pool: AsyncConnectionPool[Any],
        *,
        process: UUID,
        changed: Callable[[], None],
        monotonic: Callable[[], float],
        tuning: Tuning = rules.TUNING,
    ) -> None:
        self._pool = pool
        self._process = process
        self._changed = changed
        self._monotonic = monotonic
        self._tuning = tuning
        self._known: dict[str, Breaker] = {}
        self._closed_at: dict[str, float] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._tasks: set[asyncio.Task[None]] = set()
        self._clock_at = (datetime.now(UTC), monotonic())

    def now(self) -> datetime:
        """The database's time, as near as it is known."""
        read_at, then = self._clock_at
        return read_at + timedelta(seconds=self._monotonic() - then)

    async def ask(self, lane: str) -> Permit | Skip:
        """Whether the lane may be called now."""
        while True:
            known = self._of(lane)
            skip = rules.find_skip(known, self.now())
            if skip is not None:
                return skip
            if known.state is State.CLOSED:
                return Permit(generation=known.generation, at=self.now())
            # The time of an open breaker is up. One task of this process asks for the probe; the others look again.
            async with self._locks[lane]:
                if self._of(lane) == known:
                    return await self._probe(lane)

    def force(self, lane: str) -> Permit:
        """The permit of a call that is made although the lane is not to be called."""
        return rules.force_permit(self._of(lane), now=self.now())

    def bars(self, lane: str) -> Skip | None:
        """Why a lane is not to be called, as far as is known here."""
        return rules.find_skip(self._of(lane), self.now())

    def takes(self, lane: Lane) -> int:
        """How many turns the lane is given now. A process that starts meanwhile knows of no recovery."""
        closed_at = self._closed_at.get(lane.name)
        if closed_at is None:
            return lane.max_in_flight
        return rules.ramp(lane.max_in_flight, closed_s=self._monotonic() - closed_at)

    def report(self, lane: str, permit: Permit, failure: CallFailed | None) -> None:
        """What came of a call: counted here at once, and for all processes as soon as the database takes it."""

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

        before = self._of(lane)
        after = decide(before, self.now())
        if after != before:
            self._learn(lane, after, because=failure)
            task = asyncio.get_running_loop().create_task(self._write(lane, decide))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def refresh(self) -> None:
        """Read what the others have learned. Raises psycopg.Error or TimeoutError."""
        async with asyncio.timeout(WITHIN_S), self._pool.connection() as connection:
            asked = self._monotonic()
            cursor = await connection.execute(READ)
            rows = await cursor.fetchall()
            self._set_clock([row[1] for row in rows] or [await _clock(connection)], asked)
        for lane, _, *values in rows:
            found = _breaker(values)
            if found.generation >= self._of(lane).generation and not self._locks[lane].locked():
                self._learn(lane, found)

    async def settle(self) -> None:
        """Wait until everything reported here is written, or given up."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    def _of(self, lane: str) -> Breaker:
        return self._known.get(lane) or Breaker()

    def _learn(self, lane: str, found: Breaker, *, because: CallFailed | None = None) -> None:
        before = self._of(lane)
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
            self._changed()

    def _set_clock(self, read: list[datetime], asked: float) -> None:
        self._clock_at = (max(read), (asked + self._monotonic()) / 2)

    async def _probe(self, lane: str) -> Permit | Skip:
        """Take the one probe of a breaker whose time is up. The lane's lock is held."""
        try:
            async with asyncio.timeout(WITHIN_S), self._locked(lane) as (cursor, row):
                after, answer = rules.may_call(
                    row.known, now=row.now, owner=self._process, tuning=self._tuning
                )
                await self._store(cursor, lane, row, after)
        except (psycopg.Error, TimeoutError) as failure:
            log.warning("breakers.unshared_probe lane=%s cause=%s", lane, type(failure).__name__)
            after, answer = rules.may_call(
                self._of(lane), now=self.now(), owner=self._process, tuning=self._tuning
            )
        self._learn(lane, after)
        return answer

    async def _write(self, lane: str, decide: Decide) -> None:
        async with self._locks[lane]:
            try:
                async with asyncio.timeout(WITHIN_S), self._locked(lane) as (cursor, row):
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
            await cursor.execute(BEGIN, (lane,))
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
        assert cursor.rowcount == 1
        if (after.state, after.rest_until) != (row.known.state, row.known.rest_until):
            await notify_breakers_changed(cursor, by=self._process)


async def _clock(connection: psycopg.AsyncConnection[Any]) -> datetime:
    found = await (await connection.execute(CLOCK)).fetchone()
    assert found is not None
    now: datetime = found[0]
    return now


def _breaker(values: list[Any]) -> Breaker:
    facts = dict(zip(COLUMNS, values, strict=True))
    facts["state"] = State(facts["state"])
    facts["strikes"] = tuple(facts["strikes"])
    return Breaker(**facts)
