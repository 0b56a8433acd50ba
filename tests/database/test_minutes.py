"""The last hour is counted once for each minute, and costs the same however many turns are stored."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.utils import timezone

from ops.growth.plans import count_rows_read
from ops.jobs import count_minutes
from ops.minutes import LAST_HOUR, LastHour, aggregate
from ops.models import MinuteFigures
from ops.stack.postgres import EmbeddedPostgres
from ops.status.figures import FIGURES
from ops.status.held_questions import PARAMS, SELECT_HELD
from ops.status.minutes import build_minutes
from tests.people import in_database

# Tables of the same shape that hide the real ones: empty, and for this connection alone.
TABLES = """
CREATE TEMP TABLE companion_turn (LIKE public.companion_turn INCLUDING ALL);
CREATE TEMP TABLE companion_attempt (LIKE public.companion_attempt INCLUDING ALL);
CREATE TEMP TABLE ops_minutefigures (LIKE public.ops_minutefigures INCLUDING ALL)
"""

# A turn waits 10 s, speaks its first word 2 s later, and ends after 10 s more.
TURNS = """
INSERT INTO companion_turn (conversation_id, key, question, state, reason, owner, persona_version, lane, wait_until,
                            created_at, admitted_at, first_word_at, closed_at)
SELECT n, gen_random_uuid(), '?', %(state)s, %(reason)s, %(owner)s, '-', %(lane)s, now(), ends - interval '22 s',
       ends - interval '12 s', ends - interval '10 s', ends
FROM generate_series(1, %(many)s) n, (SELECT now() - make_interval(secs => %(ago_s)s) AS ends) e
RETURNING id
"""

ATTEMPT = """
INSERT INTO companion_attempt (turn_id, number, lane, model, failure, code, waited_s, started_s, took_s,
                               bytes_received, words)
SELECT unnest(%(turns)s::bigint[]), 1, %(lane)s, '-', %(failure)s, '', 0, %(started_s)s, 1, 1, 1
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stored:
    """Turns that ended, in tables of their own."""

    native: psycopg.Connection[tuple[Any, ...]]

    def end(
        self, ago_s: float, *, many: int = 1, state: str = "complete", reason: str = "", lane: str = "one"
    ) -> list[int]:
        facts = {"ago_s": ago_s, "many": many, "state": state, "reason": reason, "lane": lane}
        found = self.native.execute(TURNS, facts | {"owner": uuid.uuid4()}).fetchall()
        return [row[0] for row in found]

    def call(self, turns: list[int], *, lane: str = "one", failure: str = "", started_s: float = 0) -> None:
        facts = {"turns": turns, "lane": lane, "failure": failure, "started_s": started_s}
        self.native.execute(ATTEMPT, facts)

    def hour(self) -> LastHour:
        return aggregate(self.native.execute(LAST_HOUR).fetchall())

    def rows_read(self, query: str = LAST_HOUR, facts: dict[str, Any] | None = None) -> int:
        [(plan,)] = self.native.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}", facts).fetchall()
        return count_rows_read(plan[0]["Plan"], tables={"companion_turn", "companion_attempt"})


@pytest.fixture
def stored(database: EmbeddedPostgres) -> Iterator[Stored]:
    with psycopg.connect(database.url, autocommit=True) as native:
        native.execute(TABLES)
        yield Stored(native=native)


def test_the_figures_are_those_of_the_turns_that_ended_in_the_last_hour(stored: Stored) -> None:
    stored.call(stored.end(50 * 60, many=3))
    stored.end(10 * 60, state="paused", reason="overloaded")
    stored.end(10 * 60, state="paused", reason="lost", many=2)
    stored.call(stored.end(0.5, lane="two"), lane="two", started_s=1.5)
    stored.call(stored.end(90 * 60, lane="long ago"), failure="network")

    first, again = stored.hour(), stored.hour()

    assert first.states == {"complete": 4, "paused": 3}
    assert list(first.reasons.items()) == [("lost", 2), ("overloaded", 1)]
    assert first.attempts == {"one": {"whole": 3}, "two": {"whole": 1}}
    assert {lane: (one.answers, one.p50_ms) for lane, one in first.lanes.items()} == {
        "one": (3, 2000),
        "two": (1, 500),
    }
    assert (first.p50_ms, first.p95_ms) == (2000, 2000)
    assert len(first.minutes) == 60
    assert again == first


