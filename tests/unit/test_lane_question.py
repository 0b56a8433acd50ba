"""How our own questions to lanes are asked: as the house asks, within the time that their job has."""

from dataclasses import replace
from datetime import UTC, datetime

from ops import schedule
from ops.lane_checks.asking import manner_of
from ops.lane_checks.fallback import AT_MOST_S
from ops.project.wiring import build_turn_policy

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


def test_a_drill_ends_before_its_job_is_ended_however_long_a_turn_may_take() -> None:
    patient = replace(build_turn_policy(), turn_budget_s=600)
    manner = manner_of(patient, now=lambda: NOON, at_most_s=AT_MOST_S)
    # Every lane alone, all at once; then the chain. Words included, however slowly a lane speaks.
    assert 2 * max(manner.seconds, manner.whole_s) <= schedule.task_soft_time_limit - 30


def test_a_drill_is_no_more_patient_than_the_house() -> None:
    policy = replace(build_turn_policy(), turn_budget_s=20)
    assert manner_of(policy, now=lambda: NOON, at_most_s=AT_MOST_S).seconds == 20
    assert manner_of(policy, now=lambda: NOON).seconds == 20
