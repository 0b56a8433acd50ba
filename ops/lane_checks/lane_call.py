"""Asks lanes a fixed question, through the same engine and adapters as a participant's question. No database."""

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
class AskPolicy:
    """How questions are asked: with the character's prompt and a turn's limits. `now` is the wall clock."""

    system_prompt: str
    instruction_held: str
    seconds: float
    attempts: int
    now: Callable[[], datetime]
    whole_s: float = math.inf
    """Limit of the whole call, words included."""


def ask_policy(
    turn_policy: TurnPolicy, *, now: Callable[[], datetime], limit_s: float = math.inf
) -> AskPolicy:
    """The policy that asks as turns do, in at most `limit_s` seconds."""
    return AskPolicy(
        system_prompt=turn_policy.system_prompt,
        instruction_held=turn_policy.lines.instruction_held,
        seconds=min(turn_policy.turn_budget_s, limit_s),
        whole_s=limit_s,
        attempts=turn_policy.attempts,
        now=now,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneReply:
    """The reply to one question. Its text is never stored."""

    lane: str
    """The lane that answered, or was asked last."""
    at: datetime
    text: str
    pieces: int
    """Number of pieces that arrived; one means that the reply was not streamed."""
    failure: FailureClass | None
    truncated: bool
    first_word_ms: int | None
    attempts: tuple[AttemptReport, ...]

    @property
    def is_whole(self) -> bool:
        return self.failure is None

    @property
    def code(self) -> str:
        """The short code of the last attempt; empty if the reply was whole."""
        return (self.attempts[-1].code or "") if self.attempts and self.failure else ""

    @property
    def is_silent(self) -> bool:
        """Whether words stayed out beyond a time limit."""
        return self.failure in (FailureClass.FIRST_WORD_TIMEOUT, FailureClass.IDLE_TIMEOUT)

    def to_answer(self, how: str, *, ok: bool | None = None, lane: str | None = None) -> LaneAnswer:
        """The result to store, without the text."""
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


async def ask(question: str, lanes: tuple[Lane, ...], caller: LaneCaller, *, policy: AskPolicy) -> LaneReply:
    """Ask these lanes in order. Ignores breakers, because a drill must see every failure."""
    clock = asyncio.get_running_loop().time
    draft = PromptDraft(
        system=policy.system_prompt,
        instruction_held=policy.instruction_held,
        dialogue=(),
        held=(),
        question=question,
    )
    limits = Limits(
        seconds=policy.seconds,
        whole_s=policy.whole_s,
        attempts=policy.attempts,
        now=clock,
        sleep=asyncio.sleep,
        random=random.random,
    )
    began, at, pieces = clock(), policy.now(), list[str]()
    first_word: float | None = None
    end: Answered | Broken | None = None
    events = run_turn(draft, TurnProgress(LaneCursor(lanes, Unguarded()), limits), caller, reference="drill")
    async with aclosing(events):  # type: ignore[type-var]
        async for event in events:
            if isinstance(event, ReplyText):
                first_word = clock() if first_word is None else first_word
                pieces.append(event.text)
            else:
                end = event
    assert end is not None
    return LaneReply(
        lane=end.lane.name,
        at=at,
        text="".join(pieces),
        pieces=len(pieces),
        failure=end.failure if isinstance(end, Broken) else None,
        truncated=isinstance(end, Answered) and end.truncated,
        first_word_ms=None if first_word is None else round((first_word - began) * 1000),
        attempts=end.attempts,
    )
