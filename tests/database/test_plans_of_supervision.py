"""The statements of supervision read few of all stored rows, whatever the planner knew at first (S2, S4, S5).

With `--long` there are a million turns, entries, flags, steps, visits, rings and entries of the audit record.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from companion import access
from companion.history import query_parameters
from companion.history_queries import READ_LATEST
from companion.kept_questions import LOCK_KEPT
from companion.machines import offers, screens
from companion.prompt_inputs import DIALOGUE_TURNS, MAX_TURNS_READ, READ_INPUTS
from companion.supervision import (
    acts,
    control,
    disclosure,
    entries,
    flag_changes,
    flag_views,
    flags,
    pauses,
    quiet,
    safety_turns,
    seizure,
    take_overs,
)
from companion.supervision.causes import FlagCause
from companion.supervision.states import FlagSource, FlagTier
from companion.turn_open import INSERT_TURNS
from companion.visits import ends, leaving
from companion.waiting_room import LOCK_GATE
from ops.access import SELECT_ACCESS, access_params
from ops.alerts.kinds import AlertKind
from ops.alerts.statements import CLOSED_BY_SERVICE
from ops.growth.plans import MAX_ROWS_READ, count_rows_read
from ops.personal_data import batches, retention, turn_deletion
from ops.project.wiring.turns import build_turn_policy
from ops.stack.postgres import EmbeddedPostgres
from ops.supervision import escalation, figures, machines, reasons, ringing, search
from ops.supervision.people import READ_PEOPLE, people_parameters
from ops.supervision.record import INSERT_ENTRY as INSERT_RECORD
from ops.supervision.record_search import FIRST_ID, LAST_ID, IdBounds, RecordQuery, write_search

TABLES = (
    "companion_site",
    "companion_participant",
    "companion_visit",
    "companion_machine",
    "companion_visitoffer",
    "companion_conversation",
    "companion_control",
    "companion_turn",
    "companion_replychunk",
    "companion_process",
    "companion_staffpause",
    "companion_flag",
    "companion_flagstep",
    "companion_transcriptentry",
    "companion_draft",
    "companion_disclosurecount",
    "companion_attempt",
    "auth_user",
    "ops_auditentry",
    "ops_flagring",
    "ops_statedreason",
    "ops_supervision",
    "ops_groupsupervision",
    "ops_groupedsite",
    "ops_alert",
)
SOME, A_MILLION = 40_000, 1_000_000
PEOPLE = 100

FILL = """
INSERT INTO companion_site (id, slug, name, is_open, regions, first_ring_s) OVERRIDING SYSTEM VALUE
VALUES (1, 'house', 'House', true, '{}', 60);
INSERT INTO companion_participant (id, site_id, name, is_active, card_handle, card_issue) OVERRIDING SYSTEM VALUE
SELECT n, 1, 'P', true, n::text, 1 FROM generate_series(1, :people) n;
INSERT INTO auth_user (id, username, first_name, last_name, email, password, is_active, is_staff, is_superuser,
                       date_joined) OVERRIDING SYSTEM VALUE
SELECT n, 'staff ' || n, 'S', '', 's@example.org', '!', true, true, false, now() FROM generate_series(1, 1000) n;
INSERT INTO ops_supervision (user_id, site_id) SELECT n, 1 + n % 500 FROM generate_series(1, 1000) n;
INSERT INTO ops_groupedsite (group_id, site_id) SELECT 1 + n % 50, n FROM generate_series(1, 500) n;
INSERT INTO ops_groupsupervision (user_id, group_id) SELECT n, 1 + n % 50 FROM generate_series(1, 1000) n;
INSERT INTO companion_visit (id, participant_id, expires_at)
SELECT ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid, n, '2099-01-01'
FROM generate_series(1, :people) n;
INSERT INTO companion_machine (id, site_id, name, paired_by, token_hash, seen_at)
SELECT ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid, 1, 'Machine ' || n, 'Sam', 'x', now()
FROM generate_series(1, 20) n;
INSERT INTO companion_visitoffer (machine_id, participant_id, by, by_name, offered_at, expires_at, answered_at, answer)
SELECT ('00000000-0000-0000-0000-' || lpad((1 + n % 20)::text, 12, '0'))::uuid, 1 + n % :people, 1, 'Sam',
       :at, :at, :at, 'yes'
