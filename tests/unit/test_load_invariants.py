"""What a load test calls right and wrong: the order of arrival, freed slots, texts, errors."""

from typing import Any

import pytest

from ops.load.errors import CannotLoad
from ops.load.invariants import check_invariants, count_errors, slot_delays, to_arrival
from ops.load.plan import LoadPlan
from ops.load.stored import StoredTurn
from ops.testbed.arrival_order import find_out_of_order
from ops.testbed.plots import HEIGHT, plot_steps


def stored(
    turn: int, created: float, admitted: float | None, closed: float | None, **facts: Any
) -> StoredTurn:
    defaults: dict[str, Any] = {
        "conversation": turn,
        "ours": True,
        "owner": "p",
        "state": "complete",
        "reason": "",
    }
    return StoredTurn(
        turn=turn,
        created_at=created,
        admitted_at=admitted,
        first_word_at=admitted,
        closed_at=closed,
        **(defaults | facts),
    )


def overtakings(*turns: StoredTurn) -> list[tuple[int, int]]:
    return list(find_out_of_order([to_arrival(turn) for turn in turns]))


def test_turns_let_in_as_they_came_are_in_order() -> None:
    assert overtakings(stored(1, 0, 1, 5), stored(2, 0, 5, 6), stored(3, 0.5, 6, 7)) == []


def test_turns_let_in_at_one_moment_are_in_order() -> None:
    assert overtakings(stored(2, 0, 1, 5), stored(1, 0, 1, 5), stored(3, 0, 1, 5)) == []


def test_a_turn_admitted_before_an_earlier_one_is_found() -> None:
    assert overtakings(stored(1, 0, 3, 5), stored(2, 0, 2, 6)) == [(1, 2)]


def test_one_who_was_refused_had_not_been_passed_over_unless_a_later_one_was_let_in_meanwhile() -> None:
    assert overtakings(stored(1, 0, None, 10, state="refused"), stored(2, 1, 11, 12)) == []
    assert overtakings(stored(1, 0, None, 10, state="refused"), stored(2, 1, 9, 12)) == [(1, 2)]


def test_a_persons_second_question_stands_in_line_from_the_end_of_the_first() -> None:
    first, second = stored(1, 0, 0, 10, conversation=7), stored(2, 1, 11, 12, conversation=7)

    assert overtakings(first, second, stored(3, 2, 5, 6)) == []
    assert overtakings(first, second, stored(3, 2, 10.5, 12)) == [(2, 3)]


def test_one_whose_process_died_while_waiting_could_not_have_been_let_in() -> None:
    assert overtakings(stored(1, 0, None, 9, state="paused", reason="lost"), stored(2, 1, 5, 6)) == []


def test_a_freed_slot_counts_from_its_end_to_the_next_who_had_waited_for_it() -> None:
    assert slot_delays([stored(1, 0, 0, 10), stored(2, 1, 10.25, 12)]) == [0.25]


def test_a_slot_without_a_waiting_turn_is_not_counted() -> None:
    assert slot_delays([stored(1, 0, 0, 10), stored(2, 30, 30, 31), stored(3, 30.5, 31.5, 32)]) == [0.5]


def results(**turn: Any) -> dict[str, Any]:
    one = {"turn": 1, "how": "complete", "digest": "d", "length": 4, "reason": "", "waited": False} | turn
    return {"turns": [one], "not_opened": [], "overdue": False}


def run_checks(
    crowd: dict[str, Any], *turns: StoredTurn, may_break: bool = False, peak: int = 2
) -> dict[str, bool]:
    checks = check_invariants(
        crowd, turns, {1: ("d", 4)}, ceiling=2, peak=peak, sampled=9, may_break=may_break
    )
    return {check.what: check.held for check in checks}


def test_a_whole_run_without_a_fault_holds_everything() -> None:
    assert all(run_checks(results(), stored(1, 0, 0, 1)).values())


def test_one_answer_more_than_the_ceiling_is_found() -> None:
    assert not run_checks(results(), peak=3)["Never more turns at the provider than the ceiling"]


@pytest.mark.parametrize("turn", [{"digest": "other"}, {"length": 3}, {"turn": 2}, {"turn": None}])
def test_a_text_that_is_not_the_one_stored_is_found(turn: dict[str, Any]) -> None:
    assert not run_checks(results(**turn))["Every text received is the text stored"]


def test_of_a_reply_that_broke_off_less_may_be_shown_than_is_stored() -> None:
    shown = results(how="paused", length=3, reason="lost")

    assert run_checks(shown, may_break=True)["Every text received is the text stored"]


def test_a_turn_without_an_end_is_found() -> None:
    assert not run_checks(results(), stored(1, 0, 0, None))["Every turn has its end"]


def test_a_lost_reply_is_an_error_unless_a_process_was_killed_on_purpose() -> None:
    lost = results(how="paused", reason="lost")

    assert not run_checks(lost)["No errors"]
    assert run_checks(lost, may_break=True)["No errors"]
    assert not run_checks(results(how="paused", reason="overloaded"), may_break=True)["No errors"]


def test_errors_are_counted_by_kind_and_being_refused_a_place_is_none() -> None:
    crowd = results(how="refused")
    crowd["turns"] += results(how="not taken: too_many")["turns"] * 2
    crowd["not_opened"] = ["no hello within its time"]

    assert count_errors(crowd) == {"not taken: too_many": 2, "session no hello within its time": 1}


@pytest.mark.parametrize(
    "wrong", [{"sessions": 0}, {"sessions": 10_001}, {"turns": 20_001}, {"words": 0}, {"limit_s": 4_000}]
)
def test_a_plan_out_of_bounds_is_refused_with_the_option_that_is_wrong(wrong: dict[str, Any]) -> None:
    sound: dict[str, Any] = {
        "sessions": 1,
        "turns": 1,
        "pace_ms": 1,
        "first_word_ms": 1,
        "words": 1,
        "ramp_s": 0,
        "think_s": 0,
        "stay_s": 0,
        "limit_s": 60,
    }
    LoadPlan(**sound)
    with pytest.raises(CannotLoad, match=r"^--"):
        LoadPlan(**(sound | wrong))


def test_a_drawing_loses_no_peak_however_many_samples_it_is_made_of() -> None:
    samples = [(place / 1000, 1) for place in range(5_000)]
    samples[2_345] = (2.345, 9)
    plot = plot_steps("Answers", samples, limit=4, limit_label="ceiling 4")

    assert plot is not None
    assert ",0.0" in plot.points
    assert plot.limit_y == round(HEIGHT * (1 - 4 / 9), 1)
