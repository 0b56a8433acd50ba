"""Breakers that all processes share: one row a lane, compare-and-set, the database's clock (B2 to B4)."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool

from companion.breakers import SharedBreakers
from companion.lane_order import order_lanes
from companion.models import BreakerState
from ops.stack.postgres import EmbeddedPostgres
from routing.breaker import Permit, Skip, Tuning
from routing.chain import Route
from routing.errors import CallFailed
from routing.errors import FailureClass as F
from tests.chains import lane as lane_of
from tests.patience import until
from tests.people import in_database

QUICK = Tuning(cooldown_s=0.4, lease_s=0.5, quota_s=60)
DOWN = CallFailed(F.SERVER_ERROR)


class Station:
    """One process's breakers, and how often it was told that something has changed."""

    def __init__(self, pool: AsyncConnectionPool[Any], tuning: Tuning = QUICK) -> None:
        self.id = uuid.uuid4()
        self.changes = 0
        self.breakers = SharedBreakers(
            pool,
            process=self.id,
            on_change=self._on_change,
            monotonic=asyncio.get_running_loop().time,
            tuning=tuning,
        )

    def _on_change(self) -> None:
        self.changes += 1

    async def fails(self, lane: str, times: int = 3, failure: CallFailed = DOWN) -> None:
        for _ in range(times):
            permit = await self.breakers.ask(lane)
            assert isinstance(permit, Permit)
            self.breakers.report(lane, permit, failure)
        await self.breakers.settle()


Stations = Callable[..., Station]


@pytest.fixture
async def stations(database: EmbeddedPostgres) -> AsyncIterator[Stations]:
    """As many processes as a test wants, each with connections of its own."""
    async with AsyncExitStack() as stack:
        pools = [
            await stack.enter_async_context(
                AsyncConnectionPool(
                    database.url, min_size=1, max_size=4, open=False, kwargs={"autocommit": True}
                )
            )
            for _ in range(4)
        ]
        made: list[Station] = []

        def make(tuning: Tuning = QUICK) -> Station:
            made.append(Station(pools[len(made) % len(pools)], tuning))
            return made[-1]

        yield make
        for station in made:
            await station.breakers.settle()


@pytest.fixture
def lane() -> str:
    return f"lane-{uuid.uuid4().hex[:8]}"


def row(lane: str) -> BreakerState:
    return in_database(lambda: BreakerState.objects.get(lane=lane))


async def until_probe(station: Station, lane: str) -> None:
    """Wait until the lane's time is up, by the database's clock as this station knows it."""
    await until(lambda: station.breakers.bars(lane) is None, within_s=5)


async def test_a_closed_lane_is_answered_without_a_row_or_a_question_to_the_database(
    stations: Stations, lane: str
) -> None:
    station = stations()
    permit = await station.breakers.ask(lane)
    assert isinstance(permit, Permit) and permit.kind == "free"
    station.breakers.report(lane, permit, None)
    await station.breakers.settle()
    assert in_database(lambda: BreakerState.objects.filter(lane=lane).count()) == 0


async def test_failures_of_several_processes_count_together(stations: Stations, lane: str) -> None:
    one, two = stations(), stations()
    await one.fails(lane, 2)
    await two.fails(lane, 1)
    assert row(lane).state == "open"
    await one.breakers.refresh()
    answer = await one.breakers.ask(lane)
    assert isinstance(answer, Skip) and answer.why == "open"
    assert one.changes and two.changes


async def test_it_survives_a_restart(stations: Stations, lane: str) -> None:
    await stations().fails(lane, failure=CallFailed(F.QUOTA), times=1)
    restarted = stations()
    await restarted.breakers.refresh()
    assert isinstance(restarted.breakers.bars(lane), Skip)


async def test_of_a_hundred_tasks_on_four_processes_one_takes_the_probe_at_the_moment_of_expiry(
    stations: Stations, lane: str
) -> None:
    four = [stations(Tuning(cooldown_s=0.4, lease_s=30)) for _ in range(4)]
    await four[0].fails(lane)
    for station in four:
        await station.breakers.refresh()
    for station in four:
        await until_probe(station, lane)
    answers = await asyncio.gather(*(four[n % 4].breakers.ask(lane) for n in range(100)))
    permits = [answer for answer in answers if isinstance(answer, Permit)]
    assert [permit.kind for permit in permits] == ["probe"]
    stored = row(lane)
    assert stored.state == "half_open"
    assert stored.probe_owner in {station.id for station in four}


async def test_a_probe_whose_process_died_is_given_to_another_when_its_lease_is_over(
    stations: Stations, lane: str
) -> None:
    dead, living = stations(), stations()
    await dead.fails(lane)
    await until_probe(dead, lane)
    lost = await dead.breakers.ask(lane)
    assert isinstance(lost, Permit)
    await living.breakers.refresh()
    assert isinstance(await living.breakers.ask(lane), Skip)
    await until_probe(living, lane)
    taken = await living.breakers.ask(lane)
    assert isinstance(taken, Permit) and taken.kind == "probe"
    # The dead one was only asleep: what it found out has no weight any more.
    dead.breakers.report(lane, lost, DOWN)
    await dead.breakers.settle()
    assert row(lane).state == "half_open"
    living.breakers.report(lane, taken, None)
    await living.breakers.settle()
    assert row(lane).state == "closed"