FROM generate_series(1, :many) n;
INSERT INTO companion_visit (id, participant_id, opened_at, expires_at, ended_at, machine_id)
SELECT gen_random_uuid(), 1 + n % :people, :at, :at, CASE WHEN n % 2 = 0 THEN :at END,
       CASE WHEN n % 2 = 0 THEN ('00000000-0000-0000-0000-' || lpad((1 + n % 20)::text, 12, '0'))::uuid END
FROM generate_series(1, :many) n;
INSERT INTO companion_conversation (id, participant_id) OVERRIDING SYSTEM VALUE
SELECT n, n FROM generate_series(1, :people) n;
INSERT INTO companion_control (conversation_id, take_overs) SELECT n, 1 FROM generate_series(1, :people) n;
INSERT INTO companion_turn (conversation_id, key, question, state, owner, persona_version, wait_until, created_at,
                            closed_at)
SELECT 1 + n % :people, gen_random_uuid(), '?', 'complete', gen_random_uuid(), '-', now(), :at, :at
FROM generate_series(1, :many) n;
INSERT INTO companion_transcriptentry (conversation_id, kind, text, name, after_turn, at)
SELECT 1 + n % :people, 'said', 'Hello.', 'Sam', n, :at FROM generate_series(1, :many) n;
INSERT INTO companion_flag (tier, kind, source, conversation_id, participant, site_id, state, outcome, owner,
                            opened_at, accepted_at, closed_at)
