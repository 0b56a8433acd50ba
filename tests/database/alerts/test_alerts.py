"""Alerts as rows: one for each cause while it is open, from every source, and none is lost."""

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test import override_settings
from django.utils import timezone
from psycopg_pool import AsyncConnectionPool

from companion.models import Conversation, Process
from ops.alerts.buffer import AlertBuffer
from ops.alerts.kinds import AlertKind
from ops.alerts.rows import AlertView, acknowledge, list_open_alerts, raise_alert
from ops.alerts.statements import CLOSED_BY_SERVICE
from ops.alerts.watch import AlertWatch
from ops.jobs import close_alerts, fallback_drill, revert_ended_pins, send_alerts, watch_lanes
from ops.lane_checks.answers import LaneAnswer
from ops.lane_checks.results import store_answers
from ops.models import Alert, LaneProbe, Round
from ops.project.wiring.routing import build_routing
from ops.selections.pins import THE_SERVICE
from routing.lanes import NORMAL, REHEARSAL
from tests.patience import until
from tests.people import People, in_database
from tests.processes import Rehearsal
from tests.selections import insert, rows_since, select

Pool = AsyncConnectionPool[Any]


def alerts(kind: AlertKind) -> list[tuple[str, str, int]]:
    """Of this kind alone: processes of other tests may have something else to tell."""
    rows = in_database(lambda: list(Alert.objects.filter(kind=kind).order_by("id")))
    return [(row.kind, row.about, row.count) for row in rows]


def shown(kind: AlertKind) -> list[AlertView]:
    return [one for one in in_database(list_open_alerts) if one.kind == kind]


def answer(
    *, ok: bool, how: Any = "drill", lane: str = "rehearsal", at: datetime | None = None
) -> LaneAnswer:
    return LaneAnswer(
        lane=lane,
        at=at or timezone.now(),
        ok=ok,
        failure="" if ok else "network",
        first_word_ms=120 if ok else None,
        words=12 if ok else 0,
        how=how,
    )


# Rows.


def test_the_same_thing_is_one_row_that_counts() -> None:
    for lane in ("primary", "second", "primary"):
        in_database(lambda lane=lane: raise_alert(AlertKind.QUOTA, lane))  # type: ignore[misc]
    assert alerts(AlertKind.QUOTA) == [("quota", "primary", 2), ("quota", "second", 1)]


def test_after_an_alert_was_seen_the_same_condition_raises_a_new_one() -> None:
    in_database(lambda: raise_alert(AlertKind.QUOTA, "primary"))
    (first,) = shown(AlertKind.QUOTA)

    assert in_database(lambda: acknowledge(first.id, by="ines", at=timezone.now()))
    assert not in_database(lambda: acknowledge(first.id, by="sam", at=timezone.now()))
    assert shown(AlertKind.QUOTA) == []
    assert in_database(lambda: Alert.objects.get(id=first.id)).acknowledged_by == "ines"

    in_database(lambda: raise_alert(AlertKind.QUOTA, "primary"))
    assert [one.says for one in shown(AlertKind.QUOTA)] == [
        "Our account for lane primary has no credit or allowance left."
    ]


# From web processes.


async def test_what_a_process_tells_is_written_together_and_counted(pool: Pool) -> None:
    buffer = AlertBuffer(pool)
    for _ in range(3):
        buffer.add(AlertKind.MISCONFIGURED, "primary")
    buffer.add(AlertKind.ALL_LANES_OPEN, "normal")
    task = asyncio.create_task(buffer.run())
    try:
        await until(lambda: alerts(AlertKind.MISCONFIGURED) and alerts(AlertKind.ALL_LANES_OPEN))
    finally:
        task.cancel()
    assert alerts(AlertKind.ALL_LANES_OPEN) == [("all_lanes_open", "normal", 1)]
    assert alerts(AlertKind.MISCONFIGURED) == [("misconfigured", "primary", 3)]


