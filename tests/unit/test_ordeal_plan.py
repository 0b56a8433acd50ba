"""A run of the ordeal is decided by its seed."""

import dataclasses

import pytest

from ops.ordeal.arena.service import WAIT_CEILING_S
from ops.ordeal.judge.who_speaks import CLOCKS_DIFFER_S, LEARNS_WITHIN_S
from ops.ordeal.plan.draw import draw_plan
from ops.ordeal.plan.steps import OrdealFaultKind, OrdealPlan, OrdealSize, PersonAct, StaffAct

SIZE = OrdealSize(people=8, staff=3, processes=3, lasts_s=60.0, ceiling=4)


def plan_many() -> list[OrdealPlan]:
    return [draw_plan(seed, SIZE) for seed in range(20)]


def test_the_same_seed_gives_the_same_plan_and_another_seed_another() -> None:
    assert draw_plan(5, SIZE) == draw_plan(5, SIZE)
    assert dataclasses.replace(draw_plan(5, SIZE), seed=6) != draw_plan(6, SIZE)


def test_within_twenty_seeds_every_act_and_every_fault_comes() -> None:
    plans = plan_many()
    assert {step.act for plan in plans for one in plan.people for step in one.steps} == set(PersonAct)
    assert {step.act for plan in plans for one in plan.staff for step in one.steps} == set(StaffAct)
    assert {fault.kind for plan in plans for fault in plan.faults} == set(OrdealFaultKind)


def test_faults_come_in_order_overlap_and_are_over_before_the_end() -> None:
    for plan in plan_many():
        begins = [fault.at_s for fault in plan.faults]
        assert begins == sorted(begins)
        assert all(fault.at_s + fault.lasts_s <= SIZE.lasts_s + 0.01 for fault in plan.faults)
    overlaps = sum(
        1
        for plan in plan_many()
        for one, other in zip(plan.faults, plan.faults[1:], strict=False)
        if one.at_s + one.lasts_s > other.at_s
    )
    assert overlaps > 20


def test_in_every_long_run_a_crowd_waits_longer_than_a_message_may() -> None:
    for plan in plan_many():
        crowds = [
            [other.how for other in plan.faults if other.at_s == fault.at_s]
            for fault in plan.faults
            if fault.how == "ceiling" and fault.target == "1" and fault.lasts_s > 1.5 * WAIT_CEILING_S
        ]
        assert ["ceiling", "slow drip", "slow drip"] in crowds


def test_a_pause_by_staff_lasts_until_every_process_has_learnt_of_it() -> None:
    pauses = [
        step for plan in plan_many() for one in plan.staff for step in one.steps if step.act is StaffAct.PAUSE
    ]
    assert pauses and all(step.takes_s > LEARNS_WITHIN_S + CLOCKS_DIFFER_S for step in pauses)


def test_every_person_has_a_code_that_begins_no_other_code() -> None:
    for plan in plan_many():
        codes = [f"{one.code}-" for one in plan.people]
        assert not [
            (one, other) for one in codes for other in codes if one != other and other.startswith(one)
        ]


def test_without_staff_no_right_is_changed() -> None:
    plans = [draw_plan(seed, dataclasses.replace(SIZE, staff=0)) for seed in range(20)]

    assert not [fault for plan in plans for fault in plan.faults if fault.how == "right"]


@pytest.mark.parametrize("people", [1, 40])
def test_any_number_of_people_is_drawn(people: int) -> None:
    plan = draw_plan(1, dataclasses.replace(SIZE, people=people))
    assert len({one.name for one in plan.people}) == people