SELECT 'red', 'help', 'button', 1 + n % :people, 1 + n % :people, 1, 'closed', 'unsure', 1, :at, :at, :at
FROM generate_series(1, :many) n;
INSERT INTO companion_flag (tier, kind, source, conversation_id, participant, site_id, opened_at, next_stage_at)
SELECT 'red', 'open', 'button', n, n, 1, now(), now() FROM generate_series(1, 20) n;
INSERT INTO companion_flagstep (flag_id, what, at) SELECT 1 + n / 4, 'opened', :at FROM generate_series(1, :many) n;
INSERT INTO companion_staffpause (scope, about, reason, by_name, ended_at)
SELECT 'person', 1 + n % :people, 'a test', 'Sam', now() FROM generate_series(1, :many / 10) n;
INSERT INTO ops_flagring (flag, stage, at, send_at, done_at)
SELECT n, 1, now(), now(), now() FROM generate_series(1, :many) n;
INSERT INTO ops_statedreason (staff, name, conversation, participant, site_id, reason, at, until)
SELECT 1, 'Ines', 1 + n % :people, 1 + n % :people, 1, 'a test', :at, :at FROM generate_series(1, :many / 10) n;
INSERT INTO ops_auditentry (who, what, about, at)
SELECT 'sam', 'read_along', 1 + n % :people, :at FROM generate_series(1, :many) n
"""
"""`:at` is a moment that rises with the row, and lies ten weeks back or more. Each of the staff may be read once."""

POLICY = build_turn_policy()
LATELY, LONG_AGO = datetime.now(UTC) - timedelta(days=1), datetime(2001, 1, 1, tzinfo=UTC)
SEARCHES: dict[str, tuple[RecordQuery, IdBounds]] = {
    "of the house": (RecordQuery(sites=frozenset({1})), (None, None)),
    "of the house by a name that has done nothing": (
        RecordQuery(sites=frozenset({1}), who="tom"),
        (None, None),
    ),
    "of the house of what has not happened": (
        RecordQuery(sites=frozenset({1}), what="ended_visit"),
        (None, None),
    ),
    "of one person until a moment long ago": (RecordQuery(people=(7,), until=LONG_AGO), (None, 2)),
    "until a moment long ago": (RecordQuery(until=LONG_AGO), (None, 2)),
    "since a moment": (RecordQuery(since=LATELY), (A_MILLION, None)),
    "by a name": (RecordQuery(who="sam"), (None, None)),
    "by a name that has done nothing": (RecordQuery(who="tom"), (None, None)),
    "by a name of what has not happened": (RecordQuery(who="sam", what="ended_visit"), (None, None)),
}
AT_MOST = {"at_most": batches.ROWS_AT_ONCE, "before": LONG_AGO}
OF_PERSON = {"participant": 7, "conversation": 7, **AT_MOST}
VISIT = "00000000-0000-0000-0000-000000000007"
MACHINE = "00000000-0000-0000-0000-000000000007"
OPEN_FACTS: dict[str, Any] = {
    "visits": [uuid.UUID(VISIT)],
    "keys": [uuid.uuid4()],
    "questions": ["?"],
    "farewells": [False],
    "lanes": ["any"],
    "takes": [5],
    "regions": [""],
    "any": 5,
    "preset_ceiling": None,
    "preset": "normal",
    "version": 0,
    "owner": uuid.uuid4(),
    "persona": '{"": "-"}',
    "wait_s": 5.0,
    "ceiling": 5,
    "live_turns_per_person": 3,
    "messages_per_minute": 20,
    "unanswered_per_minute": 60,
    "hold_s": 60.0,
    "held_quiet": '{"": "quiet"}',
    "staff_pause_person": '{"": "paused"}',
    "staff_pause_site": '{"": "paused"}',
    "goodbye": '{"": "goodbye"}',
}
CAUSE = FlagCause(conversation=7, tier=FlagTier.RED, kind="help", source=FlagSource.BUTTON)
ONE: dict[str, Any] = {"conversation": 7}
STATEMENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "open turns": (INSERT_TURNS, OPEN_FACTS),
    "find the writer": (
        safety_turns.FIND_WRITER,
        {"visit": uuid.UUID(VISIT), "key": uuid.uuid4(), "per_minute": 60},
    ),
    "lock live turns": (seizure.LOCK_LIVE, ONE),
    "read live turns": (seizure.READ_LIVE, ONE),
    "become quiet": (quiet.CLAIM_QUIET, ONE | {"quiet_s": None}),
    "take over": (take_overs.TAKE_OVER, ONE | {"staff": 1, "name": "Sam", "sites": [1]}),
    "release": (quiet.RELEASE, ONE | {"sites": [1]}),
    "renew leases": (take_overs.RENEW_LEASES, {"conversations": [7, 8], "staff": 1}),
    "lose leases": (take_overs.LOSE_LEASES, {"lease_s": 20.0}),
    "end quiet spells": (quiet.END_QUIET, {}),
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
    "read new entries": (entries.READ_ENTRIES, {"conversations": [7, 8], "after": [SOME - 2_000, SOME]}),
    "read a page's entries": (
        entries.READ_PAGE_ENTRIES,
        {"conversations": [7], "first": [SOME - 5_000], "before": [SOME]},
    ),
    "read the last turns": (
        READ_LATEST,
        {"conversations": [7], "limit": 51, **query_parameters(POLICY)},
    ),
    "read prompt inputs": (
        READ_INPUTS,
        {"turns": [SOME - 94], "limit": DIALOGUE_TURNS, "looks_back": MAX_TURNS_READ},
    ),
    "disclose": (
        disclosure.INSERT_DISCLOSURES,
        {"turns": [SOME], "asks": [False], "line": '{"": "-"}', "asked_line": '{"": "-"}'},
    ),
    "list flags that are not closed": (flag_views.LIST_NOT_CLOSED, {"sites": [1], "limit": 200}),
    "list the last flags": (flag_views.READ_LAST, {"sites": [1], "limit": 200}),
    "read flags": (flag_views.READ_FLAGS, {"flags": [7, 8], "sites": [1]}),
    "read flags of a conversation": (flag_views.READ_OF_CONVERSATION, ONE | {"sites": [1], "limit": 20}),
    "read steps": (flag_views.READ_STEPS, {"flags": [7, 8], "limit": 100}),
    "accept a flag": (flag_changes.ACCEPT, {"flag": 7, "sites": [1], "user": 1, "name": "Sam"}),
    "close a flag": (
        flag_changes.CLOSE,
        {"flag": 7, "sites": [1], "user": 1, "name": "Sam", "outcome": "unsure"},
    ),
    "escalate": (escalation.ESCALATE, {}),
    "raise alerts of unseen flags": (
        escalation.RAISE_UNSEEN,
        {
            "kind": AlertKind.FLAG_UNSEEN.value,
            "closed_by_service": CLOSED_BY_SERVICE,
            "resend_after": AlertKind.FLAG_UNSEEN.resend_after,
        },
    ),
    "read what staff may see": (SELECT_ACCESS, access_params([7, 8])),
    "list the addresses of a site": (
        ringing.LIST_ADDRESSES.replace("%s", "%(site)s", 1).replace("%s", "%(limit)s"),
        {"site": 1, "limit": 100},
    ),
    "claim rings": (ringing.CLAIM, {"has_on_call": True}),
    "delete old rings": (ringing.DELETE_OLD, {}),
    "figures of weeks": (
        figures.READ_WEEKS,
        {"sites": [1], "since": datetime.now(UTC) - timedelta(weeks=8), "target_s": 60},
    ),
    "figures of the last days": (figures.READ_LATELY, {"target_s": 60}),
    "count flags that are not closed": (figures.COUNT_NOT_CLOSED, {}),
    "pause": (pauses.PAUSE, {"scope": "person", "about": 7, "reason": "-", "user": 1, "name": "Sam"}),
    "resume": (pauses.RESUME, {"scope": "person", "about": 7, "name": "Sam"}),
    "list open pauses": (pauses.READ_OPEN, {"limit": pauses.MAX_LISTED}),
    "find paused turns": (pauses.FIND_PAUSED_TURNS, {"process": uuid.uuid4()}),
    "read who is here": (READ_PEOPLE, people_parameters([1])),
    "find people": (search.FIND_PEOPLE, search.search_parameters("p", sites=[1])),
    "find visits": (access.LIVE_VISITS.replace("%s", "%(visits)s"), {"visits": [uuid.UUID(VISIT)]}),
    "lock a kept question": (LOCK_KEPT, {"visit": uuid.UUID(VISIT), "turn": SOME, "keep_s": 60.0}),
    "has an open visit": (acts.HAS_OPEN_VISIT, {"participant": 7}),
    "end a visit": (ends.END_VISITS, {"visits": [uuid.UUID(VISIT)], "reason": "staff", "moved_to": None}),
    "list the open visits of people": (leaving.VISITS_OF.replace("%s", "%(people)s"), {"people": [7]}),
    "list the visits on a machine": (
        leaving.VISITS_ON_MACHINE.replace("%s", "%(machine)s"),
        {"machine": uuid.UUID(MACHINE)},
    ),
    "find who is on a machine": (offers.LIVE_ON_MACHINE, {"machine": uuid.UUID(MACHINE)}),
    "find the same offer": (offers.SAME_OFFER, {"machine": uuid.UUID(MACHINE), "participant": 7}),
    "end earlier offers": (offers.END_EARLIER, {"machine": uuid.UUID(MACHINE)}),
    "find what a machine asks": (offers.FIND_OPEN, {"machine": uuid.UUID(MACHINE)}),
    "read what machines ask": (screens.READ, {"machines": [uuid.UUID(MACHINE)]}),
    "list what became of offers": (offers.LIST_NEWS, offers.news_parameters([1])),
    "list machines": (machines.READ_MACHINES, machines.machines_parameters([1])),
    "read a reason": (reasons.READ_UNTIL, {"staff": 1, "conversation": 7}),
    "list reasons": (reasons.LIST_IN_FORCE, {"sites": [1], "limit": 100}),
    "record": (INSERT_RECORD, {"who": "sam", "what": "read_along", "about": 7, "note": ""}),
    "keep no older turns": (turn_deletion.OLDEST, OF_PERSON),
    "keep no older entries": (retention.DELETE_ENTRIES, OF_PERSON),
    "keep no older visits": (retention.DELETE_VISITS, OF_PERSON),
    "keep no older flags": (retention.CLOSED_FLAGS, OF_PERSON),
    "keep no older record": (retention.DELETE_RECORD, OF_PERSON),
    "find where a time begins in the record": (FIRST_ID, {"moment": LATELY}),
    "find where a time ends in the record": (LAST_ID, {"moment": LONG_AGO}),
    **{
        f"search the record {name}": write_search(query, bounds, limit=10)
        for name, (query, bounds) in SEARCHES.items()
    },
}
PLANNED_ONCE = [
    name for name in STATEMENTS if not name.startswith(("figures", "search the record", "find where"))
]
"""Pages plan their statements each time that they run them; the others may be planned when a process starts."""
WALKS_INDEX = frozenset(name for name in STATEMENTS if name.startswith("keep no older"))
"""Run under the planner's settings of `turn_deletion.WALK_INDEX`."""


