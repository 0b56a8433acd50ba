"""Asks a question of our own along a way, through the same engine and adapters as a participant's. No database."""

import asyncio
import math
import random
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime

from companion.engine import Answered, Broken, LaneCaller, Limits, ReplyText, TurnProgress, run_turn
from companion.prompt import PromptDraft
from companion.turn_policy import TurnPolicy
from ops.lane_checks.answers import LaneAnswer
from routing.chain import LaneCursor, Unguarded
from routing.contracts import AttemptReport, Lane
from routing.errors import FailureClass


@dataclass(frozen=True, kw_only=True, slots=True)
class Manner:
    """How questions are asked: as the character would be, within a turn's time. `now` is the wall clock."""

    system_prompt: str
    instruction_held: str
    seconds: float
    attempts: int
    now: Callable[[], datetime]
    whole_s: float = math.inf
    """For the words as well."""


def manner_of(policy: TurnPolicy, *, now: Callable[[], datetime], at_most_s: float = math.inf) -> Manner:
    """Questions as turns ask them under this policy, in no more than `at_most_s` seconds."""
    return Manner(
        system_prompt=policy.system_prompt,
        instruction_held=policy.lines.instruction_held,
        seconds=min(policy.turn_budget_s, at_most_s),
        whole_s=at_most_s,
        attempts=policy.attempts,
        now=now,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Heard:
    """What came of one question. The text is a reply to us and is kept nowhere."""

    lane: str
    """Which lane answered, or was asked last."""
    at: datetime
    text: str
    pieces: int
    """How many times words came: one means that nothing was streamed."""
    failure: FailureClass | None
    truncated: bool
    first_word_ms: int | None
    attempts: tuple[AttemptReport, ...]

    @property
    def is_whole(self) -> bool:
        return self.failure is None

    @property
    def code(self) -> str:
        """The short code of the last attempt; empty if it was whole."""
        return (self.attempts[-1].code or "") if self.attempts and self.failure else ""

    @property
    def is_silence(self) -> bool:
        """Whether nothing came in its time."""
        return self.failure in (FailureClass.FIRST_WORD_TIMEOUT, FailureClass.IDLE_TIMEOUT)

    def answer(self, how: str, *, ok: bool | None = None, lane: str | None = None) -> LaneAnswer:
        """The shape in which it is kept: no word of it."""
        return LaneAnswer(
            lane=lane or self.lane,
            at=self.at,
            ok=self.is_whole if ok is None else ok,
            failure=self.failure.value if self.failure else "",
            first_word_ms=self.first_word_ms,
            words=len(self.text.split()),
            how=how,  # type: ignore[arg-type]
            code=self.code,
        )


async def ask(question: str, lanes: tuple[Lane, ...], caller: LaneCaller, *, manner: Manner) -> Heard:
    """One question along these lanes, in their order. Breakers are not asked: a drill has to see every failure."""
    clock = asyncio.get_running_loop().time
    draft = PromptDraft(
        system=manner.system_prompt,
        instruction_held=manner.instruction_held,
        dialogue=(),
        held=(),
        question=question,
    )
    limits = Limits(
        seconds=manner.seconds,
        whole_s=manner.whole_s,
        attempts=manner.attempts,
        now=clock,
        sleep=asyncio.sleep,
        random=random.random,
    )
    began, at, said = clock(), manner.now(), list[str]()
    first_word: float | None = None
    end: Answered | Broken | None = None
    events = run_turn(draft, TurnProgress(LaneCursor(lanes, Unguarded()), limits), caller, reference="drill")
    async with aclosing(events):  # type: ignore[type-var]
        async for event in events:
            if isinstance(event, ReplyText):
                first_word = clock() if first_word is None else first_word
                said.append(event.text)
            else:
                end = event
    assert end is not None
    return Heard(
        lane=end.lane.name,
        at=at,
        text="".join(said),
        pieces=len(said),
        failure=end.failure if isinstance(end, Broken) else None,
        truncated=isinstance(end, Answered) and end.truncated,
        first_word_ms=None if first_word is None else round((first_word - began) * 1000),
        attempts=end.attempts,
    )
