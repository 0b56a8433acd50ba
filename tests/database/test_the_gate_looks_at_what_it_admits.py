"""The gate's cost follows the slots that are free, not the number of turns that wait or are stored."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from companion.ledger import MARK_WATCHED
from companion.sweep import LOCK_AWAY, LOCK_LOST, MAX_IN_LINE
from companion.waiting_room import ADMIT, LOCK_GATE
from ops.growth.plans import count_rows_read
from ops.minutes import LAST_HOUR
from ops.stack.postgres import EmbeddedPostgres
from ops.status.figures import FIGURES, MAX_COUNTED

CEILING = 10
LIMITS = {"ceiling": CEILING, "lease_s": 60.0}
STATEMENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "admit": (ADMIT, LIMITS),
    "find_lost": (LOCK_LOST, LIMITS),
    "find_away": (LOCK_AWAY, {"away_s": 60.0}),
    "mark_watched": (MARK_WATCHED, {"conversations": [7], "away_s": 60.0}),
    "figures": (FIGURES, {}),
    "last_hour": (LAST_HOUR, {}),
}
PEOPLE = list(range(1, 51))

# Tables of the same shape that hide the real ones: empty, and for this connection alone.
TABLES = """
CREATE TEMP TABLE companion_turn (LIKE public.companion_turn INCLUDING ALL);
CREATE TEMP TABLE companion_process (LIKE public.companion_process INCLUDING ALL);
CREATE TEMP TABLE companion_ceiling (LIKE public.companion_ceiling INCLUDING ALL)
"""

BEAT = "INSERT INTO companion_process (id, host, pid, draining, sockets) VALUES (%s, 'test', 1, false, 0)"

TURNS = """
INSERT INTO companion_turn (conversation_id, key, question, state, owner, persona_version, lane, lane_takes, wait_until,
                            closed_at)
SELECT (%(people)s::bigint[])[1 + n %% cardinality(%(people)s)], gen_random_uuid(), '?', %(state)s::text, %(owner)s,
       '-', %(lane)s, %(takes)s, now(), CASE WHEN %(state)s::text = 'complete' THEN now() END
FROM generate_series(1, %(many)s) n
RETURNING id
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Queue:
    """A waiting room of its own."""

    native: psycopg.Connection[tuple[Any, ...]]
    owner: uuid.UUID

    def add(
        self,
        many: int,
        state: str = "waiting",
        *,
        lane: str = "any",
        takes: int = 100,
        owner: uuid.UUID | None = None,
        people: list[int] = PEOPLE,
    ) -> list[int]:
        facts = {"state": state, "owner": owner or self.owner, "lane": lane, "takes": takes, "many": many}
        return [row[0] for row in self.native.execute(TURNS, facts | {"people": people}).fetchall()]

    def rows_read(self, name: str, *, locks_gate: bool = True) -> int:
        """How many rows of turns a prepared statement reads when it runs. What it changes is taken back."""
        with self.native.transaction(force_rollback=True):
            if locks_gate:
                self.native.execute(LOCK_GATE)
            [(plan,)] = self.native.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE {name}").fetchall()
        return count_rows_read(plan[0]["Plan"], tables={"companion_turn"})

    def admit(self) -> list[int]:
        with self.native.transaction():
            self.native.execute(LOCK_GATE)
            return sorted(row[0] for row in self.native.execute(ADMIT, LIMITS).fetchall())


@pytest.fixture
def queue(database: EmbeddedPostgres) -> Iterator[Queue]:
    """The statements are planned while it is empty, and their plans kept: as in a process that has just started."""
    queue = Queue(native=psycopg.connect(database.url, autocommit=True), owner=uuid.uuid4())
    with queue.native as native:
        native.execute(TABLES)
        native.execute("SET plan_cache_mode = force_generic_plan")
        cursor = psycopg.ClientCursor(native)
        with native.transaction():
            native.execute(LOCK_GATE)
            for name, (statement, facts) in STATEMENTS.items():
                native.execute(f"PREPARE {name} AS {cursor.mogrify(statement, facts)}")
                native.execute(f"EXECUTE {name}")
        native.execute(BEAT, (queue.owner,))
        yield queue


@pytest.mark.parametrize("statement", ["admit", "find_lost"])
def test_a_hundred_times_as_many_waiting_turns_are_not_read(queue: Queue, statement: str) -> None:
    queue.add(50)
    before = queue.rows_read(statement)
    queue.add(5_000)
    assert queue.rows_read(statement) <= before + 2
    assert before <= 10 * CEILING


@pytest.mark.parametrize("statement", ["find_away", "figures", "last_hour"])
def test_of_a_long_line_a_bounded_front_is_read(queue: Queue, statement: str) -> None:
    queue.native.execute("SET plan_cache_mode = auto")
    queue.add(3_000)
    queue.native.execute("ANALYZE companion_turn")
    before = queue.rows_read(statement, locks_gate=False)
    queue.add(3_000)
    queue.native.execute("ANALYZE companion_turn")
    assert queue.rows_read(statement, locks_gate=False) <= before + CEILING
    assert before <= 2 * max(MAX_IN_LINE, MAX_COUNTED) + CEILING


def test_whether_a_page_waits_is_seen_without_its_history(queue: Queue) -> None:
    queue.add(5_000, "complete", people=[7])
    assert queue.rows_read("mark_watched", locks_gate=False) <= CEILING


def test_a_long_history_is_not_read_whatever_the_planner_knows_of_it(queue: Queue) -> None:
    queue.add(20_000, "complete")
    queue.add(50)
    assert queue.rows_read("admit") <= 10 * CEILING
    queue.native.execute("ANALYZE companion_turn")
    assert queue.rows_read("admit") <= 10 * CEILING


def test_a_full_lane_with_a_long_queue_costs_another_lane_nothing(queue: Queue) -> None:
    queue.add(5_000, lane="small", takes=0, people=PEOPLE[:40])
    roomy = queue.add(10, lane="roomy", people=PEOPLE[40:])
    assert queue.rows_read("admit") <= 10 * CEILING
    assert queue.admit() == roomy


def test_the_front_of_every_queue_is_admitted_in_order_of_arrival(queue: Queue) -> None:
    asked = []
    for person, (lane, takes) in enumerate(
        (("a", 100), ("b", 2), ("a", 100), ("b", 2), ("b", 2), ("c", 100)) * 3
    ):
        asked += [(lane, turn) for turn in queue.add(1, lane=lane, takes=takes, people=[person])]
    on_b = [turn for lane, turn in asked if lane == "b"][:2]
    elsewhere = [turn for lane, turn in asked if lane != "b"]
    assert queue.admit() == sorted(on_b + elsewhere)[:CEILING]
    assert queue.admit() == []


def test_a_turn_behind_those_of_a_process_that_drains_is_admitted(queue: Queue) -> None:
    queue.add(50)
    queue.native.execute("UPDATE companion_process SET draining = true")
    alive = uuid.uuid4()
    queue.native.execute(BEAT, (alive,))
    assert queue.admit() == []
    last = queue.add(1, owner=alive, people=[99])
    assert queue.admit() == last


def test_the_turns_of_a_process_without_a_heartbeat_are_found_among_thousands(queue: Queue) -> None:
    queue.add(5_000)
    lost = queue.add(3, owner=uuid.uuid4())
    with queue.native.transaction():
        queue.native.execute(LOCK_GATE)
        found = queue.native.execute(LOCK_LOST, LIMITS).fetchall()
    assert [row[0] for row in found] == lost
