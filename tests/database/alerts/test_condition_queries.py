"""What lasts is told of once while it lasts, and its alert closes by itself (R13)."""

import uuid
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio
from django.db.models import F
from django.utils import timezone
from psycopg_pool import AsyncConnectionPool

from companion.models import Participant, Process, Site
from ops.alerts import backups
from ops.alerts.condition_queries import (
    CONDITION_QUERIES,
    MAX_BACKUP_AGE,
    PAUSES_WINDOW_MIN,
    QUEUE_STANDS_MIN,
)
from ops.alerts.kinds import AlertKind
from ops.alerts.rows import acknowledge
from ops.alerts.statements import BACKUP_JOB, CLOSED_BY_SERVICE
from ops.models import Alert, ContractCheck, MinuteFigures, Round, SafeguardingHold
from ops.stack.postgres import EmbeddedPostgres
from tests.people import People, in_database
from tests.selections import newest

Pool = AsyncConnectionPool[Any]


@pytest_asyncio.fixture
async def pool(database: EmbeddedPostgres) -> AsyncIterator[Pool]:
    async with AsyncConnectionPool(database.url, min_size=1, max_size=1, open=False) as pool:
        yield pool


@pytest.fixture(autouse=True)
def _alone(database: EmbeddedPostgres) -> Iterator[None]:
    """Processes of other tests are not heard of, and each process of a test here leaves with it."""
    in_database(lambda: Process.objects.all().delete())
    yield
    in_database(lambda: Process.objects.filter(host="lasting").delete())


def process(*, started_ago: timedelta = timedelta(minutes=5), **facts: Any) -> Process:
    at = timezone.now()
    row = {"host": "lasting", "pid": 1, "started_at": at - started_ago, "beat_at": at + timedelta(minutes=5)}
    return in_database(lambda: Process.objects.create(id=uuid.uuid4(), **{**row, **facts}))


async def look(pool: Pool, kind: AlertKind) -> None:
    for one in CONDITION_QUERIES:
        if one.kind is kind:
            async with pool.connection() as connection:
                await connection.execute(one.statement, one.params)


def open_now(kind: AlertKind) -> list[str]:
    rows = Alert.objects.filter(kind=kind, acknowledged_at=None).order_by("about")
    return in_database(lambda: [row.about for row in rows])


def rows_of(kind: AlertKind) -> int:
    return in_database(lambda: Alert.objects.filter(kind=kind).count())


@pytest.mark.parametrize("kind", [AlertKind.FILE_REFUSED, AlertKind.FILE_CHANGED, AlertKind.NO_FALLBACK])
async def test_what_a_process_says_of_itself_is_told_while_it_lives_and_says_so(
    pool: Pool, kind: AlertKind
) -> None:
    one = process(conditions=[f"{kind} routing file", "another_kind of another thing"])
    process(conditions=[f"{kind} routing file"])
    await look(pool, kind)
    await look(pool, kind)
    assert (open_now(kind), rows_of(kind)) == (["routing file"], 1)

    in_database(lambda: Process.objects.filter(host="lasting").exclude(id=one.pk).update(conditions=[]))
    await look(pool, kind)
    assert open_now(kind) == ["routing file"]

    in_database(lambda: Process.objects.filter(id=one.pk).update(beat_at=timezone.now() - timedelta(hours=1)))
    await look(pool, kind)
    assert open_now(kind) == []
    assert in_database(lambda: Alert.objects.get(kind=kind)).acknowledged_by == CLOSED_BY_SERVICE


async def test_what_comes_and_goes_is_told_again_an_hour_later_at_the_earliest(pool: Pool) -> None:
    kind = AlertKind.FILE_REFUSED
    one = process(conditions=[f"{kind} routing file"])

    async def again(conditions: list[str]) -> None:
        in_database(lambda: Process.objects.filter(id=one.pk).update(conditions=conditions))
        await look(pool, kind)

    await look(pool, kind)
    await again([])
    await again([f"{kind} routing file"])
    assert open_now(kind) == []

    earlier = timedelta(minutes=61)
    in_database(lambda: Alert.objects.filter(kind=kind).update(last_at=F("last_at") - earlier))
    await look(pool, kind)
    assert open_now(kind) == ["routing file"]


