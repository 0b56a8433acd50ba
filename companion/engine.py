"""The course of a turn, failing or not, on one page. PURE.

When a call fails, every turn takes the same steps in this order:

    1. The call fails                  every failure arrives as one CallFailed with a class from a closed list
    2. Wait with jitter                `retry.decide` says whether, where and after how long to ask again
    3. Stop once words have landed     after the first visible word no call is made again
    4. Pause, don't fail               what was said stays; the turn ends as Broken, never as an exception
    5. Record the whole story          every attempt is reported, and `ledger.close` stores it with the turn
    6. Come back to the question       the next turn asks the held questions first, and opens with "I am back"

Which lane is called is chosen by the turn's `LaneCursor`, which passes over lanes whose breaker is open.
"""

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Protocol

from companion.doubt import (
    CAUSED_BY_CONTENT,
    NONE_GIVEN_UP,
    POSSIBLY_CAUSED_BY_CONTENT,
    GivenUp,
    classify_held_failure,
    give_up,
)
from companion.prompt import PromptDraft, choose_held, write_prompt
from routing import retry
from routing.chain import LaneCursor, SkippedLane
from routing.contracts import Ask, AttemptReport, Clocks, Finished, Lane, Words
from routing.errors import CallFailed, FailureClass

REASONING_TIME_FACTOR = 3.0
"""Multiplies the time to the first word while a model reasons."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplyText:
    """Visible words. `opens` is true for the first of a turn."""

    text: str
    opens: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """The reply is complete: the provider sent a known terminal reason."""

    lane: Lane
    model: str
    truncated: bool
    attempts: tuple[AttemptReport, ...]
    passed_over: tuple[SkippedLane, ...] = ()
    held: tuple[int, ...] = ()
    """Places in `PromptDraft.held` of the questions that were asked along in the last call."""
    failed_along: Mapping[int, FailureClass] = field(default_factory=dict)
    """Places of those that were asked along in a call that failed before a word, with its class; see `doubt`."""
    given_up: GivenUp = NONE_GIVEN_UP
    """The doubted questions that were left out of the answered call."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Broken:
    """The reply broke off or never began."""

    failure: FailureClass
    lane: Lane
    attempts: tuple[AttemptReport, ...]
    passed_over: tuple[SkippedLane, ...] = ()
    held: tuple[int, ...] = ()
    """Places in `PromptDraft.held` of the questions that were asked along in the last call."""
    failed_along: Mapping[int, FailureClass] = field(default_factory=dict)
    """Places of those that were asked along in a call that failed before a word, with its class; see `doubt`."""


class LaneCaller(Protocol):
    """One call to one lane."""

    def call(self, lane: Lane, ask: Ask, clocks: Clocks) -> AsyncIterator[Words | Finished]: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """The one budget of a turn over all lanes, and its sources of time and chance."""

    seconds: float
    """Until the first word, over all attempts. What is being spoken is bounded by its lane's `reply_ms`."""
    attempts: int
    now: Callable[[], float]
    """Monotonic seconds."""
    sleep: Callable[[float], Awaitable[object]]
    random: Callable[[], float]
    """From 0 to 1."""
    whole_s: float = math.inf
    """Seconds for the whole turn with its words, if the caller has a limit."""


@dataclass(slots=True)
class _OpenCall:
    """The call that is running. `words` counts the words that were yielded."""

    started_at: float
    words: int = 0
    bytes_received: int = 0


