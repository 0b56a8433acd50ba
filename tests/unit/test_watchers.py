"""Watching a turn that another process drives: read at the pace of a poll, and at once when a bell rings."""

import asyncio
import uuid
from collections.abc import Sequence
from typing import cast

from companion.history import History, TurnView
from companion.outbox import Outbox
from companion.watchers import POLL_S, Watchers

ELSEWHERE = uuid.uuid4()


def speaking(turn: int) -> TurnView:
    return TurnView(
        turn=turn,
        key=uuid.uuid4(),
        conversation=1,
        question="?",
        openings=(),
        reply="",
        state="speaking",
        line="",
        seq=0,
        chunk_lengths=(),
        owner=ELSEWHERE,
    )


class Read:
    """A history that says when it was read."""

    def __init__(self) -> None:
        self.at: list[float] = []
        self.often = asyncio.Event()

    async def read_states(self, turns: Sequence[int]) -> list[TurnView]:
        self.at.append(asyncio.get_running_loop().time())
        if len(self.at) >= 4:
            self.often.set()
        return [speaking(turn) for turn in turns]


async def test_a_turn_of_another_process_is_read_once_in_a_poll_however_long_it_speaks() -> None:
    read = Read()
    watchers = Watchers(cast(History, read), process=uuid.uuid4())

    async def send(frame: object) -> None:
        raise AssertionError("nothing is new")

    watchers.watch(Outbox(send, cast(History, read), conversation=1))
    following = asyncio.create_task(watchers.run())
    watchers.follow([speaking(7)])
    async with asyncio.timeout(20):
        await read.often.wait()
    following.cancel()
    gaps = [later - sooner for sooner, later in zip(read.at[1:], read.at[2:], strict=False)]
    # A busy machine can only be slower.
    assert all(gap > POLL_S * 0.9 for gap in gaps), gaps


async def test_a_screen_of_staff_is_no_page_of_the_participant() -> None:
    watchers = Watchers(cast(History, Read()), process=uuid.uuid4())

    async def send(frame: object) -> None:
        raise AssertionError("nothing is new")

    screen = Outbox(send, cast(History, Read()), conversation=1, is_page=False)
    watchers.watch(screen)
    assert watchers.conversations == [] and watchers.is_watched(1)
    watchers.watch(Outbox(send, cast(History, Read()), conversation=1))
    assert watchers.conversations == [1]