@pytest.fixture(scope="module")
def native(database: EmbeddedPostgres) -> Iterator[psycopg.Connection[Any]]:
    """Tables of the same shape that hide the real ones. The statements are planned while they are empty."""
    with open_filled(database, SOME) as native:
        yield native


@contextmanager
def open_filled(database: EmbeddedPostgres, rows: int) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database.url, autocommit=True) as native:
        [(view,)] = native.execute("SELECT pg_get_viewdef('ops_supervised'::regclass)").fetchall()
        for table in TABLES:
            native.execute(f"CREATE TEMP TABLE {table} (LIKE public.{table} INCLUDING ALL)")
        # Read before the tables: it names those that it finds now.
        native.execute(f"CREATE TEMP VIEW ops_supervised AS {view}")
        native.execute("SET plan_cache_mode = force_generic_plan")
        cursor = psycopg.ClientCursor(native)
        with native.transaction():
            native.execute(LOCK_GATE)
            for number, (name, (statement, facts)) in enumerate(STATEMENTS.items()):
                native.execute(f"PREPARE statement_{number} AS {cursor.mogrify(statement, facts)}")
                with native.transaction(force_rollback=True):
                    if name in WALKS_INDEX:
                        native.execute(turn_deletion.WALK_INDEX)
                    native.execute(f"EXECUTE statement_{number}")
        fill = FILL.replace(":at", "(now() - interval '70 days' - (:many - n) * interval '10 seconds')")
        for statement in fill.replace(":many", str(rows)).replace(":people", str(PEOPLE)).split(";\n"):
            native.execute(statement)
        yield native