async def test_what_an_operator_has_seen_is_not_told_again_on_the_same_day(pool: Pool) -> None:
    kind = AlertKind.NO_FALLBACK
    process(conditions=[f"{kind} one is its only lane"])
    await look(pool, kind)
    alert = in_database(lambda: Alert.objects.get(kind=kind).pk)
    in_database(lambda: acknowledge(alert, by="ines", at=timezone.now()))
    await look(pool, kind)
    assert open_now(kind) == []

    in_database(lambda: Alert.objects.filter(pk=alert).update(last_at=F("last_at") - timedelta(days=1)))
    await look(pool, kind)
    assert open_now(kind) == ["one is its only lane"]


async def test_scripted_replies_are_told_of_once_people_are_not_made_up(pool: Pool, people: People) -> None:
    kind = AlertKind.SCRIPTED_REPLIES
    process(conditions=[f"{kind} no routing file is set"])
    assert people.rosa.row.pk
    await look(pool, kind)
    assert open_now(kind) == ["no routing file is set"]


async def test_processes_that_read_other_files_are_told_of_once_they_have_settled(pool: Pool) -> None:
    kind = AlertKind.PROCESSES_DIFFER
    process(routing_hash="a", persona_version="p")
    process(routing_hash="b", persona_version="p", started_ago=timedelta(seconds=30))
    await look(pool, kind)
    assert open_now(kind) == []

    process(routing_hash="b", persona_version="q")
    await look(pool, kind)
    assert open_now(kind) == ["character", "routing file"]


async def test_a_version_that_stands_in_no_row_is_told_of_until_one_above_it_is_selected(pool: Pool) -> None:
    kind = AlertKind.SELECTION_UNRECORDED
    version = newest().version
    one = process(routing_version=version, preset="pin_second")
    await look(pool, kind)
    assert open_now(kind) == []

    in_database(lambda: Process.objects.filter(id=one.pk).update(routing_version=version + 5))
    await look(pool, kind)
    assert open_now(kind) == [f"version {version + 5} (pin_second)"]


# The last minutes.


@pytest.fixture
def _no_minutes() -> Iterator[None]:
    in_database(lambda: MinuteFigures.objects.all().delete())
    yield
    in_database(lambda: MinuteFigures.objects.all().delete())


def keep_minutes(many: int, **figures: Any) -> None:
    """The last minutes that are over: each began at a full minute, and its turns have been counted."""
    newest = (timezone.now() - timedelta(seconds=20)).replace(second=0, microsecond=0)
    in_database(
        lambda: MinuteFigures.objects.bulk_create(
            [
                MinuteFigures(at=newest - timedelta(minutes=ago), figures=figures)
                for ago in range(1, many + 1)
            ],
            update_conflicts=True,
            unique_fields=["at"],
            update_fields=["figures"],
        )
    )


@pytest.mark.usefixtures("_no_minutes")
@pytest.mark.parametrize(
    ("minutes", "figures", "is_told"),
    [
        (3, {"states": {"paused": 1, "complete": 9}, "reasons": {"network": 1}}, True),
        (3, {"states": {"paused": 1, "complete": 10}, "reasons": {"network": 1}}, False),
        (2, {"states": {"paused": 1}, "reasons": {"network": 1}}, False),
        (3, {"states": {"paused": 1}, "reasons": {"refused": 1}}, False),
        (3, {"states": {"paused": 1}, "reasons": {"away": 1}}, False),
        (3, {"states": {"complete": 9}}, False),
    ],
)
async def test_many_pauses_are_told_of_while_they_are_many(
    pool: Pool, minutes: int, figures: dict[str, Any], is_told: bool
) -> None:
    kind = AlertKind.MANY_PAUSES
    keep_minutes(minutes, **figures)
    await look(pool, kind)
    assert open_now(kind) == (["10 of 100 or more, in 15 minutes"] if is_told else [])

    keep_minutes(PAUSES_WINDOW_MIN, states={"complete": 9})
    await look(pool, kind)
    assert open_now(kind) == []


