"""The fallback drill: every lane is asked, and the chain once more with its head unplugged.

A lane that has never carried a request is not a fallback. The question is ours, never a participant's.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

import httpx

from companion.engine import LaneCaller
from ops.lane_checks.answers import LaneAnswer
from ops.lane_checks.asking import Heard, Manner, ask
from ops.lane_checks.unplugged import HeadUnplugged, Unplugged
from routing.contracts import Lane
from routing.errors import FailureClass
from routing.lanes import NORMAL, Routing

QUESTION = "Good day. This is a test, and nobody is waiting. Please say in one short sentence that you can be reached."
AT_MOST_S = 80.0
"""For each of its two rounds, however long a turn may take: the worker ends a job after 200 s (`ops/schedule.py`)."""
TRIES_ON_ONE_LANE = 2
"""As often as a turn would ask it: one lost connection proves nothing about a lane."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Drilled:
    """What a drill found. `chain` is None where the chain has one lane: there is nothing to fall back on."""

    preset: str
    head: str
    lanes: tuple[LaneAnswer, ...]
    chain: LaneAnswer | None
    head_was_tried: int
    """Connections that the unplugged head refused."""

    @property
    def passed(self) -> bool:
        """Whether every lane answered whole and the chain reached one beyond its head. Without one: no."""
        return self.chain is not None and all(answer.ok for answer in self.answers)

    @property
    def answers(self) -> tuple[LaneAnswer, ...]:
        return self.lanes if self.chain is None else (*self.lanes, self.chain)


async def drill(
    routing: Routing,
    caller: LaneCaller,
    *,
    over: Callable[[httpx.AsyncClient], LaneCaller],
    manner: Manner,
    preset: str = NORMAL,
    tell: Callable[[LaneAnswer], None] = lambda answer: None,
) -> Drilled:
    """Ask every lane of `routing`, then the chain of `preset` with its head unplugged.

    `over` builds a caller over a client, as the service's own is built; it gets the one that is unplugged. `tell` gets
    each lane's answer the moment it is there.
    """
    lanes = await asyncio.gather(*(_alone(lane, caller, manner, tell) for lane in routing.lanes.values()))
    chain = tuple(routing.lanes[name] for name in routing.presets[preset].chain)
    fallen, tried = None, 0
    if len(chain) > 1:
        transport = Unplugged()
        async with httpx.AsyncClient(transport=transport, trust_env=False) as client:
            without_head = HeadUnplugged(head=chain[0].name, unplugged=over(client), real=caller)
            heard = await ask(QUESTION, chain, without_head, manner=manner)
        tried = transport.tried
        fallen = _fallen(heard, head=chain[0].name, tried=tried)
    return Drilled(preset=preset, head=chain[0].name, lanes=tuple(lanes), chain=fallen, head_was_tried=tried)


async def _alone(
    lane: Lane, caller: LaneCaller, manner: Manner, tell: Callable[[LaneAnswer], None]
) -> LaneAnswer:
    heard = await ask(QUESTION, (lane,), caller, manner=_patient(manner))
    answer = heard.answer("drill")
    tell(answer)
    return answer


def _patient(manner: Manner) -> Manner:
    return replace(manner, attempts=TRIES_ON_ONE_LANE)


def _fallen(heard: Heard, *, head: str, tried: int) -> LaneAnswer:
    """It passed if the head was really tried, failed as a network does, and another lane gave the whole reply."""
    fell = tried > 0 and heard.attempts[0].lane == head
    fell = fell and heard.attempts[0].failure is FailureClass.NETWORK
    return heard.answer("chain", ok=heard.is_whole and fell and heard.lane != head)
