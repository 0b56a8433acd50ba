"""What operators are told of: every kind says something and what to do, and names a runbook that is there."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from companion.states import Reason, TurnState
from companion.turn_end import TurnEnd
from ops.alerts.kinds import AlertKind
from ops.alerts.rows import build_view
from ops.alerts.turns import find_turn_alerts, is_content_refusal
from ops.models import Alert
from routing.chain import SkippedLane
from routing.contracts import AttemptReport
from routing.errors import FailureClass

RUNBOOKS = Path(__file__).resolve().parents[2] / "ops" / "runbooks"
NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


def attempt(failure: FailureClass | None, lane: str = "primary") -> AttemptReport:
    return AttemptReport(
        lane=lane,
        model="m",
        failure=failure,
        status=None,
        code=None,
        waited_s=0,
        started_s=0,
        took_s=0,
        bytes_received=0,
        words=0,
    )


def turn_end(
    *attempts: AttemptReport,
    reason: Reason | FailureClass = Reason.WHOLE,
    passed_over: tuple[SkippedLane, ...] = (),
) -> TurnEnd:
    return TurnEnd(
        turn=1,
        state=TurnState.PAUSED,
        reason=reason,
        preset="normal",
        attempts=attempts,
        passed_over=passed_over,
    )


@pytest.mark.parametrize("kind", AlertKind)
def test_every_kind_has_a_sentence_a_thing_to_do_and_a_runbook(kind: AlertKind) -> None:
    assert kind.describe("this one").count("this one") == 1
    assert kind.describe("this one").endswith(".")
    assert kind.do.endswith(".")
    assert (RUNBOOKS / kind.runbook).exists()


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (FailureClass.MISCONFIGURED, AlertKind.MISCONFIGURED),
        (FailureClass.BAD_REQUEST, AlertKind.BAD_REQUEST),
        (FailureClass.QUOTA, AlertKind.QUOTA),
        (FailureClass.UNKNOWN, AlertKind.UNKNOWN_FAILURE),
    ],
)
def test_a_failure_that_needs_a_person_is_told_of_with_its_lane(
    failure: FailureClass, kind: AlertKind
) -> None:
    assert list(find_turn_alerts(turn_end(attempt(None), attempt(failure, "second")))) == [(kind, "second")]


@pytest.mark.parametrize(
    "failure",
    sorted(
        set(FailureClass)
        - {FailureClass.MISCONFIGURED, FailureClass.BAD_REQUEST, FailureClass.QUOTA, FailureClass.UNKNOWN}
    ),
)
def test_a_failure_that_mends_itself_raises_no_alert(failure: FailureClass) -> None:
    assert list(find_turn_alerts(turn_end(attempt(failure), attempt(None)))) == []


def test_a_lane_tried_although_every_lane_was_barred_is_told_of_with_the_preset() -> None:
    barred = SkippedLane(lane="primary", why="open", until=NOON, tried=False)
    tried = SkippedLane(lane="second", why="open", until=NOON, tried=True)
    assert list(find_turn_alerts(turn_end(passed_over=(barred,)))) == []
    assert list(find_turn_alerts(turn_end(passed_over=(barred, tried)))) == [
        (AlertKind.ALL_LANES_OPEN, "normal")
    ]


def test_what_would_pause_every_turn_of_a_lane_unheard_is_told_of() -> None:
    ended = replace(attempt(FailureClass.INCOMPLETE, "second"), code="finish.eos_x")
    assert list(find_turn_alerts(turn_end(ended))) == [(AlertKind.UNKNOWN_FINISH, "second, eos_x")]
    thinks = replace(attempt(FailureClass.INCOMPLETE, "second"), code="unopened_thoughts")
    assert list(find_turn_alerts(turn_end(thinks))) == [(AlertKind.THOUGHTS_SHOWN, "second")]
    known = replace(attempt(FailureClass.INCOMPLETE, "second"), code="tool_calls")
    assert list(find_turn_alerts(turn_end(known))) == []
    too_long = attempt(FailureClass.TOO_LONG, "second")
    assert list(find_turn_alerts(turn_end(too_long, attempt(None)))) == []
    assert list(find_turn_alerts(turn_end(too_long, reason=FailureClass.TOO_LONG))) == [
        (AlertKind.TOO_LONG, "second")
    ]


def test_a_refusal_of_the_question_or_of_one_asked_along_is_a_content_refusal() -> None:
    assert is_content_refusal(turn_end(reason=FailureClass.REFUSED))
    assert is_content_refusal(turn_end(attempt(FailureClass.REFUSED), attempt(None)))
    assert not is_content_refusal(turn_end(attempt(FailureClass.QUOTA), reason=FailureClass.QUOTA))


def test_a_site_that_no_lane_may_serve_is_told_of() -> None:
    assert list(find_turn_alerts(turn_end(reason=Reason.REGION))) == [(AlertKind.REGION, "normal")]


def test_an_alert_of_another_release_is_shown_as_it_is() -> None:
    row = Alert(id=1, kind="of_the_next_release", about="x", first_at=NOON, last_at=NOON, count=1)
    assert (build_view(row).says, build_view(row).do) == ("of_the_next_release: x", "")