@dataclass(slots=True)
class TurnProgress:
    """How far a turn has come: its place in the chain, its time, and its attempts.

    The driver of the turn holds it, so that the record is complete even if the turn is cancelled.
    """

    cursor: LaneCursor
    limits: Limits
    began_at: float = field(init=False)
    waited_s: float = 0.0
    held: tuple[int, ...] = ()
    """Places in `PromptDraft.held` of the questions in the prompt of the last call."""
    failed_along: dict[int, FailureClass] = field(default_factory=dict)
    given_up: GivenUp = NONE_GIVEN_UP
    """What is given up if the running call is answered."""
    reports: list[AttemptReport] = field(default_factory=list)
    _call: _OpenCall | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.began_at = self.limits.now()

    @property
    def left_s(self) -> float:
        """Seconds left of the budget."""
        return self.limits.seconds - self._elapsed_s

    @property
    def _elapsed_s(self) -> float:
        return self.limits.now() - self.began_at

    @property
    def has_used_up_attempts(self) -> bool:
        """Whether the running call is the last that the limits allow. A retry after a dead connection is free."""
        free = any(report.failure is FailureClass.NETWORK_REUSED for report in self.reports)
        return self.calls_made + 1 - free >= self.limits.attempts

    def clocks(self) -> Clocks:
        """The clocks of the next call."""
        lane = self.cursor.lane
        first_word: float | None = lane.first_word_ms / 1000
        if self.cursor.is_last and (self.has_used_up_attempts or self.left_s < 2 * lane.first_word_ms / 1000):
            # Leaving a silent lane is useless if no time is left for another attempt of the same length.
            first_word = None
        return Clocks(
            connect_s=lane.connect_ms / 1000,
            first_word_s=first_word,
            reasoning_s=None if first_word is None else first_word * REASONING_TIME_FACTOR,
            idle_s=lane.idle_ms / 1000,
            total_s=max(0.001, self.left_s),
            reply_s=lane.reply_ms / 1000,
            whole_s=max(0.001, self.limits.whole_s - self._elapsed_s),
        )

    def start_call(self) -> _OpenCall:
        self._call = _OpenCall(started_at=self.limits.now())
        return self._call

    def end_call(self, end: Finished | CallFailed) -> None:
        """Add the call to the turn's record and report it to the lane's breaker."""
        call, self._call = self._call, None
        assert call is not None, "end_call without start_call"
        failed = end if isinstance(end, CallFailed) else None
        lane = self.cursor.lane
        self.cursor.report(failed)
        self._add_report(
            AttemptReport(
                lane=lane.name,
                model=end.model if isinstance(end, Finished) else lane.model,
                failure=failed.failure if failed else None,
                status=failed.status if failed else 200,
                code=failed.code if failed else None,
                waited_s=round(self.waited_s, 4),
                started_s=round(call.started_at - self.began_at, 4),
                took_s=round(self.limits.now() - call.started_at, 4),
                bytes_received=end.bytes_received,
                words=call.words,
                usage=end.usage if isinstance(end, Finished) else None,
            )
        )

    @property
    def calls_made(self) -> int:
        """Attempts that called a provider. A lane that was full was not called."""
        return sum(report.failure is None or retry.RULES[report.failure].is_call for report in self.reports)

    def _add_report(self, report: AttemptReport) -> None:
        last = self.reports[-1] if self.reports else None
        if (
            last is not None
            and last.lane == report.lane
            and last.failure is report.failure is FailureClass.LOCAL_LIMIT
        ):
            # Repeated tries to get a slot of one lane are one entry in the record.
            took_s = round(self.limits.now() - self.began_at - last.started_s, 4)
            self.reports[-1] = replace(last, took_s=took_s)
        else:
            self.reports.append(report)

    def close(self) -> None:
        """Record a call that was cancelled, and release its probe."""
        if self._call is not None:
            received = self._call.bytes_received
            self.end_call(
                CallFailed(FailureClass.CANCELLED, status=200 if received else None, bytes_received=received)
            )
        # Also after a reported call: it releases a probe that was taken for a call that never began.
        self.cursor.leave()

    def to_answered(self, end: Finished) -> Answered:
        """The result of a turn whose reply is complete."""
        return Answered(
            lane=self.cursor.lane,
            model=end.model,
            truncated=end.truncated,
            attempts=tuple(self.reports),
            passed_over=self.cursor.passed_over,
            held=self.held,
            failed_along=self.failed_along,
            given_up=self.given_up,
        )

    def to_broken(self, failure: FailureClass) -> Broken:
        """The result of any other turn."""
        return Broken(
            failure=failure,
            lane=self.cursor.lane,
            attempts=tuple(self.reports),
            passed_over=self.cursor.passed_over,
            held=self.held,
            failed_along=self.failed_along,
        )


