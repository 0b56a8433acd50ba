"""The whole story of a turn, failing or not, on one page. PURE.

When a call fails, every turn takes the same steps in this order:

    1. The call fails                  whatever went wrong arrives as one CallFailed with a class from a closed list
    2. Wait with jitter                `retry.decide` says whether, where and after how long to ask again
    3. Stop once words have landed     after the first visible word nothing is asked again
    4. Pause, don't fail               what was said stays; the turn ends as Broken, never as an exception
    5. Record the whole story          every attempt is reported, and `ledger.close` stores it with the turn
    6. Come back to the question       the next turn asks the held questions first, and opens with "I am back"

Which lane is called is decided by the turn's `LaneCursor`, which passes over those whose breaker is open.
"""

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Protocol

from companion.doubt import MAY_SPEAK_OF_IT, NOTHING, SPEAKS_OF_WHAT_IS_ASKED, GivenUp, class_along, give_up
from companion.prompt import PromptDraft, held_that_fit, write_prompt
from routing import retry
from routing.chain import LaneCursor, SkippedLane
from routing.contracts import Ask, AttemptReport, Clocks, Finished, Lane, Words
from routing.errors import CallFailed, FailureClass

REASONING_MAY_TAKE = 3.0
"""While a model reasons, its first word may come this many times later than usual."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplyText:
    """Visible words. `opens` is true for the first of a turn."""

    text: str
    opens: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """The reply is whole: a recognised terminal reason was seen."""

    lane: Lane
    model: str
    truncated: bool
    attempts: tuple[AttemptReport, ...]
    passed_over: tuple[SkippedLane, ...] = ()
    held: tuple[int, ...] = ()
    """Places in `PromptDraft.held` of the questions that were asked along in the last call."""
    failed_along: Mapping[int, FailureClass] = field(default_factory=dict)
    """Places of those that were asked along in a call that failed before a word, with its class; see `doubt`."""
    given_up: GivenUp = NOTHING
    """Doubted questions that were left out of the call that was answered."""


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
    """The turn's one budget over all lanes, and where time and chance come from."""

    seconds: float
    """Until the first word, over all attempts. What is being spoken is bounded by its lane's `reply_ms`."""
    attempts: int
    now: Callable[[], float]
    """Monotonic seconds."""
    sleep: Callable[[float], Awaitable[object]]
    random: Callable[[], float]
    """From 0 to 1."""
    whole_s: float = math.inf
    """For the words as well, if the caller has no more time."""


@dataclass(slots=True)
class _Call:
    """The call under way. `words` are those said aloud."""

    started: float
    words: int = 0
    bytes_received: int = 0


@dataclass(slots=True)
class TurnProgress:
    """How far a turn has come: its way along the chain, its time, and what has been tried.

    Whoever drives the turn holds it, so that the story is whole even if the turn is ended from outside.
    """

    way: LaneCursor
    limits: Limits
    began: float = field(init=False)
    waited: float = 0.0
    held: tuple[int, ...] = ()
    """Places in `PromptDraft.held` of the questions in the prompt of the last call."""
    failed_along: dict[int, FailureClass] = field(default_factory=dict)
    given_up: GivenUp = NOTHING
    """What is given up if the call under way is answered."""
    reports: list[AttemptReport] = field(default_factory=list)
    _call: _Call | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.began = self.limits.now()

    @property
    def left(self) -> float:
        """Seconds of the budget."""
        return self.limits.seconds - self._gone

    @property
    def _gone(self) -> float:
        return self.limits.now() - self.began

    @property
    def has_used_up_attempts(self) -> bool:
        """Whether the call under way is the last that may be made. One that was repeated for free is not counted."""
        free = any(report.failure is FailureClass.NETWORK_REUSED for report in self.reports)
        return self.calls_made + 1 - free >= self.limits.attempts

    def clocks(self) -> Clocks:
        """Those of the next call."""
        lane = self.way.lane
        first_word: float | None = lane.first_word_ms / 1000
        if self.way.is_last and (self.has_used_up_attempts or self.left < 2 * lane.first_word_ms / 1000):
            # Nothing is gained by leaving a silent lane when there is no time for another attempt as long.
            first_word = None
        return Clocks(
            connect_s=lane.connect_ms / 1000,
            first_word_s=first_word,
            reasoning_s=None if first_word is None else first_word * REASONING_MAY_TAKE,
            idle_s=lane.idle_ms / 1000,
            total_s=max(0.001, self.left),
            reply_s=lane.reply_ms / 1000,
            whole_s=max(0.001, self.limits.whole_s - self._gone),
        )

    def calls(self) -> _Call:
        """A call begins."""
        self._call = _Call(started=self.limits.now())
        return self._call

    def report(self, end: Finished | CallFailed) -> None:
        """The call is over: for the turn's record, and for the lane's breaker."""
        call, self._call = self._call, None
        assert call is not None, "a report without a call"
        failed = end if isinstance(end, CallFailed) else None
        lane = self.way.lane
        self.way.report(failed)
        self._keep(
            AttemptReport(
                lane=lane.name,
                model=end.model if isinstance(end, Finished) else lane.model,
                failure=failed.failure if failed else None,
                status=failed.status if failed else 200,
                code=failed.code if failed else None,
                waited_s=round(self.waited, 4),
                started_s=round(call.started - self.began, 4),
                took_s=round(self.limits.now() - call.started, 4),
                bytes_received=end.bytes_received,
                words=call.words,
                usage=end.usage if isinstance(end, Finished) else None,
            )
        )

    @property
    def calls_made(self) -> int:
        """Attempts that reached for a provider; a full lane was not called."""
        return sum(one.failure is None or retry.RULES[one.failure].is_call for one in self.reports)

    def _keep(self, report: AttemptReport) -> None:
        last = self.reports[-1] if self.reports else None
        full = FailureClass.LOCAL_LIMIT
        if last is not None and last.lane == report.lane and last.failure is report.failure is full:
            # Waiting for a slot of one lane is one entry on record, however often it was looked for.
            took_s = round(self.limits.now() - self.began - last.started_s, 4)
            self.reports[-1] = replace(last, took_s=took_s)
        else:
            self.reports.append(report)

    def leave(self) -> None:
        """However the turn ends: a call that was broken off is on record, and keeps no probe."""
        if self._call is not None:
            heard = self._call.bytes_received
            self.report(
                CallFailed(FailureClass.CANCELLED, status=200 if heard else None, bytes_received=heard)
            )
        self.way.leave()

    def answered(self, end: Finished) -> Answered:
        """The end of a turn whose reply is whole."""
        return Answered(
            lane=self.way.lane,
            model=end.model,
            truncated=end.truncated,
            attempts=tuple(self.reports),
            passed_over=self.way.passed_over,
            held=self.held,
            failed_along=self.failed_along,
            given_up=self.given_up,
        )

    def broken(self, failure: FailureClass) -> Broken:
        """The end of any other."""
        return Broken(
            failure=failure,
            lane=self.way.lane,
            attempts=tuple(self.reports),
            passed_over=self.way.passed_over,
            held=self.held,
            failed_along=self.failed_along,
        )