async def test_a_probe_that_is_stopped_by_its_participant_is_free_for_the_next_at_once(
    stations: Stations, lane: str
) -> None:
    station, other = stations(), stations()
    await station.fails(lane)
    await until_probe(station, lane)
    probe = await station.breakers.ask(lane)
    assert isinstance(probe, Permit)
    station.breakers.report(lane, probe, CallFailed(F.CANCELLED))
    await station.breakers.settle()
    await other.breakers.refresh()
    again = await other.breakers.ask(lane)
    assert isinstance(again, Permit) and again.kind == "probe"


async def test_a_step_rings_for_all_processes_and_a_mere_count_does_not(
    stations: Stations, lane: str, database: EmbeddedPostgres
) -> None:
    async with await psycopg.AsyncConnection.connect(database.url, autocommit=True) as ear:
        await ear.execute("LISTEN companion")
        station = stations()
        await station.fails(lane, 2)
        assert [ring async for ring in ear.notifies(timeout=0.2)] == []
        await station.fails(lane, 1)
        [ring] = [ring async for ring in ear.notifies(timeout=5, stop_after=1)]
        assert '"breakers"' in ring.payload


@pytest.fixture
async def ahead(database: EmbeddedPostgres) -> AsyncIterator[AsyncConnectionPool[Any]]:
    """Connections to a database whose clock is an hour ahead of this machine's."""
    kwargs = {"autocommit": True, "options": "-c search_path=an_hour_ahead,public,pg_catalog"}
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA an_hour_ahead")
        connection.execute(
            "CREATE FUNCTION an_hour_ahead.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS "
            "$$SELECT pg_catalog.clock_timestamp() + interval '1 hour'$$"
        )
        async with AsyncConnectionPool(database.url, min_size=1, open=False, kwargs=kwargs) as pool:
            yield pool
        connection.execute("DROP SCHEMA an_hour_ahead CASCADE")


async def test_times_are_the_databases_whatever_this_machines_clock_says(
    ahead: AsyncConnectionPool[Any], lane: str
) -> None:
    there = datetime.now(UTC) + timedelta(hours=1)
    fresh, station = Station(ahead), Station(ahead)
    await fresh.breakers.refresh()
    await station.fails(lane, failure=CallFailed(F.QUOTA), times=1)
    opened_until = row(lane).opened_until
    assert opened_until is not None
    for time in (fresh.breakers.now(), station.breakers.now(), opened_until - timedelta(seconds=60)):
        assert abs(time - there) < timedelta(minutes=1)


async def test_with_the_database_away_a_process_goes_on_with_what_it_knows(lane: str) -> None:
    nowhere: AsyncConnectionPool[Any] = AsyncConnectionPool(
        "postgresql://companion@127.0.0.1:9/nothing", min_size=0, max_size=2, timeout=0.02, open=False
    )
    await nowhere.open()
    try:
        station = Station(nowhere)
        await station.fails(lane)
        assert isinstance(await station.breakers.ask(lane), Skip)
        await until_probe(station, lane)
        answers = await asyncio.gather(*(station.breakers.ask(lane) for _ in range(10)))
        probes = [answer for answer in answers if isinstance(answer, Permit)]
        assert len(probes) == 1
        station.breakers.report(lane, probes[0], None)
        assert isinstance(await station.breakers.ask(lane), Permit)
        await station.breakers.settle()
    finally:
        await nowhere.close()


async def test_every_process_gives_a_recovered_lane_a_few_turns_first_and_others_all(
    stations: Stations,
) -> None:
    name, one, other = f"lane-{uuid.uuid4().hex[:8]}", stations(), stations()
    wide = lane_of(name, max_in_flight=200)
    assert one.breakers.takes(wide) == 200
    await one.fails(name)
    await other.breakers.refresh()
    await until(lambda: one.breakers.bars(name) is None)

    probe = await one.breakers.ask(name)
    assert isinstance(probe, Permit)
    one.breakers.report(name, probe, None)
    await one.breakers.settle()
    assert one.breakers.takes(wide) <= 16
    await other.breakers.refresh()
    assert other.breakers.takes(wide) <= 16

    route = Route(preset="normal", version=1, lanes=(wide, lane_of("second")), marking="none", ceiling=None)
    first = order_lanes(route, other.breakers).lanes[0]
    assert (first.name, first.max_in_flight) == ("second", 10)
    await until(lambda: one.breakers.takes(wide) == 200, within_s=30)
    assert [found.name for found in order_lanes(route, one.breakers).lanes] == [name, "second"]
