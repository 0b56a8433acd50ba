"""What staff are told in words: every reason has a meaning, every ending a next step, every length a name."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal
from uuid import UUID

import pytest

from companion.states import Reason, TurnState
from companion.turn_record import format_skipped
from ops.text import escape_controls, format_length
from ops.transcripts.formatting import describe_next_step, format_skipped_lane, list_steps
from ops.transcripts.records import TurnRecord
from ops.transcripts.text import ENDINGS, FAILURES, explain_reason
from routing.chain import SkippedLane
from routing.errors import FailureClass

RUNBOOKS = Path(__file__).resolve().parents[2] / "ops" / "runbooks"
NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
PAUSED = TurnRecord(
    id=7,
    key=UUID(int=1),
    conversation=1,
    site=1,
    participant=1,
    participant_name="Rosa",
    site_name="House",
    state="paused",
    reason="network",
    question="?",
    openings=(),
    reply="Half",
    seq=1,
    line="Line",
    shortened=False,
    marked=False,
    skipped=(),
    lane="primary",
    model="",
    preset="normal",
    routing_version=0,
    persona_version="0",
    attempts=(),
    held_until=NOON + timedelta(hours=24),
    is_expired=False,
    settled="",
    answered_by=None,
    answers=(),
    owner=UUID(int=2),
    owner_heard_at=None,
    created_at=NOON,
    wait_until=NOON,
    admitted_at=NOON + timedelta(seconds=1.5),
    first_word_at=None,
    closed_at=NOON + timedelta(seconds=4),
)


def test_every_class_of_failure_has_a_meaning_and_nothing_else_has() -> None:
    assert set(FAILURES) == set(FailureClass)
    assert all(meaning.endswith(".") for meaning in FAILURES.values())


def test_every_reason_that_ends_a_turn_has_a_meaning() -> None:
    assert set(ENDINGS) == set(Reason)
    assert [reason for reason, meaning in ENDINGS.items() if not meaning] == [Reason.WHOLE]


def test_no_reason_could_be_taken_for_a_class_of_failure() -> None:
    assert set(Reason).isdisjoint(FailureClass)


def test_every_reason_why_a_turn_pauses_stands_in_the_runbook() -> None:
    table = (RUNBOOKS / "a-provider-is-failing.md").read_text()
    others = {Reason.REGION, Reason.FAULT, Reason.LOST, Reason.DRAINED, Reason.UNSTORED, Reason.AWAY}
    reasons = {*FailureClass, *others} - {FailureClass.CANCELLED}
    assert [reason for reason in sorted(reasons) if f"`{reason}`" not in table] == []


def test_a_reason_on_no_list_is_given_as_it_is() -> None:
    assert "“brand_new”" in explain_reason("brand_new")


@pytest.mark.parametrize("state", list(TurnState))
def test_every_state_has_a_next_step(state: TurnState) -> None:
    assert describe_next_step(replace(PAUSED, state=state)).endswith(".")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({}, "held until 30 Nov 2026, 12:00:00 UTC. The next message opens"),
        ({"answered_by": 9}, "Turn 9 answered this question."),
        ({"is_expired": True}, "no longer answered by itself"),
        ({"is_expired": True}, "offers it back"),
        ({"settled": "asked_again"}, "asked it again as a new turn"),
        ({"settled": "let_go"}, "let it go"),
        ({"settled": "unanswerable"}, "the participant was told"),
        ({"held_until": None, "reason": "refused"}, "asking again would be refused again"),
    ],
)
def test_a_paused_turn_says_what_becomes_of_its_question(change: dict[str, object], says: str) -> None:
    assert says in describe_next_step(replace(PAUSED, **change))  # type: ignore[arg-type]


def test_steps_count_from_the_question() -> None:
    assert [(step.name, step.after_s, step.at is None) for step in list_steps(PAUSED)] == [
        ("Asked", 0.0, False),
        ("Got a place", 1.5, False),
        ("First word", 0.0, True),
        ("Ended", 4.0, False),
    ]


@pytest.mark.parametrize(
    ("length_s", "named"),
    [(0, "0 s"), (45, "45 s"), (90, "1 min 30 s"), (3600, "1 h"), (86_400, "24 h"), (3661, "1 h 1 min 1 s")],
)
def test_a_length_of_time_has_no_part_that_is_nought(length_s: int, named: str) -> None:
    assert format_length(length_s) == named


@pytest.mark.parametrize(
    ("why", "tried", "says"),
    [
        ("open", False, "primary: open, until 29 Nov 2026, 12:00:00 UTC"),
        (
            "half_open",
            True,
            "primary: half_open, until 29 Nov 2026, 12:00:00 UTC; tried nevertheless, as every lane was barred",
        ),
    ],
)
def test_a_barred_lane_as_it_is_stored_is_told_with_its_reason_and_until_when(
    why: Literal["open", "half_open"], tried: bool, says: str
) -> None:
    stored = json.dumps(format_skipped(SkippedLane(lane="primary", why=why, until=NOON, tried=tried)))
    assert format_skipped_lane(json.loads(stored)) == says


def test_plain_words_and_line_ends_are_left_as_they_are() -> None:
    words = "Grüße,\n\tمرحبا 👩\u200d👧"
    assert escape_controls(words) == words


@pytest.mark.parametrize("letter", ["\x00", "\x1b", "\r", "\x85", "\u2028", "\u202e", "\u2066", "\ufeff"])
def test_what_could_steer_a_terminal_is_written_out(letter: str) -> None:
    assert escape_controls(letter) == f"\\u{ord(letter):04x}"
