"""Visits end by one compare-and-set with a reason, lock without a sign of life, and come back (A2)."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.db import connection
from django.db.models import F
from django.utils import timezone
from psycopg_pool import AsyncConnectionPool

from companion import drafts
from companion.access import VisitAccess
from companion.models import Draft, Needs, Visit
from companion.notifications import CHANNEL, VisitsEnded, VisitsLocked, parse_notification
from companion.visits import idle
from companion.visits.ends import EndReason, end_visits, end_visits_async
from companion.visits.idle import COME_BACK_WITHIN_S, LAG_S, MAX_SWEPT, IdleLocks
from ops.stack.postgres import EmbeddedPostgres
from tests.people import People, Person, in_database

MINUTE = timedelta(minutes=1)
PAYLOAD_LIMIT_BYTES = 8_000


def open_visit(person: Person, **fields: Any) -> UUID:
    fields = {"expires_at": timezone.now() + timedelta(hours=8), **fields}
    return in_database(lambda: Visit.objects.create(participant=person.row, **fields)).pk


def read(visit: UUID) -> Visit:
    return in_database(lambda: Visit.objects.get(pk=visit))


def note_active(visit: UUID) -> Visit:
    def note() -> None:
        with connection.cursor() as cursor:
            cursor.execute(idle.NOTE_ACTIVE, {"visits": [visit]})

    in_database(note)
    return read(visit)


@asynccontextmanager
async def hearing(database: EmbeddedPostgres) -> AsyncIterator[list[str]]:
    """The payloads of the notifications that are sent meanwhile."""
    heard: list[str] = []
    async with await psycopg.AsyncConnection.connect(database.url, autocommit=True) as listener:
        await listener.execute(f"LISTEN {CHANNEL}")
        yield heard
        await listener.execute("SELECT pg_notify(%s, 'last')", (CHANNEL,))
        async for notify in listener.notifies(timeout=10):
            if notify.payload == "last":
                break
            heard.append(notify.payload)


async def test_of_many_who_end_a_visit_at_once_one_does_and_its_reason_stays(
    pool: AsyncConnectionPool[Any], database: EmbeddedPostgres, people: People
) -> None:
    await pool.open()
    visit = open_visit(people.rosa)

    async def end(reason: EndReason) -> list[UUID]:
        async with pool.connection() as native, native.cursor() as cursor:
            return await end_visits_async(cursor, [visit], reason)

    async with hearing(database) as heard:
        ended = dict(
            zip(EndReason, await asyncio.gather(*(end(reason) for reason in EndReason)), strict=True)
        )

    [winner] = [reason for reason, visits in ended.items() if visits == [visit]]
    assert read(visit).end_reason == winner
    told = [parse_notification(payload) for payload in heard]
    assert [one for one in told if isinstance(one, VisitsEnded) and visit in one.visits] == [
        VisitsEnded(visits=(visit,), reason=winner)
    ]


async def test_many_visits_that_end_together_are_told_in_payloads_that_postgres_takes(
    database: EmbeddedPostgres, people: People
) -> None:
    rosa = people.rosa
    expires_at = timezone.now() + timedelta(hours=8)
    rows = [Visit(participant=rosa.row, expires_at=expires_at) for _ in range(250)]
    in_database(lambda: Visit.objects.bulk_create(rows))

    def end() -> list[UUID]:
        with connection.cursor() as cursor:
            return end_visits(cursor, [row.pk for row in rows], EndReason.WITHDRAWN)

    async with hearing(database) as heard:
        ended = in_database(end)

    mine = [payload for payload in heard if json.loads(payload).get("reason") == EndReason.WITHDRAWN]
    assert all(len(payload.encode()) < PAYLOAD_LIMIT_BYTES for payload in mine)
    told = [visit for payload in mine for visit in json.loads(payload)["visits"]]
    assert sorted(told) == sorted(str(row.pk) for row in rows) == sorted(map(str, ended))


async def test_the_sweep_ends_a_visit_past_its_age_as_of_that_moment(
    pool: AsyncConnectionPool[Any], people: People
) -> None:
    await pool.open()
    at = timezone.now() - timedelta(days=30)
    old = open_visit(people.rosa, opened_at=at - timedelta(hours=8), expires_at=at)

    await IdleLocks(pool).sweep()

    ended = read(old)
    # Retention counts from the end, so an end that is found late must not be dated today.
    assert (ended.end_reason, ended.ended_at) == ("expired", at)


async def test_the_sweep_locks_without_a_page_and_ends_what_stays_locked(
    pool: AsyncConnectionPool[Any], database: EmbeddedPostgres, people: People
) -> None:
    await pool.open()
    rosa, locks, access = people.rosa, IdleLocks(pool), VisitAccess(pool)
    talking = note_active(open_visit(rosa)).pk
    earlier_release = open_visit(rosa)
    # Heard from before the visit is there: a web process of another test may sweep it first.
    async with hearing(database) as heard:
        quiet = open_visit(rosa, locks_at=timezone.now() - timedelta(seconds=1))
        # Readers refuse it before the sweep has come round.
        assert await access.find_over([quiet, talking, earlier_release]) == {quiet: "idle"}
        await locks.sweep()

    told = [one for payload in heard if isinstance(one := parse_notification(payload), VisitsLocked)]
    assert quiet in {visit for one in told for visit in one.locked}
    assert [read(visit).locked_at is not None for visit in (quiet, talking, earlier_release)] == [
        True,
        False,
        False,
    ]
    assert await access.find_over([quiet]) == {quiet: "idle"}
    in_database(
        lambda: Visit.objects.filter(pk=quiet).update(
            locked_at=F("locked_at") - timedelta(seconds=COME_BACK_WITHIN_S)
        )
    )
    await locks.sweep()
    assert read(quiet).end_reason == "idle"


async def test_a_sweep_takes_a_bounded_number_of_visits(
    pool: AsyncConnectionPool[Any], people: People
) -> None:
    await pool.open()
    rosa, past = people.rosa, timezone.now() - timedelta(days=1)
    rows = [Visit(participant=rosa.row, expires_at=past) for _ in range(MAX_SWEPT + 1)]
    in_database(lambda: Visit.objects.bulk_create(rows))

    await IdleLocks(pool).sweep()
    await IdleLocks(pool).sweep()

    assert in_database(lambda: Visit.objects.filter(participant=rosa.row, ended_at=None).count()) == 0


@pytest.mark.parametrize(("factor", "seconds"), [(None, 600), (1, 600), (10, 6_000)])
async def test_a_sign_of_life_moves_the_lock_by_the_time_of_the_site_and_the_factor_of_the_person(
    people: People, factor: int | None, seconds: int
) -> None:
    rosa = people.rosa
    if factor is not None:
        in_database(
            lambda: Needs.objects.create(participant=rosa.row, idle_factor=factor, review_by="2099-01-01")
        )

    visit = note_active(open_visit(rosa))

    # The statement reads the clock for each of the two, so they may differ by a moment.
    due = visit.active_at + timedelta(seconds=seconds + LAG_S)
    assert visit.locks_at is not None
    assert abs(visit.locks_at - due) < timedelta(seconds=1)


async def test_no_sign_of_life_wakes_a_visit_that_is_locked_or_over(people: People) -> None:
    rosa = people.rosa
    past = timezone.now() - MINUTE
    locked = open_visit(rosa, locks_at=past, locked_at=past)
    limit_passed = open_visit(rosa, locks_at=past)
    ended = open_visit(rosa, ended_at=past, end_reason="staff")

    assert [note_active(visit).active_at > past + MINUTE / 2 for visit in (locked, limit_passed, ended)] == [
        read(visit).active_at > past + MINUTE / 2 for visit in (locked, limit_passed, ended)
    ]
    assert [note_active(visit).locks_at for visit in (locked, limit_passed, ended)] == [past, past, None]


@pytest.mark.parametrize("leap", [timedelta(hours=1), -timedelta(hours=1)], ids=["forward", "back"])
async def test_a_leap_of_the_databases_clock_never_leaves_a_page_readable_for_longer_than_the_rule(
    pool: AsyncConnectionPool[Any], people: People, leap: timedelta
) -> None:
    await pool.open()
    visit = note_active(open_visit(people.rosa)).pk
    # A clock that is set forward finds every stored time earlier, and one that is set back finds it later.
    in_database(
        lambda: Visit.objects.filter(pk=visit).update(
            locks_at=F("locks_at") - leap, active_at=F("active_at") - leap
        )
    )

    await IdleLocks(pool).sweep()

    over = await VisitAccess(pool).find_over([visit])
    if leap > timedelta(0):
        assert over == {visit: "idle"}
    else:
        # The page is told of no more than its whole time, and locks by itself.
        assert over == {} and in_database(lambda: left_s(visit)) == 600


def left_s(visit: UUID) -> float:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {idle.IDLE_LEFT_S} FROM companion_visit v "
            "JOIN companion_participant p ON p.id = v.participant_id JOIN companion_site s ON s.id = p.site_id "
            "WHERE v.id = %s",
            [visit],
        )
        row = cursor.fetchone()
    return float(row[0])


@pytest.mark.parametrize(
    ("reason", "ago_s", "kept"),
    [
        ("", 0, True),
        ("idle", 0, True),
        ("expired", 30, True),
        ("moved", 30, True),
        ("staff", 30, True),
        ("staff", 90, False),
        ("finished", 0, False),
        ("quick_exit", 0, False),
        ("withdrawn", 0, False),
    ],
)
async def test_the_last_words_of_a_page_are_kept_after_an_end_that_their_writer_did_not_ask_for(
    people: People, reason: str, ago_s: int, kept: bool
) -> None:
    rosa = people.rosa
    at = timezone.now() - timedelta(seconds=ago_s)
    visit = open_visit(rosa, ended_at=at if reason else None, end_reason=reason)

    assert in_database(lambda: drafts.save(visit, conversation=rosa.conversation.pk, text="A")) is kept


async def test_a_locked_visit_keeps_four_thousand_characters_and_offers_them_to_itself_on_coming_back(
    people: People,
) -> None:
    rosa, otto, words = people.rosa, people.otto, "\N{OPEN BOOK}" * 4_000
    past = timezone.now() - MINUTE
    visit = open_visit(rosa, locks_at=past, locked_at=past)
    assert in_database(lambda: drafts.save(visit, conversation=rosa.conversation.pk, text=words))
    twenty_hours_ago = timezone.now() - timedelta(hours=20)
    in_database(
        lambda: Draft.objects.filter(conversation=rosa.conversation).update(saved_at=twenty_hours_ago)
    )
    in_database(drafts.delete_old)
    assert in_database(lambda: drafts.find_earlier(rosa.conversation.pk, visit)) == ""

    def come_back() -> None:
        with connection.cursor() as cursor:
            cursor.execute(idle.UNLOCK, {"visit": visit})

    in_database(come_back)

    unlocked = read(visit)
    assert unlocked.locked_at is None and unlocked.locks_at is not None
    assert unlocked.locks_at > timezone.now()
    assert in_database(lambda: drafts.find_earlier(rosa.conversation.pk, visit)) == words
    assert in_database(lambda: drafts.find_earlier(otto.conversation.pk, open_visit(otto))) == ""
