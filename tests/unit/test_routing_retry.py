"""Whether, where and after how long a question is asked again (T2, T3)."""

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.errors import FailureClass as F
from routing.retry import (
    BASE_S,
    CAP_S,
    FULL_CAP_S,
    PATIENCE_S,
    RULES,
    SHORTEST_CALL_S,
    Again,
    Decision,
    GiveUp,
    NextLane,
    backoff,
    decide,
)


def decide_after(failure: F, **changes: Any) -> Decision:
    """The decision after a first failure with three attempts, a minute and one more lane, except for `changes`."""
    given: dict[str, Any] = {
        "retry_after_s": None,
        "attempts_made": 1,
        "attempts_on_lane": 1,
        "attempts_allowed": 4,
        "more_lanes": True,
        "larger_window_left": False,
        "seconds_left": 60.0,
        "random": lambda: 1.0,
    }
    return decide(failure=failure, **{**given, **changes})


TRANSIENT = [F.NETWORK, F.SERVER_ERROR, F.OVERLOADED, F.RATE_LIMITED]
ELSEWHERE_FIRST = [F.FIRST_WORD_TIMEOUT, F.IDLE_TIMEOUT, F.INCOMPLETE, F.EMPTY]
FINAL = [F.REPLY_TIMEOUT, F.MISCONFIGURED, F.BAD_REQUEST, F.REFUSED, F.CANCELLED, F.UNKNOWN]


def test_every_class_has_a_rule() -> None:
    assert set(RULES) == set(F)


def test_every_class_is_in_exactly_one_of_the_groups_tested_here() -> None:
    grouped = [*TRANSIENT, *ELSEWHERE_FIRST, *FINAL, F.NETWORK_REUSED, F.QUOTA, F.TOO_LONG, F.LOCAL_LIMIT]
    assert sorted(grouped) == sorted(F)


@pytest.mark.parametrize("failure", FINAL)
def test_what_asking_again_cannot_mend_is_asked_nowhere(failure: F) -> None:
    assert decide_after(failure) == GiveUp()
    assert decide_after(failure, more_lanes=False) == GiveUp()
    assert decide_after(failure, retry_after_s=1.0, larger_window_left=True) == GiveUp()


def test_a_full_lane_hands_over_to_the_next_and_the_last_is_waited_for_within_the_budget() -> None:
    assert decide_after(F.LOCAL_LIMIT) == NextLane()
    for looked, wait_s in ((1, BASE_S), (2, 2 * BASE_S), (9, FULL_CAP_S)):
        waiting = decide_after(F.LOCAL_LIMIT, more_lanes=False, attempts_on_lane=looked, attempts_made=4)
        assert waiting == Again(after_s=wait_s)
    assert decide_after(F.LOCAL_LIMIT, more_lanes=False, seconds_left=SHORTEST_CALL_S) == GiveUp()


@pytest.mark.parametrize("failure", [F.MISCONFIGURED, F.BAD_REQUEST, F.QUOTA, F.UNKNOWN])
def test_what_waiting_cannot_mend_alerts_an_operator(failure: F) -> None:
    assert RULES[failure].alert


@pytest.mark.parametrize("failure", [*TRANSIENT, *ELSEWHERE_FIRST, F.REFUSED, F.TOO_LONG, F.CANCELLED])
def test_a_passing_failure_or_one_without_fault_raises_no_alert(failure: F) -> None:
    assert not RULES[failure].alert


@pytest.mark.parametrize("failure", [*FINAL, F.TOO_LONG, F.NETWORK_REUSED, F.LOCAL_LIMIT])
def test_what_says_nothing_about_a_lanes_health_leaves_its_breaker_alone(failure: F) -> None:
    assert RULES[failure].breaker == "ignores"


@pytest.mark.parametrize("failure", TRANSIENT)
def test_a_passing_failure_is_tried_once_more_here_and_then_elsewhere(failure: F) -> None:
    assert decide_after(failure) == Again(after_s=BASE_S)
    assert decide_after(failure, attempts_made=2, attempts_on_lane=2) == NextLane()


@pytest.mark.parametrize("failure", TRANSIENT)
def test_the_only_lane_is_tried_until_the_attempts_are_spent(failure: F) -> None:
    alone = {"more_lanes": False}
    waits = [decide_after(failure, attempts_made=n, attempts_on_lane=n, **alone) for n in (1, 2, 3)]
    assert waits == [Again(after_s=BASE_S), Again(after_s=2 * BASE_S), Again(after_s=4 * BASE_S)]
    assert decide_after(failure, attempts_made=4, attempts_on_lane=4, **alone) == GiveUp()


@pytest.mark.parametrize("failure", [*TRANSIENT, *ELSEWHERE_FIRST, F.QUOTA])
def test_the_attempts_of_a_turn_are_counted_over_all_lanes(failure: F) -> None:
    assert decide_after(failure, attempts_made=4, attempts_on_lane=1) == GiveUp()


@pytest.mark.parametrize("failure", ELSEWHERE_FIRST)
def test_a_lane_that_wasted_time_is_left_at_once_if_there_is_another(failure: F) -> None:
    assert decide_after(failure) == NextLane()
    assert decide_after(failure, more_lanes=False) == Again(after_s=BASE_S)


