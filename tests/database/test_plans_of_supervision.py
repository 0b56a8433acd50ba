"""The statements of supervision read few of hundreds of thousands of rows, whatever the planner knew at first."""

import uuid
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from companion.history import query_parameters
from companion.history_queries import READ_LATEST
from companion.prompt_inputs import DIALOGUE_TURNS, MAX_TURNS_READ, READ_INPUTS
from companion.supervision import control, entries, flags, safety_turns
from companion.supervision.causes import FlagCause
from companion.supervision.states import FlagSource, FlagTier
from companion.turn_open import INSERT_TURNS
from companion.waiting_room import LOCK_GATE
from ops.project.wiring import build_turn_policy
from ops.stack.postgres import EmbeddedPostgres

TABLES = (
    "companion_site",
    "companion_participant",
    "companion_visit",
    "companion_conversation",
    "companion_control",
    "companion_turn",
    "companion_replychunk",
    "companion_process",
    "companion_staffpause",
    "companion_flag",
    "companion_flagstep",
    "companion_transcriptentry",
)
MANY = 200_000
PEOPLE = 1_000
MAX_ROWS_READ = 1_500
"""Rows that one statement may read: a page has 50 turns, a prompt looks back at 120 of them twice."""

FILL = f"""
INSERT INTO companion_site (id, slug, name, is_open, regions, first_ring_s) OVERRIDING SYSTEM VALUE
VALUES (1, 'house', 'House', true, '{{}}', 60);
INSERT INTO companion_participant (id, site_id, name, is_active, card_handle, card_issue) OVERRIDING SYSTEM VALUE
SELECT n, 1, 'P', true, n::text, 1 FROM generate_series(1, {PEOPLE}) n;
INSERT INTO companion_visit (id, participant_id, expires_at)
SELECT ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid, n, '2099-01-01'
FROM generate_series(1, {PEOPLE}) n;
INSERT INTO companion_conversation (id, participant_id) OVERRIDING SYSTEM VALUE
SELECT n, n FROM generate_series(1, {PEOPLE}) n;
INSERT INTO companion_control (conversation_id, take_overs) SELECT n, 1 FROM generate_series(1, {PEOPLE}) n;
INSERT INTO companion_turn (conversation_id, key, question, state, owner, persona_version, wait_until, created_at,
                            closed_at)
SELECT 1 + n % {PEOPLE}, gen_random_uuid(), '?', 'complete', gen_random_uuid(), '-', now(), now() - interval '1 day',
       now() - interval '1 day'
FROM generate_series(1, {MANY}) n;
INSERT INTO companion_transcriptentry (conversation_id, kind, text, name, after_turn)
SELECT 1 + n % {PEOPLE}, 'said', 'Hello.', 'Sam', n FROM generate_series(1, {MANY}) n;
INSERT INTO companion_flag (tier, kind, source, conversation_id, participant, site_id, state, outcome, owner,
                            accepted_at, closed_at)
SELECT 'red', 'help', 'button', 1 + n % {PEOPLE}, 1 + n % {PEOPLE}, 1, 'closed', 'unsure', 1, now(), now()
FROM generate_series(1, {MANY}) n;
INSERT INTO companion_staffpause (scope, about, reason, by_name, ended_at)
SELECT 'person', 1 + n % {PEOPLE}, 'a test', 'Sam', now() FROM generate_series(1, {MANY // 10}) n;
"""