def test_a_minute_begins_with_the_level_of_the_one_before_whether_that_one_is_kept_or_not(
    stored: Stored,
) -> None:
    # It waited for 10 s and spoke for 12 s: in whatever second this runs, some of these turns cross into a new minute.
    for ago_s in range(120, 0, -7):
        stored.end(ago_s)

    first, again = stored.hour(), stored.hour()

    assert again == first


def test_a_turn_without_a_word_has_no_time_to_the_first_word(stored: Stored) -> None:
    stored.end(10 * 60, state="paused", reason="lost", many=5)
    stored.native.execute("UPDATE companion_turn SET first_word_at = NULL")
    assert stored.hour().p50_ms is None
    stored.end(0.5)
    assert stored.hour().p50_ms == 2000


def test_a_minute_shows_how_many_spoke_and_waited_at_most(stored: Stored) -> None:
    stored.end(30 * 60, many=4)

    shown = build_minutes(stored.hour().minutes)

    assert max(one.speaking for one in shown) == max(one.waiting for one in shown) == 4
    assert (shown[-1].speaking, shown[-1].waiting) == (0, 0)


def test_a_turn_that_ends_after_its_minutes_were_kept_is_counted(stored: Stored) -> None:
    stored.end(120)
    before = stored.hour()
    stored.end(0.1, state="stopped")
    assert stored.hour().states == {**before.states, "stopped": 1}


def test_a_kept_minute_is_not_computed_again(stored: Stored) -> None:
    stored.call(stored.end(30 * 60, many=20_000))
    stored.end(5 * 3600, many=20_000)
    stored.hour()
    stored.call(stored.end(0.1))
    assert stored.rows_read() <= 2
    assert stored.hour().states == {"complete": 20_001}


def test_turns_before_the_last_hour_are_not_read(stored: Stored) -> None:
    stored.end(5 * 3600, many=20_000)
    assert stored.rows_read() == 0


@pytest.mark.parametrize(
    ("query", "facts"), [(FIGURES, None), (SELECT_HELD, PARAMS)], ids=["figures", "held"]
)
def test_questions_whose_hold_is_over_are_not_read(
    stored: Stored, query: str, facts: dict[str, Any] | None
) -> None:
    stored.end(5 * 3600, many=20_000, state="paused", reason="lost")
    stored.native.execute("UPDATE companion_turn SET held_until = closed_at + interval '2 hours'")
    held = stored.end(60, many=3, state="paused", reason="lost")
    stored.native.execute(
        "UPDATE companion_turn SET held_until = closed_at + interval '2 hours' WHERE id = ANY(%s)", [held]
    )
    assert stored.rows_read(query, facts) <= 2 * len(held)


def test_of_a_busy_minute_a_bounded_number_of_times_is_kept(stored: Stored) -> None:
    stored.end(30 * 60, many=5_000)
    stored.hour()
    [(most,)] = stored.native.execute(
        "SELECT max(jsonb_array_length(figures->'first_words_ms')) FROM ops_minutefigures"
    ).fetchall()
    assert most == 100


def test_the_worker_drops_the_minutes_of_yesterday(database: EmbeddedPostgres) -> None:
    long_ago = timezone.now() - timedelta(days=2)
    in_database(lambda: MinuteFigures.objects.create(at=long_ago, figures={}))
    in_database(count_minutes)
    assert not in_database(lambda: MinuteFigures.objects.filter(at=long_ago).exists())
    assert in_database(lambda: MinuteFigures.objects.count()) >= 58