async def run_turn(
    draft: PromptDraft, progress: TurnProgress, caller: LaneCaller, *, reference: str
) -> AsyncIterator[ReplyText | Answered | Broken]:
    """Call lane after lane until a reply is complete or no call is left. The last event is Answered or Broken."""
    try:
        while True:
            lane = await progress.cursor.enter()
            # Held questions stand first in the prompt (step 6 of the turn that broke before this one).
            window = lane.context_tokens - lane.max_tokens
            progress.held = choose_held(draft, window_tokens=window)
            messages = write_prompt(draft, window_tokens=window)
            ask = Ask(reference=reference, messages=messages, max_tokens=lane.max_tokens)
            call = progress.start_call()
            try:
                async with aclosing(caller.call(lane, ask, progress.clocks())) as events:  # type: ignore[type-var]
                    async for event in events:
                        if isinstance(event, Finished):
                            progress.end_call(event)
                            yield progress.to_answered(event)
                            return
                        call.bytes_received = event.bytes_received
                        # Blanks before the first word are not shown: the drafted openings go before a visible word.
                        text = event.text if call.words else event.text.lstrip()
                        if text:
                            opens = not call.words
                            call.words += len(text.split())
                            yield ReplyText(text=text, opens=opens)
                # The adapter's stream ended without `Finished`.
                failure = CallFailed(FailureClass.INCOMPLETE)
            except CallFailed as failed:
                failure = failed
            # Step 1: the call fails.
            progress.end_call(failure)
            if not call.words and failure.failure in POSSIBLY_CAUSED_BY_CONTENT:
                progress.failed_along |= dict.fromkeys(
                    progress.held, classify_held_failure(failure.failure, failure.status)
                )
            # Step 3: stop once words have landed. Nothing below this line may run after a word.
            if not call.words:
                # Leave out questions that made such calls fail before.
                if shorter := _leave_out_doubted(draft, progress, failure, CAUSED_BY_CONTENT):
                    draft = shorter
                    continue
                if _should_drop_dialogue(draft, progress, failure):
                    progress.waited_s = 0.0
                    draft = replace(draft, dialogue=())
                    continue
                # Step 2: wait with jitter.
                if await _prepare_retry(progress, failure):
                    continue
                if shorter := _leave_out_doubted(draft, progress, failure, POSSIBLY_CAUSED_BY_CONTENT):
                    draft = shorter
                    continue
            # Steps 4 and 5: pause, don't fail; with the whole story.
            yield progress.to_broken(failure.failure)
            return
    finally:
        progress.close()


def _leave_out_doubted(
    draft: PromptDraft, progress: TurnProgress, failure: CallFailed, classes: Collection[FailureClass]
) -> PromptDraft | None:
    """The draft without the doubted questions, or if that failed, with the new message only. None: no such draft."""
    if failure.failure not in classes or not progress.held or progress.left_s <= retry.SHORTEST_CALL_S:
        return None
    if doubted := draft.doubted.intersection(progress.held):
        left_out = draft.left_out | doubted
    elif draft.left_out:
        left_out = frozenset(range(len(draft.held)))
    else:
        return None
    progress.waited_s = 0.0
    progress.given_up = give_up(draft.doubted, left_out, progress.failed_along)
    return replace(draft, left_out=left_out)


def _should_drop_dialogue(draft: PromptDraft, progress: TurnProgress, failure: CallFailed) -> bool:
    """Whether the prompt was too long for the largest window, and may fit without its dialogue."""
    too_long = failure.failure is FailureClass.TOO_LONG and not progress.cursor.leads_to_a_larger_window
    return too_long and bool(draft.dialogue) and progress.left_s > retry.SHORTEST_CALL_S


async def _prepare_retry(progress: TurnProgress, failure: CallFailed) -> bool:
    """Step 2: wait with jitter or move to the next lane. False: the class or the budget allows no retry."""
    decision = retry.decide(
        failure=failure.failure,
        retry_after_s=failure.retry_after_s,
        attempts_made=progress.calls_made,
        attempts_on_lane=progress.cursor.tries_here,
        attempts_allowed=progress.limits.attempts,
        more_lanes=progress.cursor.leads_on(failure.failure),
        larger_window_left=progress.cursor.leads_to_a_larger_window,
        seconds_left=progress.left_s,
        random=progress.limits.random,
        reused_before=any(report.failure is FailureClass.NETWORK_REUSED for report in progress.reports[:-1]),
    )
    match decision:
        case retry.Again(after_s=after_s):
            progress.waited_s = after_s
            await progress.limits.sleep(after_s)
            return True
        case retry.NextLane():
            # Another lane is asked at once. Only a lane that failed is given time.
            progress.waited_s = 0.0
            progress.cursor.move_on(failure.failure)
            return True
        case _:
            return False