@pytest.fixture(scope="module")
def with_statistics(native: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
    """The same tables, once the planner knows of their rows. It plans every statement again."""
    native.execute("ANALYZE")
    return native


@pytest.mark.parametrize("name", PLANNED_ONCE)
def test_a_statement_reads_few_rows_as_planned_while_the_tables_were_empty(
    native: psycopg.Connection[Any], name: str
) -> None:
    assert explain(native, name) <= MAX_ROWS_READ


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_reads_few_rows_as_planned_with_statistics(
    with_statistics: psycopg.Connection[Any], name: str
) -> None:
    assert explain(with_statistics, name) <= MAX_ROWS_READ


@pytest.mark.long
@pytest.mark.timeout(900)
def test_no_statement_reads_many_of_a_million_rows(database: EmbeddedPostgres) -> None:
    with open_filled(database, A_MILLION) as native:
        native.execute("ANALYZE")
        read = {name: explain(native, name) for name in STATEMENTS}
    assert {name: rows for name, rows in read.items() if rows > MAX_ROWS_READ} == {}


def explain(native: psycopg.Connection[Any], name: str) -> int:
    """Run a statement, and return how many rows its plan read."""
    number = list(STATEMENTS).index(name)
    with native.transaction(force_rollback=True):
        if name in WALKS_INDEX:
            native.execute(turn_deletion.WALK_INDEX)
        native.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE statement_{number}")
        [(plan,)] = native.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE statement_{number}").fetchall()
    return count_rows_read(plan[0]["Plan"])
