"""The clocks: connecting, the first visible word, silence between words, the whole reply."""

import asyncio
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import httpx
import pytest

from routing.adapters.openai import OpenAIAdapter
from routing.contracts import Clocks, Finished, Lane, Words
from routing.errors import FailureClass as F
from tests.adapters.calls import ASK, CLOCKS, call_lane
from tests.processes import Rehearsal

SHORT = 0.25
"""A clock that expires in the test."""
AMPLE = 0.8
"""A clock that must not expire, even when a busy machine delays the provider."""
SLACK = 1.0
"""Tolerance for a busy machine. The next clock would expire seconds later."""


def build_clocks(**changes: Any) -> Clocks:
    return replace(CLOCKS, **changes)


@pytest.mark.parametrize(
    "fault",
    [
        {"hang": "before_byte"},
        {"hang": "before_word"},
        {"hang": "before_word", "pings_ms": 20},
        {"reply": "reasoning_only", "reasoning": 1000, "pace_ms": 20},
        {"pieces": [""] * 1000, "pace_ms": 20},
        {"pieces": [" "] * 1000, "pace_ms": 20},
    ],
    ids=["no byte", "no event", "pings", "reasoning", "empty deltas", "white space"],
)
async def test_the_first_word_has_one_deadline_that_nothing_but_a_word_moves(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, fault: dict[str, Any]
) -> None:
    provider.inject(fault)
    record = await call_lane(client, lane, clocks=build_clocks(first_word_s=SHORT, reasoning_s=None))
    assert record.failed is not None
    assert record.failed.failure is F.FIRST_WORD_TIMEOUT
    assert SHORT <= record.took_s < SHORT + SLACK
    assert record.text == ""


async def test_reasoning_may_put_the_first_word_off(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal
) -> None:
    provider.inject({"reasoning": 50, "pace_ms": 20, "even": True, "pieces": ["There."], "first_word_s": 0})
    record = await call_lane(client, lane, clocks=build_clocks(first_word_s=AMPLE, reasoning_s=8))
    assert record.failed is None
    assert record.text == "There."
    assert record.took_s > AMPLE


async def test_reasoning_puts_the_first_word_off_only_up_to_its_own_cap(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal
) -> None:
    provider.inject({"reasoning": 1000, "pace_ms": 20, "first_word_s": 0})
    cap = AMPLE + SHORT
    record = await call_lane(client, lane, clocks=build_clocks(first_word_s=AMPLE, reasoning_s=cap))
    assert record.failed is not None
    assert record.failed.failure is F.FIRST_WORD_TIMEOUT
    assert cap <= record.took_s < cap + SLACK


async def test_the_last_lane_is_bounded_by_the_total_alone(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal
) -> None:
    provider.inject({"hang": "before_word", "pings_ms": 20})
    record = await call_lane(
        client, lane, clocks=build_clocks(first_word_s=None, reasoning_s=None, idle_s=0.1, total_s=0.4)
    )
    assert record.failed is not None
    assert record.failed.failure is F.FIRST_WORD_TIMEOUT
    assert record.failed.code == "total"
    assert 0.4 <= record.took_s < 0.4 + SLACK


@pytest.mark.parametrize("pings", [{}, {"pings_ms": 20}], ids=["silence", "pings"])
async def test_silence_after_words_ends_the_call(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, pings: dict[str, Any]
) -> None:
    provider.inject(
        {"hang": "after_words", "after": 3, "pace_ms": 0, "first_word_s": 0, "say": "a b c d", **pings}
    )
    record = await call_lane(client, lane, clocks=build_clocks(idle_s=SHORT))
    assert record.failed is not None
    assert record.failed.failure is F.IDLE_TIMEOUT
    assert record.failed.status == 200
    assert record.text == "a b c"
    assert SHORT <= record.took_s < SHORT + SLACK


async def test_spaces_do_not_keep_a_silent_reply_alive(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal
) -> None:
    provider.inject({"pieces": ["Well", *[" "] * 1000], "pace_ms": 20, "first_word_s": 0})
    record = await call_lane(client, lane, clocks=build_clocks(idle_s=SHORT))
    assert record.failed is not None
    assert record.failed.failure is F.IDLE_TIMEOUT


async def test_words_may_take_longer_than_the_first_word_had(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal
) -> None:
    provider.inject({"words": 12, "pace_ms": 80, "even": True, "first_word_s": 0})
    record = await call_lane(client, lane, clocks=build_clocks(first_word_s=AMPLE, idle_s=AMPLE))
    assert record.failed is None
    assert record.took_s > AMPLE


async def test_a_reply_that_goes_on_and_on_ends_at_its_own_limit_and_not_at_that_of_the_first_word(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal
) -> None:
    provider.inject({"words": 1000, "pace_ms": 20, "first_word_s": 0})
    limits = build_clocks(first_word_s=None, reasoning_s=None, total_s=AMPLE, reply_s=2 * AMPLE)
    record = await call_lane(client, lane, clocks=limits)
    assert record.failed is not None
    assert record.failed.failure is F.REPLY_TIMEOUT
    assert record.failed.code == "reply_timeout"
    assert record.text
    assert 2 * AMPLE <= record.took_s < 2 * AMPLE + AMPLE + SLACK


async def test_a_provider_is_not_blamed_for_the_time_its_reader_took(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal
) -> None:
    """A slow store between two words must not look like a silent provider."""
    provider.inject({"pieces": ["One", " two"], "pace_ms": 60, "even": True, "first_word_s": 0})
    said: list[Words | Finished] = []
    async with aclosing(OpenAIAdapter(client).stream(lane, ASK, build_clocks(idle_s=AMPLE))) as events:
        async for event in events:
            if not said:
                await asyncio.sleep(AMPLE + SHORT)
            said.append(event)
    assert isinstance(said[-1], Finished)
    assert "".join(event.text for event in said if isinstance(event, Words)) == "One two"
