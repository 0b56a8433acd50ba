"""Tokens and cost are added up by lane and day, and a cheaper lane that carries the day is told of (R13)."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import psycopg
import pytest
import pytest_asyncio
from psycopg_pool import AsyncConnectionPool

from companion.states import Reason, TurnState
from companion.turn_end import TurnEnd
from ops.alerts.condition_queries import CONDITION_QUERIES
from ops.alerts.kinds import AlertKind
from ops.models import Alert, LaneDay
from ops.stack.postgres import EmbeddedPostgres
from ops.status.usage import LaneUsage, UsageBuffer, list_usage
from routing.contracts import AttemptReport, Usage
from routing.errors import FailureClass
from routing.lanes import Routing, parse
from tests.chains import lane_text
from tests.people import in_database

Pool = AsyncConnectionPool[Any]


def priced(name: str, price: str) -> str:
    prices = f'input_price_per_million = {price}\noutput_price_per_million = {price}\ncurrency = "USD"\n\n'
    return lane_text(name).rstrip() + "\n" + prices


@pytest.fixture
def routing() -> Routing:
    """A head that costs ten times what the second costs; the third has no price."""
    text = priced("head", "10.0") + priced("second", "1.0") + lane_text("third")
    return parse(text + '[presets.normal]\nchain = ["head", "second", "third"]\n', source="file")


@pytest_asyncio.fixture
async def pool(database: EmbeddedPostgres) -> AsyncIterator[Pool]:
    async with AsyncConnectionPool(database.url, min_size=1, max_size=2, open=False) as pool:
        yield pool


@pytest.fixture(autouse=True)
def _no_days(database: EmbeddedPostgres) -> Iterator[None]:
    in_database(lambda: LaneDay.objects.all().delete())
    yield
    in_database(lambda: LaneDay.objects.all().delete())


def attempt(lane: str, usage: Usage | None = None, failure: FailureClass | None = None) -> AttemptReport:
    facts: dict[str, Any] = dict.fromkeys(("waited_s", "started_s", "took_s", "bytes_received", "words"), 0)
    return AttemptReport(lane=lane, model="m", failure=failure, status=200, code=None, usage=usage, **facts)


def turn_end(*attempts: AttemptReport, marked: bool = False) -> TurnEnd:
    return TurnEnd(
        turn=1,
        state=TurnState.COMPLETE,
        reason=Reason.WHOLE,
        preset="normal",
        attempts=attempts,
        marked=marked,
    )


def of(lane: str) -> LaneUsage:
    return next(day for day in in_database(list_usage) if day.lane == lane)


USAGE = Usage(input_tokens=1_000, output_tokens=200)


async def test_calls_of_all_processes_are_added_up_with_what_they_cost(pool: Pool, routing: Routing) -> None:
    one, another = UsageBuffer(pool, routing), UsageBuffer(pool, routing)
    one.add_turn(turn_end(attempt("head", failure=FailureClass.OVERLOADED), attempt("second", USAGE)))
    await one.write()
    another.add_turn(turn_end(attempt("second", USAGE)))
    another.add_turn(turn_end(attempt("third", USAGE)))
    await another.write()
    await another.write()

    second = of("second")
    assert (second.day, second.calls, second.replies) == (datetime.now(UTC).date(), 2, 2)
    assert (second.input_tokens, second.output_tokens, second.cost) == (2_000, 400, Decimal("0.0024"))
    assert (second.tokens_text, second.cost_text) == ("2,000 in, 400 out", "0.00 USD")
    assert (of("third").tokens_text, of("third").cost_text) == ("1,000 in, 200 out", "no price is set")


async def test_what_a_provider_does_not_tell_is_not_guessed(pool: Pool, routing: Routing) -> None:
    usage = UsageBuffer(pool, routing)
    usage.add_turn(turn_end(attempt("head")))
    usage.add_turn(turn_end(attempt("second", USAGE)))
    usage.add_turn(turn_end(attempt("second")))
    await usage.write()

    assert (of("head").tokens_text, of("head").cost_text) == ("not reported", "not reported")
    document = of("head").build_document()
    assert [document[key] for key in ("calls", "calls_told", "input_tokens", "output_tokens", "cost")] == [
        1, 0, None, None, None
    ]  # fmt: skip
    assert of("second").tokens_text == "1,000 in, 200 out (not reported for 1 call)"


async def test_a_full_lane_was_not_called(pool: Pool, routing: Routing) -> None:
    usage = UsageBuffer(pool, routing)
    usage.add_turn(turn_end(attempt("head", failure=FailureClass.LOCAL_LIMIT), attempt("second", USAGE)))
    await usage.write()

    assert [day.lane for day in in_database(list_usage)] == ["second"]


async def test_nothing_is_lost_while_the_database_does_not_take_it(
    database: EmbeddedPostgres, pool: Pool, routing: Routing
) -> None:
    impatient = {"options": "-c lock_timeout=100ms"}
    async with AsyncConnectionPool(
        database.url, min_size=1, max_size=1, open=False, kwargs=impatient
    ) as served:
        usage = UsageBuffer(served, routing)
        usage.add_turn(turn_end(attempt("second", USAGE)))
        async with pool.connection() as another:
            await another.execute("LOCK TABLE ops_laneday")
            with pytest.raises(psycopg.errors.LockNotAvailable):
                await usage.write()
        usage.add_turn(turn_end(attempt("second", USAGE)))
        await usage.write()

    assert of("second").calls == 2


@pytest.mark.parametrize("marked", [False, True])
async def test_a_cheaper_lane_that_carries_the_day_unmarked_is_told_of(
    pool: Pool, routing: Routing, *, marked: bool
) -> None:
    usage = UsageBuffer(pool, routing)

    async def told(lane: str, replies: int) -> list[str]:
        for _ in range(replies):
            usage.add_turn(turn_end(attempt(lane, USAGE), marked=marked))
        await usage.write()
        for one in CONDITION_QUERIES:
            if one.kind is AlertKind.CHEAPER_LANE:
                async with pool.connection() as connection:
                    await connection.execute(one.statement, one.params)
        rows = Alert.objects.filter(kind=AlertKind.CHEAPER_LANE, acknowledged_at=None)
        return in_database(lambda: [row.about for row in rows])

    assert await told("second", 19) == []
    assert await told("second", 1) == ([] if marked else ["second in place of head"])
    assert await told("head", 20) == []