async def run_turn(
    draft: PromptDraft, course: TurnProgress, caller: LaneCaller, *, reference: str
) -> AsyncIterator[ReplyText | Answered | Broken]:
    """Ask along the way until a reply is whole or nothing more may be tried. Ends with Answered or Broken."""
    try:
        while True:
            lane = await course.way.enter()
            # Held questions stand first in the prompt (step 6 of the turn that broke before this one).
            window = lane.context_tokens - lane.max_tokens
            course.held = held_that_fit(draft, window_tokens=window)
            messages = write_prompt(draft, window_tokens=window)
            ask = Ask(reference=reference, messages=messages, max_tokens=lane.max_tokens)
            call = course.calls()
            try:
                async with aclosing(caller.call(lane, ask, course.clocks())) as pieces:  # type: ignore[type-var]
                    async for piece in pieces:
                        if isinstance(piece, Finished):
                            course.report(piece)
                            yield course.answered(piece)
                            return
                        call.bytes_received = piece.bytes_received
                        text = piece.text if call.words else piece.text.lstrip()
                        if text:
                            opens = not call.words
                            call.words += len(text.split())
                            yield ReplyText(text=text, opens=opens)
                failure = CallFailed(FailureClass.INCOMPLETE)
            except CallFailed as failed:
                failure = failed
            # Step 1: the call fails.
            course.report(failure)
            if not call.words and failure.failure in MAY_SPEAK_OF_IT:
                course.failed_along |= dict.fromkeys(
                    course.held, class_along(failure.failure, failure.status)
                )
            # Step 3: stop once words have landed. Nothing below this line may run after a word.
            if not call.words:
                # Nor is it asked again with a question that has made such calls fail before.
                if lighter := _leave_out(draft, course, failure, SPEAKS_OF_WHAT_IS_ASKED):
                    draft = lighter
                    continue
                if _is_worth_shortening(draft, course, failure):
                    course.waited = 0.0
                    draft = replace(draft, dialogue=())
                    continue
                # Step 2: wait with jitter.
                if await _may_ask_again(course, failure):
                    continue
                if lighter := _leave_out(draft, course, failure, MAY_SPEAK_OF_IT):
                    draft = lighter
                    continue
            # Steps 4 and 5: pause, don't fail; with the whole story.
            yield course.broken(failure.failure)
            return
    finally:
        course.leave()


def _leave_out(
    draft: PromptDraft, course: TurnProgress, failure: CallFailed, classes: Collection[FailureClass]
) -> PromptDraft | None:
    """The draft without the doubted questions; where it failed without them, with the new message alone."""
    if failure.failure not in classes or not course.held or course.left <= retry.SHORTEST_CALL_S:
        return None
    if doubted := draft.doubted.intersection(course.held):
        left_out = draft.left_out | doubted
    elif draft.left_out:
        left_out = frozenset(range(len(draft.held)))
    else:
        return None
    course.waited = 0.0
    course.given_up = give_up(draft.doubted, left_out, course.failed_along)
    return replace(draft, left_out=left_out)


def _is_worth_shortening(draft: PromptDraft, course: TurnProgress, failure: CallFailed) -> bool:
    """Whether it was too long for the largest window, and could be asked without what was said before."""
    too_long = failure.failure is FailureClass.TOO_LONG and not course.way.leads_to_a_larger_window
    return too_long and bool(draft.dialogue) and course.left > retry.SHORTEST_CALL_S


async def _may_ask_again(course: TurnProgress, failure: CallFailed) -> bool:
    """Step 2: wait with jitter where the class and the budget allow it, here or on the next lane."""
    decision = retry.decide(
        failure=failure.failure,
        retry_after_s=failure.retry_after_s,
        attempts_made=course.calls_made,
        attempts_on_lane=course.way.tries_here,
        attempts_allowed=course.limits.attempts,
        more_lanes=course.way.leads_on(failure.failure),
        larger_window_left=course.way.leads_to_a_larger_window,
        seconds_left=course.left,
        random=course.limits.random,
        reused_before=any(report.failure is FailureClass.NETWORK_REUSED for report in course.reports[:-1]),
    )
    match decision:
        case retry.Again(after_s=after_s):
            course.waited = after_s
            await course.limits.sleep(after_s)
            return True
        case retry.NextLane():
            course.waited = 0.0
            course.way.move_on(failure.failure)
            return True
        case _:
            return False
