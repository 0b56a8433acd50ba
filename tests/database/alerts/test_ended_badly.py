"""Turns that ended badly are told of by themselves: one alert for each kind, each turn counted once (R14)."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest
import pytest_asyncio
from django.db import connection
from django.utils import timezone
from psycopg_pool import AsyncConnectionPool

from companion.states import Reason, TurnState
from companion.turn_end import TurnEnd
from ops.alerts.buffer import AlertBuffer
from ops.alerts.formatting import format_banner
from ops.alerts.kinds import AlertKind
from ops.alerts.rows import acknowledge, list_open_alerts
from ops.alerts.statements import RAISE_FOR_ENDINGS
from ops.alerts.turns import ALL_SITES, ENDING_RULES
from ops.alerts.watch import AlertWatch
from ops.models import Alert, MinuteFigures
from ops.stack.postgres import EmbeddedPostgres
from routing.errors import FailureClass
from tests.database.alerts.test_alerts import Line
from tests.people import People, Person, in_database

Pool = AsyncConnectionPool[Any]


@pytest_asyncio.fixture
async def pool(database: EmbeddedPostgres) -> AsyncIterator[Pool]:
    async with AsyncConnectionPool(database.url, min_size=2, max_size=4, open=False) as pool:
        yield pool


@pytest.fixture(autouse=True)
def _no_minutes() -> Iterator[None]:
    in_database(lambda: MinuteFigures.objects.all().delete())
    yield
    in_database(lambda: MinuteFigures.objects.all().delete())


def minute(ago: int, **figures: Any) -> datetime:
    """A minute that is over, as the worker keeps it."""
    at = timezone.now().replace(second=0, microsecond=0) - timedelta(minutes=ago)
    in_database(lambda: MinuteFigures.objects.update_or_create(at=at, defaults={"figures": figures}))
    return at


async def look(pool: Pool, kind: AlertKind) -> None:
    (ending,) = [one for one in ENDING_RULES if one.kind is kind]
    async with pool.connection() as native:
        await native.execute(RAISE_FOR_ENDINGS, ending.params)


def rows(kind: AlertKind) -> list[Alert]:
    return in_database(lambda: list(Alert.objects.filter(kind=kind).order_by("id")))


def counts(kind: AlertKind) -> list[int]:
    return [row.count for row in rows(kind)]


@pytest.mark.parametrize(
    ("kind", "figures"),
    [
        (AlertKind.PEOPLE_REFUSED, {"states": {"refused": 2, "complete": 9}}),
        (AlertKind.TURNS_LOST, {"reasons": {"lost": 2, "network": 5}}),
        (AlertKind.TURNS_UNSTORED, {"reasons": {"unstored": 2}}),
        (AlertKind.TURNS_FAULTED, {"reasons": {"fault": 2}}),
        (AlertKind.TURNS_HUNG, {"reasons": {"idle_timeout": 1, "first_word_timeout": 1}}),
    ],
)
async def test_each_kind_of_bad_ending_is_one_alert_that_counts_each_turn_once(
    pool: Pool, kind: AlertKind, figures: dict[str, Any]
) -> None:
    minute(9, states={"complete": 4}, reasons={"network": 3})
    begun = minute(8, **figures)
    await look(pool, kind)
    await look(pool, kind)
    (row,) = rows(kind)
    assert (row.about, row.count) == (ALL_SITES, 2)
    assert (row.first_at, row.last_at) == (begun, begun + timedelta(minutes=1))

    minute(7, **figures)
    await look(pool, kind)
    assert counts(kind) == [4]


async def test_what_an_operator_has_seen_is_not_counted_again_and_what_comes_later_is_told_anew(
    pool: Pool,
) -> None:
    kind = AlertKind.TURNS_LOST
    minute(8, reasons={"lost": 3})
    await look(pool, kind)
    alert = rows(kind)[0].pk
    in_database(lambda: acknowledge(alert, by="ines", at=timezone.now()))
    await look(pool, kind)
    assert counts(kind) == [3]

    minute(2, reasons={"lost": 1})
    await look(pool, kind)
    assert counts(kind) == [3, 1]


async def test_processes_that_look_at_once_count_each_turn_once(pool: Pool) -> None:
    kind = AlertKind.TURNS_FAULTED
    minute(5, reasons={"fault": 7})
    await asyncio.gather(*(look(pool, kind) for _ in range(12)))
    minute(4, reasons={"fault": 1})
    await asyncio.gather(*(look(pool, kind) for _ in range(12)))
    assert counts(kind) == [8]


async def test_a_web_process_tells_of_a_turn_that_was_lost_without_any_worker(
    pool: Pool, people: People
) -> None:
    ended(people.rosa, state=TurnState.PAUSED, reason=Reason.LOST, ago_s=180)
    ended(people.rosa, state=TurnState.REFUSED, reason=Reason.WAIT_CEILING, ago_s=180)
    await AlertWatch(pool, persona_versions=[]).look()
    assert (counts(AlertKind.TURNS_LOST)[0] >= 1, counts(AlertKind.PEOPLE_REFUSED)[0] >= 1) == (True, True)


# What a provider refuses to answer.


def refused(turn: int) -> TurnEnd:
    return TurnEnd(turn=turn, state=TurnState.PAUSED, reason=FailureClass.REFUSED)


async def test_a_content_refusal_is_one_alert_for_each_site_that_names_the_last_turn_and_no_word(
    pool: Pool, people: People
) -> None:
    turns = [ended(people.rosa, state=TurnState.PAUSED, reason=FailureClass.REFUSED) for _ in range(2)]
    elsewhere = ended(people.otto, state=TurnState.PAUSED, reason=FailureClass.REFUSED)
    buffer = AlertBuffer(pool)
    for turn in (*turns, elsewhere):
        buffer.add_turn(refused(turn))
    await buffer.write()
    await buffer.write()

    here, there = people.site, people.elsewhere
    assert [(row.about, row.site_id, row.turn, row.count) for row in rows(AlertKind.CONTENT_REFUSED)] == [
        (here.slug, here.pk, turns[-1], 2),
        (there.slug, there.pk, elsewhere, 1),
    ]
    (told,) = [one for one in in_database(list_open_alerts) if one.site == here.pk]
    assert told.says == (
        "A provider refused to answer what a person wrote. This can be a sign of danger. "
        f"Site: {here.slug}. Last: turn {turns[-1]}."
    )


async def test_a_content_refusal_is_kept_while_the_database_is_away(pool: Pool, people: People) -> None:
    turn = ended(people.rosa, state=TurnState.PAUSED, reason=FailureClass.REFUSED)
    line = Line(pool)
    buffer = AlertBuffer(line)  # type: ignore[arg-type]
    buffer.add_turn(refused(turn))
    line.is_cut = True
    with pytest.raises(psycopg.Error):
        await buffer.write()
    line.is_cut = False
    await buffer.write()
    assert counts(AlertKind.CONTENT_REFUSED) == [1]


async def test_the_next_content_refusal_goes_out_at_once_though_the_last_was_just_seen(
    pool: Pool, people: People
) -> None:
    buffer = AlertBuffer(pool)
    for _ in range(2):
        buffer.add_turn(refused(ended(people.rosa, state=TurnState.PAUSED, reason=FailureClass.REFUSED)))
        await buffer.write()
        newest = rows(AlertKind.CONTENT_REFUSED)[-1]
        assert newest.send_at <= timezone.now()
        in_database(lambda pk=newest.pk: acknowledge(pk, by="ines", at=timezone.now()))  # type: ignore[misc]
    assert counts(AlertKind.CONTENT_REFUSED) == [1, 1]


async def test_staff_are_told_of_refusals_at_their_own_sites_and_of_the_rest_by_number(
    pool: Pool, people: People
) -> None:
    here = ended(people.rosa, state=TurnState.PAUSED, reason=FailureClass.REFUSED)
    there = ended(people.otto, state=TurnState.PAUSED, reason=FailureClass.REFUSED)
    buffer = AlertBuffer(pool)
    buffer.add_turn(refused(here))
    buffer.add_turn(refused(there))
    await buffer.write()

    title = format_banner(in_database(list_open_alerts), operator=False, sites={people.site.pk})["title"]
    assert title.startswith("A provider refused to answer what a person wrote.")
    assert f"turn {here}." in title
    assert f"turn {there}" not in title
    assert title.endswith(
        "Read the turn now, and see how the person is.\nThere is 1 open problem for operators."
    ), "a line for each"


def ended(person: Person, *, state: TurnState, reason: Reason | FailureClass, ago_s: float = 0) -> int:
    def insert() -> int:
        with connection.cursor() as cursor:
            cursor.execute(
                """INSERT INTO companion_turn (conversation_id, key, question, state, reason, owner, persona_version,
                                               wait_until, created_at, closed_at)
                   VALUES (%s, %s, 'x', %s, %s, %s, '-', now(), now() - %s * interval '1 second',
                           now() - %s * interval '1 second') RETURNING id""",
                [person.conversation.pk, uuid4(), state.value, reason.value, uuid4(), ago_s, ago_s],
            )
            (turn,) = cursor.fetchone()
        return int(turn)

    return in_database(insert)