@pytest.mark.usefixtures("_no_minutes")
async def test_a_queue_raises_one_alert_once_a_turn_has_waited_at_the_end_of_each_of_five_minutes(
    pool: Pool,
) -> None:
    kind = AlertKind.STANDING_QUEUE
    keep_minutes(QUEUE_STANDS_MIN - 1, levels=[32, 4, 32, 2])
    await look(pool, kind)
    assert open_now(kind) == []

    keep_minutes(QUEUE_STANDS_MIN, levels=[32, 4, 32, 2])
    await look(pool, kind)
    assert open_now(kind) == ["people have waited for 5 minutes or more"]

    keep_minutes(1, levels=[32, 4, 30, 0])
    await look(pool, kind)
    assert open_now(kind) == []


# Backups and the character.


@pytest.fixture
def _no_backup() -> Iterator[None]:
    in_database(lambda: Round.objects.filter(job=BACKUP_JOB).delete())
    yield
    in_database(lambda: Round.objects.filter(job=BACKUP_JOB).delete())


@pytest.mark.usefixtures("_no_backup")
async def test_a_backup_that_is_older_than_a_night_and_two_hours_is_told_of_until_the_next(
    pool: Pool, people: People
) -> None:
    kind = AlertKind.BACKUP_OLD
    assert people.rosa.row.pk
    made_at = timezone.now() - MAX_BACKUP_AGE + timedelta(minutes=1)
    in_database(lambda: Round.objects.create(job=BACKUP_JOB, at=made_at))
    await look(pool, kind)
    assert open_now(kind) == []

    in_database(lambda: Round.objects.filter(job=BACKUP_JOB).update(at=made_at - timedelta(minutes=2)))
    await look(pool, kind)
    assert open_now(kind) == [f"the last is of {made_at - timedelta(minutes=2):%Y-%m-%d}"]

    in_database(backups.record_backup)
    await look(pool, kind)
    assert open_now(kind) == []


@pytest.mark.usefixtures("_no_backup")
async def test_where_no_backup_was_ever_made_people_who_are_there_for_longer_have_it_told(
    pool: Pool, people: People
) -> None:
    kind = AlertKind.BACKUP_OLD
    assert people.rosa.row.pk
    # The first person of the database is looked at, whichever test made them.
    in_database(lambda: Participant.objects.update(created_at=F("created_at") - MAX_BACKUP_AGE))
    await look(pool, kind)
    assert open_now(kind) == ["none was ever made"]


def test_a_backup_that_failed_is_told_of_until_one_is_made() -> None:
    in_database(lambda: backups.report_failure("manage.py backup ended with 2"))
    assert open_now(AlertKind.BACKUP_FAILED) == ["manage.py backup ended with 2"]
    in_database(backups.record_backup)
    assert open_now(AlertKind.BACKUP_FAILED) == []
    in_database(lambda: Round.objects.filter(job=BACKUP_JOB).delete())


@pytest.mark.parametrize("kind", [AlertKind.PERSONA_UNAPPROVED, AlertKind.PERSONA_OVERDUE])
async def test_an_unapproved_or_unreviewed_character_raises_one_alert_once_real_people_are_there(
    pool: Pool, people: People, kind: AlertKind
) -> None:
    process(conditions=[f"{kind} Robin"])
    assert people.rosa.row.pk
    site = people.site
    closed = in_database(
        lambda: list(Site.objects.exclude(pk=site.pk).filter(is_open=True).values_list("pk", flat=True))
    )
    in_database(lambda: Site.objects.filter(pk__in=[*closed, site.pk]).update(is_open=False))
    try:
        await look(pool, kind)
        assert open_now(kind) == []
        in_database(lambda: Site.objects.filter(pk=site.pk).update(is_open=True))
        await look(pool, kind)
        assert open_now(kind) == ["Robin"]
    finally:
        in_database(lambda: Site.objects.filter(pk__in=closed).update(is_open=True))


