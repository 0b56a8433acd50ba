"""How our own questions to lanes are asked: as the house asks, within the time that their job has."""

from dataclasses import replace
from datetime import UTC, datetime

from ops import schedule
from ops.lane_checks.fallback import ROUND_TIMEOUT_S
from ops.lane_checks.lane_call import ask_policy
from ops.project.wiring.turns import build_turn_policy

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


def test_a_drill_ends_before_its_job_is_ended_however_long_a_turn_may_take() -> None:
    patient = replace(build_turn_policy(), turn_budget_s=600)
    policy = ask_policy(patient, now=lambda: NOON, limit_s=ROUND_TIMEOUT_S)
    # Every lane alone, all at once; then the chain. Words included, however slowly a lane speaks.
    assert 2 * max(policy.seconds, policy.whole_s) <= schedule.task_soft_time_limit - 30


def test_a_drill_is_no_more_patient_than_the_house() -> None:
    house = replace(build_turn_policy(), turn_budget_s=20)
    assert ask_policy(house, now=lambda: NOON, limit_s=ROUND_TIMEOUT_S).seconds == 20
    assert ask_policy(house, now=lambda: NOON).seconds == 20
