"""The story of a turn, stepped without a clock: what is tried, what is not, and what is told at the end (T1 to T5)."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from companion.engine import Answered, Broken, Limits, ReplyText, TurnProgress, run_turn
from companion.prompt import Exchange, PromptDraft
from routing.adapters.scripted import ScriptedAdapter, Step, finished
from routing.chain import Caller, LaneCursor, Unguarded
from routing.contracts import Lane
from routing.errors import CallFailed, FailureClass
from tests.chains import lane

DRAFT = PromptDraft(
    system="You are Robin.", instruction_held="First:", dialogue=[], held=[], question="Hello?"
)
BEFORE = Exchange(questions=("Before?",), reply="Yes.")
F = FailureClass


@dataclass
class Clock:
    """Time that passes only while a task sleeps."""

    at: float = 0.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += seconds


@dataclass
class Stage:
    """A turn with scripted lanes."""

    adapter: ScriptedAdapter
    clock: Clock
    progress: TurnProgress
    events: list[ReplyText | Answered | Broken]

    @property
    def said(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, ReplyText))

    @property
    def end(self) -> Answered | Broken:
        last = self.events[-1]
        assert not isinstance(last, ReplyText)
        return last

    @property
    def lanes(self) -> list[str]:
        return [call.lane.name for call in self.adapter.calls]


async def play(
    *scripts: Sequence[Step], lanes: list[Lane] | None = None, draft: PromptDraft = DRAFT, **limits: Any
) -> Stage:
    adapter, clock = ScriptedAdapter(*scripts), Clock()
    chain = tuple(lanes or [lane("one"), lane("two")])
    facts: dict[str, Any] = {"seconds": 60.0, "attempts": 4, "random": lambda: 1.0} | limits
    progress = TurnProgress(LaneCursor(chain, Unguarded()), Limits(now=clock.now, sleep=clock.sleep, **facts))
    events: AsyncIterator[ReplyText | Answered | Broken] = run_turn(
        draft,
        progress,
        Caller({"openai": adapter}),
        reference="turn-1",
    )
    return Stage(adapter, clock, progress, [event async for event in events])


async def test_a_reply_is_answered_by_the_first_lane_and_nothing_else_is_asked() -> None:
    stage = await play(["Hello ", "Rosa.", finished()])
    assert stage.said == "Hello Rosa."
    assert isinstance(stage.end, Answered)
    assert stage.end.lane.name == "one"
    assert [report.words for report in stage.end.attempts] == [2]


@pytest.mark.parametrize("failure", [F.NETWORK, F.SERVER_ERROR, F.OVERLOADED, F.RATE_LIMITED])
async def test_a_call_worth_another_attempt_waits_with_jitter_and_asks_again(failure: FailureClass) -> None:
    stage = await play([failure], ["Here.", finished()])
    assert stage.said == "Here."
    assert stage.lanes == ["one", "one"]
    assert len(stage.clock.slept) == 1 and stage.clock.slept[0] > 0
    assert isinstance(stage.end, Answered)
    assert [report.failure for report in stage.end.attempts] == [failure, None]
    assert stage.end.attempts[1].waited_s == stage.clock.slept[0]


@pytest.mark.parametrize("failure", list(F))
@pytest.mark.parametrize("dialogue", [[], [BEFORE]], ids=["first turn", "later turn"])
@pytest.mark.parametrize("chain", [["one"], ["one", "larger"]], ids=["alone", "with another"])
async def test_after_the_first_word_nothing_is_asked_again_whatever_the_failure(
    failure: FailureClass, dialogue: list[Exchange], chain: list[str]
) -> None:
    lanes = [lane(name, context_tokens=8_000 * place) for place, name in enumerate(chain, start=1)]
    script: list[Step] = ["One word", failure]
    stage = await play(
        script, ["never asked", finished()], lanes=lanes, draft=replace(DRAFT, dialogue=dialogue)
    )
    assert stage.said == "One word"
    assert len(stage.adapter.calls) == 1
    assert isinstance(stage.end, Broken)
    assert stage.end.failure is failure
    assert stage.end.attempts[0].words == 2


@pytest.mark.parametrize("failure", [F.MISCONFIGURED, F.BAD_REQUEST, F.REFUSED, F.UNKNOWN, F.CANCELLED])
async def test_what_another_attempt_cannot_mend_goes_to_no_other_lane(failure: FailureClass) -> None:
    stage = await play([failure])
    assert isinstance(stage.end, Broken)
    assert stage.lanes == ["one"]
    assert stage.clock.slept == []


async def test_a_full_second_lane_goes_on_to_a_third() -> None:
    chain = [lane("one"), lane("two"), lane("three")]
    stage = await play([F.QUOTA], [F.LOCAL_LIMIT], ["From three.", finished()], lanes=chain)
    assert stage.lanes == ["one", "two", "three"]
    assert isinstance(stage.end, Answered)
    assert stage.clock.slept == []


async def test_a_full_last_lane_is_waited_for_spends_no_attempt_and_is_one_entry_on_record() -> None:
    full: list[Sequence[Step]] = [[F.LOCAL_LIMIT]] * 6
    stage = await play([F.QUOTA], *full, ["At last.", finished()], attempts=2)
    assert isinstance(stage.end, Answered)
    assert stage.said == "At last."
    assert [(one.lane, one.failure) for one in stage.end.attempts] == [
        ("one", F.QUOTA),
        ("two", F.LOCAL_LIMIT),
        ("two", None),
    ]
    assert stage.clock.slept == [0.5, 1.0, 2.0, 2.0, 2.0, 2.0]


async def test_a_full_last_lane_pauses_the_turn_once_its_time_is_up() -> None:
    stage = await play(*[[F.LOCAL_LIMIT]] * 40, lanes=[lane("one")], seconds=20.0)
    assert isinstance(stage.end, Broken)
    assert stage.end.failure is F.LOCAL_LIMIT
    assert len(stage.end.attempts) == 1
    assert 17 < sum(stage.clock.slept) < 20


@pytest.mark.parametrize("failure", [F.FIRST_WORD_TIMEOUT, F.IDLE_TIMEOUT, F.INCOMPLETE, F.EMPTY, F.QUOTA])
async def test_a_lane_that_is_silent_or_spent_hands_over_to_the_next_at_once(failure: FailureClass) -> None:
    stage = await play([failure], ["From two.", finished()])
    assert stage.lanes == ["one", "two"]
    assert stage.clock.slept == []


async def test_white_space_alone_is_not_a_word_and_leaves_the_next_lane_open() -> None:
    stage = await play(["\n\n ", F.INCOMPLETE], ["\n Really.", finished()])
    assert stage.said == "Really."
    assert stage.lanes == ["one", "two"]
    assert [event.opens for event in stage.events if isinstance(event, ReplyText)] == [True]


async def test_the_attempts_of_a_turn_are_one_budget_over_all_lanes() -> None:
    stage = await play(*([F.SERVER_ERROR] for _ in range(4)))
    assert len(stage.adapter.calls) == 4
    assert stage.lanes == ["one", "one", "two", "two"]
    assert isinstance(stage.end, Broken)
    assert len(stage.end.attempts) == 4


async def test_a_retry_after_that_does_not_fit_the_turns_time_is_not_waited_for() -> None:
    limited = CallFailed(F.RATE_LIMITED, status=429, retry_after_s=300)
    stage = await play([limited], ["From two.", finished()])
    assert stage.lanes == ["one", "two"]
    assert stage.clock.slept == []


async def test_a_retry_after_that_fits_is_honoured() -> None:
    limited = CallFailed(F.RATE_LIMITED, status=429, retry_after_s=1.5)
    stage = await play([limited], ["At last.", finished()])
    assert stage.lanes == ["one", "one"]
    assert stage.clock.slept[0] >= 1.5


async def test_too_long_goes_only_to_a_lane_with_a_larger_window() -> None:
    lanes = [
        lane("small", context_tokens=4_000),
        lane("same", context_tokens=4_000),
        lane("large", context_tokens=64_000),
    ]
    stage = await play([F.TOO_LONG], ["It fits.", finished()], lanes=lanes)
    assert stage.lanes == ["small", "large"]
    assert isinstance((await play([F.TOO_LONG], lanes=lanes[:2])).end, Broken)


async def test_what_is_too_long_for_every_lane_is_asked_once_more_without_what_was_said_before() -> None:
    draft = PromptDraft(system="s", instruction_held="i", dialogue=[BEFORE], held=["Held?"], question="Now?")
    stage = await play([F.TOO_LONG], ["It fits.", finished()], lanes=[lane("one")], draft=draft)
    assert stage.said == "It fits."
    before, after = (call.ask.messages for call in stage.adapter.calls)
    assert [message.text for message in before[1:3]] == ["Before?", "Yes."]
    assert [message.role for message in after] == ["system", "user"]
    assert "Held?" in after[1].text and "Now?" in after[1].text
    again = await play([F.TOO_LONG], [F.TOO_LONG], lanes=[lane("one")], draft=draft)
    assert isinstance(again.end, Broken) and len(again.lanes) == 2


async def test_a_reply_says_which_held_questions_were_asked_along() -> None:
    held = ["word " * 800] * 8
    draft = PromptDraft(system="s", instruction_held="i", dialogue=[], held=held, question="Now?")
    stage = await play(["Here.", finished()], lanes=[lane("large", context_tokens=64_000)], draft=draft)
    assert stage.end.held == tuple(range(8))
    narrow = await play(["Here.", finished()], lanes=[lane("small", context_tokens=8_000)], draft=draft)
    assert 0 < len(narrow.end.held) < 8
    assert narrow.end.held == tuple(range(len(narrow.end.held)))


async def test_a_silent_last_lane_is_left_in_time_for_another_attempt_while_there_is_one() -> None:
    stage = await play([F.FIRST_WORD_TIMEOUT], ["Late.", finished()])
    first, last = (call.clocks for call in stage.adapter.calls)
    assert first.first_word_s == last.first_word_s == 2.0
    assert (first.reply_s, last.reply_s) == (300.0, 300.0)


async def test_a_silent_only_lane_is_asked_as_often_as_the_turn_allows_and_bounded_by_its_time_alone_at_last() -> (
    None
):
    stage = await play(*[[F.FIRST_WORD_TIMEOUT]] * 3, lanes=[lane("one")], attempts=3)
    assert stage.lanes == ["one"] * 3
    assert [call.clocks.first_word_s for call in stage.adapter.calls] == [2.0, 2.0, None]
    assert stage.adapter.calls[-1].clocks.total_s <= 60.0


async def test_a_call_repeated_for_free_does_not_count_as_the_last_attempt() -> None:
    stage = await play([F.NETWORK_REUSED], [F.EMPTY], ["Here.", finished()], lanes=[lane("one")], attempts=2)
    assert [call.clocks.first_word_s for call in stage.adapter.calls] == [2.0, 2.0, None]


async def test_a_silent_lane_is_not_left_when_no_attempt_as_long_has_room() -> None:
    slow = lane("one", first_word_ms=40_000)
    stage = await play(["Here.", finished()], lanes=[slow])
    assert stage.adapter.calls[0].clocks.first_word_s is None
    in_time = await play(["Here.", finished()], lanes=[slow], seconds=80.0)
    assert in_time.adapter.calls[0].clocks.first_word_s == 40.0


async def test_each_lane_is_asked_for_a_reply_of_its_own_length_and_keeps_room_for_it() -> None:
    dialogue = [Exchange(questions=(f"question {number}",), reply="answer " * 300) for number in range(20)]
    lanes = [lane("short", max_tokens=500, reply_ms=90_000), lane("long", max_tokens=4_000)]
    stage = await play([F.EMPTY], ["Yes.", finished()], lanes=lanes, draft=replace(DRAFT, dialogue=dialogue))
    short, long = stage.adapter.calls
    assert (short.ask.max_tokens, long.ask.max_tokens) == (500, 4_000)
    assert (short.clocks.reply_s, long.clocks.reply_s) == (90.0, 300.0)
    assert len(short.ask.messages) > len(long.ask.messages)


async def test_each_lane_gets_a_prompt_that_fits_its_own_window() -> None:
    dialogue = [Exchange(questions=(f"question {number}",), reply="answer " * 300) for number in range(20)]
    draft = PromptDraft(system="s", instruction_held="i", dialogue=dialogue, held=[], question="Hello?")
    lanes = [lane("large", context_tokens=64_000), lane("small", context_tokens=4_000)]
    stage = await play([F.EMPTY], ["Yes.", finished()], lanes=lanes, draft=draft)
    large, small = (len(call.ask.messages) for call in stage.adapter.calls)
    assert large > small


async def test_leaving_in_the_middle_closes_the_call_and_keeps_it_on_record() -> None:
    adapter, clock = ScriptedAdapter(["One ", "two ", "three", finished()]), Clock()
    cursor = LaneCursor((lane("one"),), Unguarded())
    limits = Limits(seconds=60, attempts=4, now=clock.now, sleep=clock.sleep, random=lambda: 1.0)
    progress = TurnProgress(cursor, limits)
    events = run_turn(DRAFT, progress, Caller({"openai": adapter}), reference="turn-1")
    async for _ in events:
        break
    assert adapter.open == 1
    await events.aclose()  # type: ignore[attr-defined]
    assert adapter.open == 0
    assert [(report.failure, report.words) for report in progress.reports] == [(F.CANCELLED, 1)]


async def test_leaving_after_the_end_adds_nothing_to_the_record() -> None:
    stage = await play([F.NETWORK], ["Here.", finished()])
    assert [report.failure for report in stage.progress.reports] == [F.NETWORK, None]


async def test_a_long_wait_is_left_for_a_lane_that_is_free_and_kept_where_there_is_none() -> None:
    limited = CallFailed(F.RATE_LIMITED, status=429, retry_after_s=20)
    assert (await play([limited], ["From two.", finished()])).lanes == ["one", "two"]
    alone = await play([limited], ["At last.", finished()], lanes=[lane("one")])
    assert alone.lanes == ["one", "one"]
    assert alone.clock.slept[0] >= 20