async def test_an_open_site_without_a_whole_helpline_is_told_of_until_it_has_one(
    pool: Pool, people: People
) -> None:
    kind, site = AlertKind.NO_HELPLINE, people.site
    await look(pool, kind)
    assert site.slug not in open_now(kind)

    in_database(lambda: Site.objects.filter(pk=site.pk).update(helpline_text=""))
    await look(pool, kind)
    assert site.slug in open_now(kind)

    in_database(lambda: Site.objects.filter(pk=site.pk).update(is_open=False))
    await look(pool, kind)
    assert site.slug not in open_now(kind)


async def test_a_helpline_whose_review_is_overdue_is_told_of_with_its_day(pool: Pool, people: People) -> None:
    kind, sites = AlertKind.HELPLINE_OVERDUE, Site.objects.filter(pk=people.site.pk)
    await look(pool, kind)
    assert open_now(kind) == []

    in_database(lambda: sites.update(helpline_review_by=timezone.now() - timedelta(days=2)))
    await look(pool, kind)
    [about] = open_now(kind)
    assert about.startswith(f"{people.site.slug}, due on ")

    in_database(lambda: sites.update(helpline_review_by=timezone.now() + timedelta(days=2)))
    await look(pool, kind)
    assert open_now(kind) == []


def checked(*, ok: bool, days_ago: int = 0) -> None:
    facts = {"preset": "normal", "routing_hash": "a", "ok": ok, "document": {}}
    at = timezone.now() - timedelta(days=days_ago)
    in_database(lambda: ContractCheck.objects.create(at=at, **facts))


@pytest.fixture
def no_checks(database: EmbeddedPostgres) -> Iterator[None]:
    in_database(lambda: ContractCheck.objects.all().delete())
    yield
    in_database(lambda: ContractCheck.objects.all().delete())


@pytest.mark.usefixtures("no_checks")
async def test_a_contract_check_that_failed_is_told_of_until_one_passes(pool: Pool) -> None:
    checked(ok=False)
    await look(pool, AlertKind.CHECK_FAILED)
    assert open_now(AlertKind.CHECK_FAILED) == ["normal"]

    checked(ok=True)
    await look(pool, AlertKind.CHECK_FAILED)
    assert open_now(AlertKind.CHECK_FAILED) == []


@pytest.mark.usefixtures("no_checks")
async def test_a_contract_check_that_is_old_or_never_was_is_told_of_where_real_lanes_answer(
    pool: Pool,
) -> None:
    kind = AlertKind.CHECK_OVERDUE
    process(started_ago=timedelta(days=2))
    await look(pool, kind)
    assert open_now(kind) == []

    process(routing_hash="a", started_ago=timedelta(days=2))
    await look(pool, kind)
    assert open_now(kind) == ["normal"]

    checked(ok=True)
    await look(pool, kind)
    assert open_now(kind) == []

    in_database(lambda: ContractCheck.objects.update(at=timezone.now() - timedelta(days=4)))
    in_database(lambda: Alert.objects.filter(kind=kind).delete())
    await look(pool, kind)
    assert open_now(kind) == ["normal"]


async def test_a_hold_whose_review_is_overdue_is_told_of_until_it_ends(pool: Pool, people: People) -> None:
    kind = AlertKind.HOLD_OVERDUE
    rosa, today = people.rosa.row, timezone.localdate()
    hold = in_database(
        lambda: SafeguardingHold.objects.create(
            participant=rosa, by="Ines", reason="inquiry", review_by=today + timedelta(days=1)
        )
    )
    await look(pool, kind)
    assert not [about for about in open_now(kind) if about.startswith(f"{rosa.pk},")]

    due = today - timedelta(days=1)
    in_database(lambda: SafeguardingHold.objects.filter(pk=hold.pk).update(review_by=due))
    await look(pool, kind)
    assert f"{rosa.pk}, due on {due}" in open_now(kind)

    in_database(lambda: SafeguardingHold.objects.filter(pk=hold.pk).update(ended_at=timezone.now()))
    await look(pool, kind)
    assert f"{rosa.pk}, due on {due}" not in open_now(kind)