def test_an_exhausted_quota_goes_to_the_next_lane_and_never_to_the_same() -> None:
    assert decide_after(F.QUOTA) == NextLane()
    assert decide_after(F.QUOTA, more_lanes=False, retry_after_s=1.0) == GiveUp()


def test_a_prompt_that_is_too_long_goes_only_where_it_fits() -> None:
    assert decide_after(F.TOO_LONG) == GiveUp()
    assert decide_after(F.TOO_LONG, larger_window_left=True) == NextLane()


def test_a_connection_closed_under_us_is_free_once_and_at_once() -> None:
    assert decide_after(F.NETWORK_REUSED, attempts_made=4) == Again(after_s=0.0)
    assert decide_after(F.NETWORK_REUSED, reused_before=True) == Again(after_s=BASE_S)
    assert decide_after(F.NETWORK_REUSED, reused_before=True, attempts_made=5) == GiveUp()


def test_an_attempt_that_was_free_is_not_counted() -> None:
    assert decide_after(F.NETWORK, attempts_made=4) == GiveUp()
    assert decide_after(F.NETWORK, attempts_made=4, reused_before=True) == Again(after_s=BASE_S)
    assert decide_after(F.NETWORK, attempts_made=5, reused_before=True) == GiveUp()


def test_a_caller_that_never_counts_free_repetitions_still_comes_to_an_end() -> None:
    assert decide_after(F.NETWORK_REUSED, attempts_made=5) == GiveUp()


def test_a_named_time_that_fits_is_waited_for_with_jitter_on_top() -> None:
    assert decide_after(F.RATE_LIMITED, retry_after_s=PATIENCE_S) == Again(after_s=PATIENCE_S + BASE_S)
    assert decide_after(F.RATE_LIMITED, retry_after_s=PATIENCE_S, random=lambda: 0.0) == Again(
        after_s=PATIENCE_S
    )


def test_a_longer_time_is_waited_for_only_where_no_other_lane_is_left() -> None:
    assert decide_after(F.RATE_LIMITED, retry_after_s=PATIENCE_S + 1) == NextLane()
    alone = decide_after(F.RATE_LIMITED, retry_after_s=PATIENCE_S + 1, more_lanes=False)
    assert alone == Again(after_s=PATIENCE_S + 1 + BASE_S)


@pytest.mark.parametrize("failure", TRANSIENT)
def test_a_named_time_that_does_not_fit_is_not_waited_for(failure: F) -> None:
    assert decide_after(failure, retry_after_s=59.5) == NextLane()
    assert decide_after(failure, retry_after_s=59.5, more_lanes=False) == GiveUp()


def test_jitter_never_uses_up_the_time_of_the_call() -> None:
    close = decide_after(F.NETWORK, seconds_left=SHORTEST_CALL_S + 0.25)
    assert close == Again(after_s=0.25)
    named = decide_after(
        F.RATE_LIMITED, retry_after_s=3.0, more_lanes=False, seconds_left=SHORTEST_CALL_S + 3.25
    )
    assert named == Again(after_s=3.25)


@pytest.mark.parametrize("failure", list(F))
def test_nothing_is_begun_that_has_no_time_left(failure: F) -> None:
    assert decide_after(failure, seconds_left=SHORTEST_CALL_S, larger_window_left=True) == GiveUp()
    assert decide_after(failure, seconds_left=-3.0, larger_window_left=True) == GiveUp()


@given(
    failure=st.sampled_from(list(F)),
    retry_after_s=st.none() | st.floats(min_value=0, max_value=1e7),
    attempts_made=st.integers(1, 6),
    attempts_on_lane=st.integers(1, 6),
    more_lanes=st.booleans(),
    larger_window_left=st.booleans(),
    seconds_left=st.floats(min_value=-1, max_value=12) | st.floats(min_value=-10, max_value=300),
    chance=st.floats(min_value=0, max_value=1),
    reused_before=st.booleans(),
)
def test_a_wait_always_leaves_time_for_the_call(chance: float, seconds_left: float, **given: Any) -> None:
    decision = decide(random=lambda: chance, seconds_left=seconds_left, attempts_allowed=4, **given)
    match decision:
        case Again(after_s=after_s):
            assert 0 <= after_s <= seconds_left - SHORTEST_CALL_S + 1e-6
        case NextLane():
            assert given["more_lanes"] or given["larger_window_left"]


def always(value: float) -> Callable[[], float]:
    return lambda: value


@pytest.mark.parametrize("attempt", [1, 2, 3, 10, 5_000])
def test_backoff_is_full_jitter_under_a_doubling_cap(attempt: int) -> None:
    highest = min(CAP_S, BASE_S * 2.0 ** min(attempt - 1, 100))
    assert backoff(attempt, BASE_S, CAP_S, always(0.0)) == 0.0
    assert math.isclose(backoff(attempt, BASE_S, CAP_S, always(0.5)), highest / 2)
    assert backoff(attempt, BASE_S, CAP_S, always(1.0)) == highest