async def test_what_could_not_be_written_is_kept_and_written_when_the_database_is_back(
    pool: Pool,
) -> None:
    line = Line(pool)
    buffer = AlertBuffer(line)  # type: ignore[arg-type]
    buffer.add(AlertKind.QUOTA, "primary")
    line.is_cut = True
    with pytest.raises(psycopg.Error):
        await buffer.write()
    buffer.add(AlertKind.QUOTA, "primary")
    assert alerts(AlertKind.QUOTA) == []

    line.is_cut = False
    await buffer.write()
    assert alerts(AlertKind.QUOTA) == [("quota", "primary", 2)]


class Line:
    """The way to the database, which a test may cut."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.is_cut = False

    def connection(self) -> Any:
        if self.is_cut:
            raise psycopg.OperationalError
        return self._pool.connection()


# What lasts.


async def look(pool: Pool, persona: str = "") -> None:
    """As the worker and as a web process: both, so that what is told once is told once."""
    in_database(watch_lanes)
    await AlertWatch(pool, persona_versions=[persona]).look()


async def test_something_other_than_normal_for_an_hour_is_told_of_once(pool: Pool) -> None:
    insert("local_only", at=timezone.now() - timedelta(minutes=59), lasts=timedelta(hours=4))
    await look(pool)
    assert alerts(AlertKind.PIN_LONG) == []
    select(NORMAL)

    version = insert("local_only", at=timezone.now() - timedelta(minutes=61), lasts=timedelta(hours=4))
    await look(pool)
    await look(pool)
    assert alerts(AlertKind.PIN_LONG) == [("pin_long", f"local_only, since version {version}", 1)]

    in_database(
        lambda: acknowledge(Alert.objects.get(kind=AlertKind.PIN_LONG).pk, by="ines", at=timezone.now())
    )
    await look(pool)
    assert len(alerts(AlertKind.PIN_LONG)) == 1


async def test_extending_does_not_begin_the_hour_anew(pool: Pool) -> None:
    first = insert("local_only", at=timezone.now() - timedelta(minutes=61), lasts=timedelta(hours=4))
    insert("pin_second", at=timezone.now() - timedelta(minutes=1), lasts=timedelta(hours=4))
    await look(pool)
    assert alerts(AlertKind.PIN_LONG) == [("pin_long", f"pin_second, since version {first}", 1)]


async def test_normal_may_last_as_long_as_it_likes(pool: Pool) -> None:
    insert(NORMAL, at=timezone.now() - timedelta(days=9))
    await look(pool)
    assert alerts(AlertKind.PIN_LONG) == []


def test_the_worker_reverts_what_is_over_and_running_twice_does_no_harm() -> None:
    version = insert("local_only", at=timezone.now() - timedelta(hours=2))
    in_database(revert_ended_pins)
    in_database(revert_ended_pins)

    (back,) = rows_since(version)
    assert (back.preset, back.by) == (NORMAL, THE_SERVICE)
    assert alerts(AlertKind.PIN_REVERTED) == [("pin_reverted", f"version {version} (local_only)", 1)]


def test_the_worker_leaves_alone_what_is_not_over() -> None:
    version = insert("local_only")
    in_database(revert_ended_pins)
    assert rows_since(version) == []


# The worker.


@pytest.fixture
def _no_round() -> Iterator[None]:
    in_database(lambda: Round.objects.all().delete())
    yield
    in_database(lambda: Round.objects.all().delete())


@pytest.mark.usefixtures("_no_round")
async def test_a_worker_that_has_not_looked_through_the_alerts_for_two_minutes_is_told_of_until_it_is_back(
    pool: Pool,
) -> None:
    in_database(send_alerts)
    await look(pool)
    assert alerts(AlertKind.WORKER_AWAY) == []

    in_database(lambda: Round.objects.update(at=timezone.now() - timedelta(seconds=121)))
    await look(pool)
    await look(pool)
    assert alerts(AlertKind.WORKER_AWAY) == [("worker_away", "more than two minutes", 1)]
    assert len(shown(AlertKind.WORKER_AWAY)) == 1

    in_database(send_alerts)
    await look(pool)
    assert shown(AlertKind.WORKER_AWAY) == []


# Drills and the character.


@pytest.fixture
def _no_probes() -> None:
    in_database(lambda: LaneProbe.objects.all().delete())


@pytest.mark.usefixtures("_no_probes")
def test_a_lane_that_failed_its_drill_raises_an_alert_and_a_check_raises_none() -> None:
    answers = [
        answer(ok=True),
        answer(ok=False, lane="rehearsal_second"),
        answer(ok=False, how="chain"),
        answer(ok=False, how="check", lane="rehearsal_local"),
    ]
    in_database(lambda: store_answers(answers))

    assert in_database(LaneProbe.objects.count) == 4
    assert alerts(AlertKind.DRILL_FAILED) == [
        ("drill_failed", "Lane rehearsal_second", 1),
        ("drill_failed", "The fallback of preset normal", 1),
    ]


@pytest.mark.usefixtures("_no_probes")
def test_a_fallback_that_failed_is_called_by_the_preset_whose_chain_was_asked() -> None:
    in_database(lambda: store_answers([answer(ok=False, how="chain")], preset="drop_first"))
    assert alerts(AlertKind.DRILL_FAILED) == [("drill_failed", "The fallback of preset drop_first", 1)]


@pytest.mark.usefixtures("_no_probes")
def test_a_drill_that_passes_closes_what_it_proves_wrong_and_nothing_else() -> None:
    in_database(lambda: store_answers([answer(ok=False), answer(ok=False, how="chain")]))
    in_database(lambda: store_answers([answer(ok=False, how="chain")], preset="drop_first"))
    for kind in (AlertKind.MISCONFIGURED, AlertKind.QUOTA, AlertKind.BAD_REQUEST):
        in_database(lambda kind=kind: raise_alert(kind, "rehearsal"))  # type: ignore[misc]
    in_database(lambda: raise_alert(AlertKind.QUOTA, "rehearsal_second"))
    in_database(lambda: raise_alert(AlertKind.DRILL_OVERDUE, "the fallback drill"))

    in_database(lambda: store_answers([answer(ok=True), answer(ok=True, how="chain")]))
    assert shown(AlertKind.MISCONFIGURED) == shown(AlertKind.DRILL_OVERDUE) == []
    assert len(shown(AlertKind.BAD_REQUEST)) == 1
    assert [one.says for one in shown(AlertKind.DRILL_FAILED)] == [
        "The fallback of preset drop_first failed its drill and is not trusted."
    ]
    assert ["rehearsal_second" in one.says for one in shown(AlertKind.QUOTA)] == [True]
    closed = in_database(lambda: Alert.objects.filter(kind=AlertKind.MISCONFIGURED).get())
    assert closed.acknowledged_by == CLOSED_BY_SERVICE


@pytest.mark.usefixtures("_no_probes")
def test_what_came_while_the_lane_was_being_asked_stays_open() -> None:
    asked_at = timezone.now() - timedelta(seconds=5)
    in_database(lambda: raise_alert(AlertKind.QUOTA, "rehearsal"))
    in_database(lambda: store_answers([answer(ok=True, at=asked_at)]))
    assert len(shown(AlertKind.QUOTA)) == 1


async def test_a_chain_that_is_no_longer_in_force_is_no_longer_told_of(pool: Pool) -> None:
    insert("local_only", at=timezone.now() - timedelta(minutes=61), lasts=timedelta(hours=4))
    await look(pool)
    in_database(close_alerts)
    assert len(shown(AlertKind.PIN_LONG)) == 1
    select(NORMAL)
    in_database(close_alerts)
    assert shown(AlertKind.PIN_LONG) == []


@pytest.mark.usefixtures("_no_probes")
async def test_a_drill_that_did_not_take_place_for_a_day_is_told_of(pool: Pool) -> None:
    in_database(lambda: store_answers([answer(ok=True, at=timezone.now() - timedelta(hours=23))]))
    await look(pool)
    assert alerts(AlertKind.DRILL_OVERDUE) == []

    in_database(lambda: LaneProbe.objects.update(at=timezone.now() - timedelta(hours=25)))
    await look(pool)
    assert alerts(AlertKind.DRILL_OVERDUE) == [("drill_overdue", "the fallback drill", 1)]
    in_database(
        lambda: acknowledge(Alert.objects.get(kind=AlertKind.DRILL_OVERDUE).pk, by="ines", at=timezone.now())
    )
    await look(pool)
    assert len(alerts(AlertKind.DRILL_OVERDUE)) == 1


@pytest.mark.usefixtures("_no_probes")
async def test_where_there_was_never_a_drill_the_first_processes_get_an_hour(pool: Pool) -> None:
    await look(pool)
    assert alerts(AlertKind.DRILL_OVERDUE) == []
    old = "00000000-0000-0000-0000-0000000000aa"
    started = timezone.now() - timedelta(hours=2)
    in_database(lambda: Process.objects.create(id=old, host="here", pid=1, started_at=started))
    try:
        await look(pool)
    finally:
        in_database(lambda: Process.objects.filter(id=old).delete())
    assert alerts(AlertKind.DRILL_OVERDUE) == [("drill_overdue", "the fallback drill", 1)]


async def test_a_character_that_is_not_the_one_of_the_last_turn_is_told_of_once(
    pool: Pool, people: People
) -> None:
    rosa = people.rosa
    in_database(lambda: _ended_turn(rosa.conversation, persona="aaaa"))
    await look(pool, persona="aaaa")
    assert alerts(AlertKind.PERSONA_CHANGED) == []

    for _ in range(3):
        await look(pool, persona="bbbb")
    assert alerts(AlertKind.PERSONA_CHANGED) == [("persona_changed", "aaaa to bbbb", 1)]


async def test_a_character_that_is_changed_the_same_way_once_more_is_told_of_once_more(
    pool: Pool, people: People
) -> None:
    rosa = people.rosa
    in_database(lambda: _ended_turn(rosa.conversation, persona="aaaa"))
    await look(pool, persona="bbbb")
    long_ago = timezone.now() - timedelta(days=40)
    (first,) = shown(AlertKind.PERSONA_CHANGED)
    in_database(lambda: acknowledge(first.id, by="ines", at=long_ago))
    in_database(lambda: Alert.objects.filter(id=first.id).update(first_at=long_ago, last_at=long_ago))
    for persona in ("bbbb", "aaaa"):
        in_database(lambda persona=persona: _ended_turn(rosa.conversation, persona=persona))  # type: ignore[misc]

    for _ in range(3):
        await look(pool, persona="bbbb")
    assert alerts(AlertKind.PERSONA_CHANGED) == [("persona_changed", "aaaa to bbbb", 1)] * 2


async def test_an_overdue_drill_raises_an_alert_again_after_a_day_though_the_first_was_not_seen(
    pool: Pool, _no_probes: None
) -> None:
    in_database(lambda: store_answers([answer(ok=True, at=timezone.now() - timedelta(hours=50))]))
    await look(pool)
    in_database(
        lambda: Alert.objects.update(
            last_at=timezone.now() - timedelta(hours=25),
            sent_by=["email"],
            send_at=timezone.now() - timedelta(hours=25),
        )
    )
    await look(pool)
    assert alerts(AlertKind.DRILL_OVERDUE) == [("drill_overdue", "the fallback drill", 2)]
    assert in_database(lambda: Alert.objects.get(kind=AlertKind.DRILL_OVERDUE).sent_by) == []


def _ended_turn(conversation: Conversation, *, persona: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO companion_turn (conversation_id, key, question, state, owner, persona_version,
                                           wait_until, closed_at)
               VALUES (%s, gen_random_uuid(), 'x', 'complete', gen_random_uuid(), %s, now(), now())""",
            [conversation.pk, persona],
        )


@pytest.mark.usefixtures("_no_probes")
def test_the_worker_drills_the_lanes_when_none_was_drilled_and_not_again_for_hours(
    rehearsal: Rehearsal,
) -> None:
    with override_settings(REHEARSAL_URL=rehearsal.url):
        build_routing.cache_clear()
        try:
            in_database(fallback_drill)
            first = in_database(lambda: LaneProbe.objects.filter(how="drill").count())
            in_database(fallback_drill)
        finally:
            build_routing.cache_clear()
    probes = in_database(lambda: list(LaneProbe.objects.filter(how="drill")))
    assert sorted(probe.lane for probe in probes) == sorted(REHEARSAL)
    assert len(probes) == first
    assert all(probe.ok and probe.first_word_ms is not None for probe in probes)
