"""The fallback drill: asks every lane, then the chain with its head unplugged.

A lane that has never carried a request is not a proven fallback. The question is fixed, never a participant's.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

import httpx

from companion.engine import LaneCaller
from ops.lane_checks.answers import LaneAnswer
from ops.lane_checks.lane_call import AskPolicy, LaneReply, ask
from ops.lane_checks.unplugged import HeadUnpluggedCaller, UnpluggedTransport
from routing.contracts import Lane
from routing.errors import FailureClass
from routing.lanes import NORMAL, Routing

QUESTION = (
    "Good day. This is a test; no person waits. Please say in one short sentence that you can be reached."
)
ROUND_TIMEOUT_S = 80.0
"""For each of the two rounds: the worker kills a job after 200 s (`ops/schedule.py`)."""
ATTEMPTS_PER_LANE = 2
"""As many as a turn makes: one lost connection proves nothing about a lane."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DrillResult:
    """The result of a drill. `chain` is None if the chain has one lane, and so no fallback."""

    preset: str
    head: str
    lanes: tuple[LaneAnswer, ...]
    chain: LaneAnswer | None
    head_was_tried: int
    """Connections that the unplugged head refused."""

    @property
    def passed(self) -> bool:
        """Whether every lane gave a whole reply and the chain fell back. False without a fallback."""
        return self.chain is not None and all(answer.ok for answer in self.answers)

    @property
    def answers(self) -> tuple[LaneAnswer, ...]:
        return self.lanes if self.chain is None else (*self.lanes, self.chain)


async def run_drill(
    routing: Routing,
    caller: LaneCaller,
    *,
    build_caller: Callable[[httpx.AsyncClient], LaneCaller],
    policy: AskPolicy,
    preset: str = NORMAL,
    on_answer: Callable[[LaneAnswer], None] = lambda answer: None,
) -> DrillResult:
    """Ask every lane of `routing`, then the chain of `preset` with its head unplugged.

    `build_caller` builds the service's caller over a client; it gets the unplugged client. `on_answer` gets each
    lane's answer when it arrives.
    """
    lanes = await asyncio.gather(
        *(_drill_lane(lane, caller, policy, on_answer) for lane in routing.lanes.values())
    )
    chain = tuple(routing.lanes[name] for name in routing.presets[preset].chain)
    chain_answer, tried = None, 0
    if len(chain) > 1:
        transport = UnpluggedTransport()
        async with httpx.AsyncClient(transport=transport, trust_env=False) as client:
            without_head = HeadUnpluggedCaller(
                head=chain[0].name, unplugged=build_caller(client), real=caller
            )
            reply = await ask(QUESTION, chain, without_head, policy=policy)
        tried = transport.tried
        chain_answer = _judge_fallback(reply, head=chain[0].name, tried=tried)
    return DrillResult(
        preset=preset, head=chain[0].name, lanes=tuple(lanes), chain=chain_answer, head_was_tried=tried
    )


async def _drill_lane(
    lane: Lane, caller: LaneCaller, policy: AskPolicy, on_answer: Callable[[LaneAnswer], None]
) -> LaneAnswer:
    reply = await ask(QUESTION, (lane,), caller, policy=replace(policy, attempts=ATTEMPTS_PER_LANE))
    answer = reply.to_answer("drill")
    on_answer(answer)
    return answer


def _judge_fallback(reply: LaneReply, *, head: str, tried: int) -> LaneAnswer:
    """The chain passed if its head was called and failed as a network does, and another lane gave the whole reply."""
    first = reply.attempts[0]
    fell = tried > 0 and first.lane == head and first.failure is FailureClass.NETWORK
    return reply.to_answer("chain", ok=reply.is_whole and fell and reply.lane != head)
