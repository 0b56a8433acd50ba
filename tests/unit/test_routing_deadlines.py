"""Four clocks as one moving deadline."""

from typing import Any

from routing.adapters.deadlines import Deadlines
from routing.contracts import Clocks
from routing.errors import FailureClass as F


def deadlines(**changes: Any) -> Deadlines:
    given = {
        "connect_s": 3.0,
        "first_word_s": 8.0,
        "reasoning_s": 24.0,
        "idle_s": 10.0,
        "total_s": 60.0,
        "reply_s": 300.0,
    }
    return Deadlines(Clocks(**{**given, **changes}), now=100.0)


def test_the_first_word_is_due_from_the_start() -> None:
    assert deadlines().at == 108.0


def test_the_last_lane_has_the_whole_time_for_its_first_word() -> None:
    assert deadlines(first_word_s=None, reasoning_s=None).at == 160.0


def test_no_clock_before_the_first_word_runs_beyond_the_total_and_none_beyond_the_callers_time() -> None:
    short = deadlines(total_s=5.0)
    assert short.at == 105.0
    short.reasoned(101.0)
    assert short.at == 105.0
    whole = deadlines(whole_s=5.0)
    assert whole.at == 105.0
    whole.spoke(101.0)
    assert whole.at == 105.0


def test_reasoning_moves_the_first_word_as_long_as_it_goes_on() -> None:
    clocks = deadlines()
    clocks.reasoned(107.0)
    assert clocks.at == 117.0
    clocks.reasoned(116.0)
    assert clocks.at == 124.0


def test_early_reasoning_does_not_bring_the_first_word_forward() -> None:
    clocks = deadlines(first_word_s=20.0)
    clocks.reasoned(101.0)
    assert clocks.at == 120.0


def test_without_a_cap_reasoning_moves_nothing() -> None:
    clocks = deadlines(reasoning_s=None)
    clocks.reasoned(107.0)
    assert clocks.at == 108.0


def test_every_word_starts_the_silence_anew() -> None:
    clocks = deadlines()
    clocks.spoke(105.0)
    assert clocks.at == 115.0
    clocks.spoke(114.0)
    assert clocks.at == 124.0


def test_reasoning_after_words_does_not_break_the_silence() -> None:
    clocks = deadlines()
    clocks.spoke(105.0)
    clocks.reasoned(110.0)
    assert clocks.at == 115.0


def test_what_expired_is_named() -> None:
    clocks = deadlines()
    assert clocks.expired() == (F.FIRST_WORD_TIMEOUT, "first_word_timeout")
    clocks.spoke(105.0)
    assert clocks.expired() == (F.IDLE_TIMEOUT, "idle_timeout")
    clocks.spoke(401.0)
    assert clocks.at == 405.0
    assert clocks.expired() == (F.REPLY_TIMEOUT, "reply_timeout")


def test_a_reply_that_keeps_speaking_outlives_the_time_for_the_first_word() -> None:
    clocks = deadlines(total_s=8.0, reply_s=20.0)
    clocks.spoke(107.0)
    clocks.spoke(116.0)
    assert clocks.at == 126.0
    clocks.spoke(121.0)
    assert clocks.at == 127.0, "from the first word"


def test_the_time_for_the_first_word_that_is_over_is_named_as_the_turns() -> None:
    clocks = deadlines(first_word_s=None, reasoning_s=None)
    assert clocks.expired() == (F.FIRST_WORD_TIMEOUT, "total")
