"""The double of an adapter behaves as a real one does; the caller finds the adapter a lane names."""

import asyncio
from contextlib import aclosing
from dataclasses import replace

import pytest

from routing.adapters.scripted import ScriptedAdapter, Step, finished
from routing.chain import Caller
from routing.contracts import Ask, Clocks, Finished, Lane, Message, Words
from routing.errors import CallFailed, FailureClass
from routing.lanes import rehearsal_routing

LANE = rehearsal_routing("http://127.0.0.1:1/v1").lanes["rehearsal"]
ASK = Ask(reference="turn-1", messages=(Message(role="user", text="Hello."),))
CLOCKS = Clocks(connect_s=1, first_word_s=1, reasoning_s=None, idle_s=1, total_s=1)


async def listen(caller: Caller, lane: Lane = LANE) -> list[Words | Finished]:
    async with aclosing(caller.call(lane, ASK, CLOCKS)) as events:  # type: ignore[type-var]
        return [event async for event in events]


def scripted(*scripts: list[Step]) -> tuple[ScriptedAdapter, Caller]:
    adapter = ScriptedAdapter(*scripts)
    return adapter, Caller({"openai": adapter})


async def test_it_says_what_the_script_says() -> None:
    adapter, caller = scripted(["Hello", Words(text=" you."), finished()])
    assert await listen(caller) == [Words(text="Hello"), Words(text=" you."), finished()]
    (call,) = adapter.calls
    assert (call.lane, call.ask, call.clocks) == (LANE, ASK, CLOCKS)


async def test_each_call_has_its_own_script() -> None:
    _, caller = scripted([FailureClass.NETWORK], ["Hello", finished()])
    with pytest.raises(CallFailed) as failed:
        await listen(caller)
    assert failed.value.failure is FailureClass.NETWORK
    assert await listen(caller) == [Words(text="Hello"), finished()]


async def test_a_failure_with_its_facts_is_raised_as_it_is() -> None:
    failure = CallFailed(FailureClass.RATE_LIMITED, status=429, retry_after_s=3)
    _, caller = scripted([failure])
    with pytest.raises(CallFailed) as failed:
        await listen(caller)
    assert failed.value is failure


async def test_a_script_without_an_end_is_an_incomplete_reply() -> None:
    _, caller = scripted(["Hello"])
    with pytest.raises(CallFailed) as failed:
        await listen(caller)
    assert failed.value.failure is FailureClass.INCOMPLETE


async def test_nothing_comes_after_the_end() -> None:
    _, caller = scripted([finished(), "more"])
    assert await listen(caller) == [finished()]


async def test_it_waits_for_an_event_and_closes_when_its_caller_leaves() -> None:
    gate = asyncio.Event()
    adapter, caller = scripted(["Hello", gate, " again.", finished()], ["Hello", asyncio.Event()])
    events = caller.call(LANE, ASK, CLOCKS)
    assert await anext(events) == Words(text="Hello")
    gate.set()
    assert await anext(events) == Words(text=" again.")
    assert adapter.open == 1
    await events.aclose()  # type: ignore[attr-defined]
    assert adapter.open == 0
    task = asyncio.create_task(listen(caller))
    await asyncio.sleep(0)
    assert adapter.open == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert adapter.open == 0


async def test_a_call_without_a_script_fails_the_test() -> None:
    _, caller = scripted()
    with pytest.raises(AssertionError, match="call 1 has no script"):
        await listen(caller)


async def test_a_lane_with_an_unknown_wire_is_misconfigured() -> None:
    adapter, caller = scripted(["Hello", finished()])
    with pytest.raises(CallFailed) as failed:
        await listen(caller, replace(LANE, adapter="anthropic"))
    assert failed.value.failure is FailureClass.MISCONFIGURED
    assert adapter.calls == []
