"""One lane's breaker, step by step, without a clock (B1 to B4)."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from routing.breaker import (
    LONGEST_REST_S,
    TUNING,
    Breaker,
    Permit,
    Skip,
    State,
    describe_state,
    force_permit,
    may_call,
    ramp,
    record_failure,
    record_success,
)
from routing.errors import FailureClass as F
from routing.retry import RULES

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
ME, OTHER = uuid4(), uuid4()
COUNTS = [failure for failure in F if RULES[failure].breaker == "counts"]
IGNORED = [failure for failure in F if RULES[failure].breaker == "ignores"]


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def permit(breaker: Breaker, seconds: float = 0) -> tuple[Breaker, Permit]:
    after, answer = may_call(breaker, now=at(seconds), owner=ME)
    assert isinstance(answer, Permit), answer
    return after, answer


def fail(breaker: Breaker, failure: F, seconds: float = 0, retry_after_s: float | None = None) -> Breaker:
    breaker, given = permit(breaker, seconds)
    return record_failure(breaker, given, failure, now=at(seconds), retry_after_s=retry_after_s)


def opened(seconds: float = 0) -> Breaker:
    breaker = Breaker()
    for _ in range(3):
        breaker = fail(breaker, F.SERVER_ERROR, seconds)
    assert breaker.state is State.OPEN
    return breaker


def probing(seconds: float = TUNING.cooldown_s) -> tuple[Breaker, Permit]:
    breaker, probe = permit(opened(), seconds)
    assert probe.kind == "probe"
    return breaker, probe


@pytest.mark.parametrize("failure", COUNTS)
def test_three_failures_that_count_open_it(failure: F) -> None:
    breaker = fail(fail(Breaker(), failure), failure, 1)
    assert breaker.state is State.CLOSED
    breaker = fail(breaker, failure, 2)
    assert breaker.state is State.OPEN
    assert breaker.last_failure == failure.value


def test_a_stream_that_opens_and_always_dies_in_the_middle_opens_it() -> None:
    # A first word is not reported: only a whole reply is a success.
    breaker = Breaker()
    for failure in (F.NETWORK, F.INCOMPLETE, F.IDLE_TIMEOUT):
        breaker = fail(breaker, failure)
    assert breaker.state is State.OPEN


@pytest.mark.parametrize("failure", IGNORED)
def test_what_is_not_the_lanes_fault_counts_for_nothing(failure: F) -> None:
    breaker = Breaker()
    for second in range(20):
        breaker = fail(breaker, failure, second)
    assert breaker == Breaker()


def test_neither_a_stop_nor_a_refusal_nor_our_own_limit_is_the_lanes_fault() -> None:
    assert {F.CANCELLED, F.REFUSED, F.BAD_REQUEST, F.LOCAL_LIMIT, F.MISCONFIGURED} <= set(IGNORED)


def test_an_empty_reply_counts_for_half() -> None:
    breaker = Breaker()
    for _ in range(5):
        breaker = fail(breaker, F.EMPTY)
    assert breaker.state is State.CLOSED
    assert fail(breaker, F.EMPTY).state is State.OPEN


def test_failures_further_apart_than_the_window_do_not_open_it() -> None:
    breaker = Breaker()
    for number in range(10):
        breaker = fail(breaker, F.SERVER_ERROR, number * (TUNING.window_s / 2 + 1))
    assert breaker.state is State.CLOSED
    assert len(breaker.strikes) <= TUNING.strikes


def test_a_whole_reply_clears_the_failures_before_its_call() -> None:
    breaker = fail(fail(Breaker(), F.SERVER_ERROR, 1), F.SERVER_ERROR, 2)
    breaker, given = permit(breaker, 3)
    assert record_success(breaker, given).strikes == ()


def test_old_replies_that_end_well_do_not_hide_that_every_new_call_is_turned_away() -> None:
    breaker, old = permit(Breaker(), 0)
    for second in (1, 2):
        breaker = record_success(fail(breaker, F.RATE_LIMITED, second), old)
    assert fail(breaker, F.RATE_LIMITED, 3).state is State.OPEN


def test_an_open_lane_is_not_called_until_its_time_is_up() -> None:
    after, answer = may_call(opened(), now=at(TUNING.cooldown_s - 0.001), owner=ME)
    assert answer == Skip(why="open", until=at(TUNING.cooldown_s))
    assert after == opened()


def test_exactly_one_probe_is_let_through() -> None:
    breaker, _ = probing()
    for second in (0, 1, TUNING.lease_s - 0.001):
        after, answer = may_call(breaker, now=at(TUNING.cooldown_s + second), owner=OTHER)
        assert isinstance(answer, Skip) and answer.why == "probing"
        assert after == breaker


def test_a_probe_that_never_reports_is_given_up_when_its_lease_is_over() -> None:
    breaker, lost = probing()
    breaker, second = permit(breaker, TUNING.cooldown_s + TUNING.lease_s)
    assert second.kind == "probe"
    assert record_success(breaker, lost) == breaker
    assert record_success(breaker, second).state is State.CLOSED


def test_a_probe_that_comes_back_whole_closes_it_and_clears_everything() -> None:
    breaker, probe = probing()
    breaker = record_success(breaker, probe)
    assert breaker == Breaker(generation=breaker.generation, last_failure="server_error")


def test_a_probe_that_fails_opens_it_for_longer_each_time_but_not_for_ever() -> None:
    breaker, now, waits = opened(), 0.0, []
    for _ in range(10):
        assert breaker.opened_until is not None
        waits.append((breaker.opened_until - at(now)).total_seconds())
        now = (breaker.opened_until - NOON).total_seconds()
        breaker = fail(breaker, F.SERVER_ERROR, now)
    assert waits == sorted(waits)
    assert waits[:3] == [15, 30, 60]
    assert waits[-1] == TUNING.longest_cooldown_s


@pytest.mark.parametrize("failure", IGNORED)
def test_a_probe_that_shows_nothing_lets_the_next_one_try_at_once(failure: F) -> None:
    breaker, probe = probing()
    breaker = record_failure(breaker, probe, failure, now=at(20))
    _, again = permit(breaker, 20)
    assert again.kind == "probe"
    assert breaker.openings == 1


def test_the_late_result_of_an_older_generation_changes_nothing() -> None:
    breaker, late = permit(Breaker(), 0)
    for _ in range(3):
        breaker = fail(breaker, F.NETWORK, 1)
    for failure in F:
        assert record_failure(breaker, late, failure, now=at(2), retry_after_s=60) == breaker
    assert record_success(breaker, late) == breaker


def test_spent_quota_opens_it_at_once_and_for_long() -> None:
    breaker = fail(Breaker(), F.QUOTA)
    assert breaker.state is State.OPEN
    assert breaker.opened_until == at(TUNING.quota_s)


def test_a_lane_that_names_a_time_rests_until_then_and_a_shorter_one_does_not_cut_it_short() -> None:
    breaker, first = permit(Breaker())
    _, second = permit(Breaker())
    breaker = record_failure(breaker, first, F.RATE_LIMITED, now=at(0), retry_after_s=40)
    breaker = record_failure(breaker, second, F.RATE_LIMITED, now=at(1), retry_after_s=5)
    _, answer = may_call(breaker, now=at(39), owner=ME)
    assert answer == Skip(why="resting", until=at(40))
    assert permit(breaker, 40)[1].kind == "free"


def test_no_lane_is_believed_that_asks_for_a_very_long_rest() -> None:
    breaker = fail(Breaker(), F.RATE_LIMITED, retry_after_s=90_000)
    assert breaker.rest_until == at(LONGEST_REST_S)


def test_a_forced_call_that_comes_back_whole_closes_it() -> None:
    breaker = opened()
    assert record_success(breaker, force_permit(breaker, now=at(1))).state is State.CLOSED


def test_a_forced_call_that_fails_does_not_put_its_recovery_off() -> None:
    breaker = opened()
    assert record_failure(breaker, force_permit(breaker, now=at(1)), F.NETWORK, now=at(2)) == breaker
    half_open, _ = probing()
    assert record_failure(half_open, force_permit(half_open, now=at(16)), F.NETWORK, now=at(17)) == half_open


def test_every_step_between_states_starts_a_new_generation() -> None:
    closed = Breaker()
    open_ = fail(closed, F.QUOTA, 0)
    half_open, lost = permit(open_, 900)
    still = record_failure(half_open, force_permit(half_open, now=at(901)), F.NETWORK, now=at(901))
    again, probe = permit(still, 931)
    assert (lost.generation, probe.generation) == (2, 3)
    steps = [closed, open_, half_open, still, again, record_success(again, probe)]
    assert [(step.state, step.generation) for step in steps] == [
        (State.CLOSED, 0),
        (State.OPEN, 1),
        (State.HALF_OPEN, 2),
        (State.HALF_OPEN, 2),
        (State.HALF_OPEN, 3),
        (State.CLOSED, 4),
    ]


def test_a_page_calls_it_by_what_it_means_for_the_next_call() -> None:
    assert describe_state(Breaker(), NOON) == "closed"
    assert describe_state(opened(), NOON) == "open"
    assert describe_state(opened(), at(15)) == "half_open"
    assert describe_state(probing()[0], at(16)) == "half_open"
    assert describe_state(fail(Breaker(), F.RATE_LIMITED, retry_after_s=9), NOON) == "resting"


def test_a_lane_that_has_recovered_is_given_twice_as_many_turns_each_second_until_it_has_all() -> None:
    given = [ramp(20, closed_s=seconds) for seconds in (0.0, 0.9, 1.0, 2.0, 3.0, 4.0, 3_600.0, 1e9)]

    assert given == [2, 2, 4, 8, 16, 20, 20, 20]
    assert ramp(1, closed_s=0.0) == 1