POLICY = build_turn_policy()
VISIT = "00000000-0000-0000-0000-000000000007"
OPEN_FACTS: dict[str, Any] = {
    "visits": [uuid.UUID(VISIT)],
    "keys": [uuid.uuid4()],
    "questions": ["?"],
    "lanes": ["any"],
    "takes": [5],
    "regions": [""],
    "any": 5,
    "preset_ceiling": None,
    "preset": "normal",
    "version": 0,
    "owner": uuid.uuid4(),
    "persona": "-",
    "wait_s": 5.0,
    "ceiling": 5,
    "live_turns_per_person": 3,
    "messages_per_minute": 20,
    "unanswered_per_minute": 60,
    "hold_s": 60.0,
    "held_quiet": "quiet",
    "staff_pause_person": "paused",
    "staff_pause_site": "paused",
}
CAUSE = FlagCause(conversation=7, tier=FlagTier.RED, kind="help", source=FlagSource.BUTTON)
ONE: dict[str, Any] = {"conversation": 7}
STATEMENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "open turns": (INSERT_TURNS, OPEN_FACTS),
    "find the writer": (
        safety_turns.FIND_WRITER,
        {"visit": uuid.UUID(VISIT), "key": uuid.uuid4(), "per_minute": 60},
    ),
    "lock live turns": (control.LOCK_LIVE, ONE),
    "read live turns": (control.READ_LIVE, ONE),
    "become quiet": (control.CLAIM_QUIET, ONE | {"quiet_s": None}),
    "take over": (control.TAKE_OVER, ONE | {"staff": 1, "name": "Sam", "sites": [1]}),
    "release": (control.RELEASE, ONE | {"sites": [1]}),
    "renew leases": (control.RENEW_LEASES, {"conversations": [7, 8], "staff": 1}),
    "lose leases": (control.LOSE_LEASES, {"lease_s": 20.0}),
    "end quiet spells": (control.END_QUIET, {}),
    "read who may speak": (control.READ_CONTROL, {"conversations": [7, 8]}),
    "raise a flag": (flags.RAISE_FLAG, flags.flag_parameters(CAUSE)),
    "insert an entry": (
        entries.INSERT_ENTRY,
        ONE
        | {
            "kind": "said",
            "key": uuid.uuid4(),
            "person": 1,
            "name": "Sam",
            "text": "Hello.",
            "version": "",
            "flag": None,
            "decide_s": 0.0,
        },
    ),
    "find a recent line": (entries.FIND_RECENT, ONE | {"kind": "help", "within_s": 5.0}),
    "read new entries": (entries.READ_ENTRIES, {"conversations": [7, 8], "after": [MANY - 2_000, MANY]}),
    "read a page's entries": (
        entries.READ_PAGE_ENTRIES,
        {"conversations": [7], "first": [MANY - 10_000], "before": [MANY]},
    ),
    "read the last turns": (
        READ_LATEST,
        {"conversations": [7], "limit": 51, **query_parameters(POLICY)},
    ),
    "read prompt inputs": (
        READ_INPUTS,
        {"turns": [MANY - 994], "limit": DIALOGUE_TURNS, "looks_back": MAX_TURNS_READ},
    ),
}


@pytest.fixture(scope="module")
def native(database: EmbeddedPostgres) -> Iterator[psycopg.Connection[Any]]:
    """Tables of the same shape that hide the real ones. The statements are planned while they are empty."""
    with psycopg.connect(database.url, autocommit=True) as native:
        for table in TABLES:
            native.execute(f"CREATE TEMP TABLE {table} (LIKE public.{table} INCLUDING ALL)")
        native.execute("SET plan_cache_mode = force_generic_plan")
        cursor = psycopg.ClientCursor(native)
        with native.transaction():
            native.execute(LOCK_GATE)
            for number, (statement, facts) in enumerate(STATEMENTS.values()):
                native.execute(f"PREPARE statement_{number} AS {cursor.mogrify(statement, facts)}")
                with native.transaction(force_rollback=True):
                    native.execute(f"EXECUTE statement_{number}")
        for statement in FILL.split(";\n"):
            if statement.strip():
                native.execute(statement)
        yield native


@pytest.mark.parametrize("is_analyzed", [False, True], ids=["as planned while empty", "with statistics"])
@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_reads_few_rows_of_a_long_history(
    native: psycopg.Connection[Any], name: str, is_analyzed: bool
) -> None:
    if is_analyzed:
        native.execute("ANALYZE")
    number = list(STATEMENTS).index(name)
    with native.transaction(force_rollback=True):
        native.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE statement_{number}")
        [(plan,)] = native.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE statement_{number}").fetchall()
    assert count_rows_read(plan[0]["Plan"]) <= MAX_ROWS_READ


def count_rows_read(node: dict[str, Any]) -> int:
    below: int = sum(count_rows_read(child) for child in node.get("Plans", ()))
    if "Relation Name" not in node or "Scan" not in node["Node Type"]:
        return below
    read = (
        node["Actual Rows"]
        + node.get("Rows Removed by Filter", 0)
        + node.get("Rows Removed by Index Recheck", 0)
    )
    return below + int(read * node["Actual Loops"])
