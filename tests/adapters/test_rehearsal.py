"""The rehearsal provider over real HTTP: its wire as others read it, its orders, its record, its end."""

import asyncio
import json
import signal
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import httpx
import pytest

from routing.adapters.transport import build_client
from routing.rehearsal.error_bodies import ERROR_BODIES
from tests.adapters.endings import BODIES
from tests.adapters.hearing import hear, lane_at
from tests.patience import until
from tests.processes import Rehearsal, start_rehearsal

QUICK = {"pace_ms": 0, "first_word_s": 0}


def plainly(provider: Rehearsal, *, content: str = "Hello.", **headers: str) -> httpx.Response:
    """Ask without a stream."""
    body = {"model": "m", "messages": [{"role": "user", "content": content}]}
    return httpx.post(
        f"{provider.url}/chat/completions", json=body, headers=headers, trust_env=False, verify=False
    )


async def until_asked(provider: Rehearsal, so_far: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The record of the only request, once it has come so far."""
    [asked] = await until(lambda: [one for one in provider.asked() if so_far(one)], within_s=5)
    return asked


async def until_ended(provider: Rehearsal) -> dict[str, Any]:
    return await until_asked(provider, lambda asked: asked["how"] is not None)


def test_every_error_shape_it_knows_is_in_the_matrix_of_endings() -> None:
    assert sorted(BODIES) == sorted(ERROR_BODIES)


def test_an_order_is_for_the_next_so_many_requests_and_in_their_order(provider: Rehearsal) -> None:
    provider.will({"status": 500}, times=2)
    provider.will({"status": 529}, times=1)
    assert [plainly(provider).status_code for _ in range(4)] == [500, 500, 529, 200]


def test_an_order_without_a_number_stands_until_it_is_cleared(provider: Rehearsal) -> None:
    provider.will({"status": 500})
    assert [plainly(provider).status_code for _ in range(3)] == [500, 500, 500]
    provider.clear()
    assert plainly(provider).status_code == 200


def test_an_order_may_be_for_one_reference_or_one_word(provider: Rehearsal) -> None:
    provider.will({"status": 500}, match="turn-5")
    provider.will({"status": 503}, match="kettle")
    assert plainly(provider, **{"X-Request-Id": "turn-4"}).status_code == 200
    assert plainly(provider, **{"X-Request-Id": "turn-5"}).status_code == 500
    assert plainly(provider, content="the kettle").status_code == 503


@pytest.mark.parametrize(
    "order", [{"fault": {"cat": 1}}, {"fault": {"error": "no such"}}, {}, [], {"fault": {}, "next": 0}]
)
def test_an_order_that_makes_no_sense_is_refused_and_changes_nothing(
    provider: Rehearsal, *, order: Any
) -> None:
    answer = httpx.post(provider.url.replace("/v1", "/control"), json=order, trust_env=False, verify=False)
    assert answer.status_code == 400
    assert answer.json()["error"]
    assert plainly(provider).status_code == 200


def test_a_directive_is_only_words_unless_it_was_started_with_them(provider: Rehearsal) -> None:
    assert plainly(provider, content="[[status=500]] hello").status_code == 200
    with start_rehearsal("--directives") as obedient:
        assert plainly(obedient, content="[[status=500]] hello").status_code == 500
        assert plainly(obedient, content="hello").status_code == 200


async def test_the_record_says_who_was_asked_what_and_how_it_ended(provider: Rehearsal) -> None:
    provider.will({"words": 7, **QUICK})
    async with build_client() as client:
        await hear(client, lane_at(provider.url))
    asked = await until_ended(provider)
    assert asked["request_id"] == "turn-7"
    assert asked["messages"] == [{"role": "user", "content": "I did not sleep."}]
    assert asked["words_sent"] == 7
    assert asked["started"] <= asked["first_byte_at"] <= asked["first_word_at"] <= asked["last_word_at"]
    assert asked["last_word_at"] <= asked["ended"] <= time.perf_counter()


async def test_the_record_tells_a_cut_from_a_client_that_left(provider: Rehearsal) -> None:
    async with build_client() as client:
        provider.will({"cut": "fin", "after": 2, **QUICK})
        await hear(client, lane_at(provider.url))
        assert (await until_ended(provider))["how"] == "cut"
        provider.clear()
        provider.will({"hang": "after_words", "after": 2, **QUICK})
        task = asyncio.create_task(hear(client, lane_at(provider.url)))
        await until_asked(provider, lambda asked: asked["words_sent"] == 2)
        left = time.perf_counter()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        asked = await until_ended(provider)
    assert asked["how"] == "client_closed"
    assert asked["ended"] - left < 0.2


async def test_the_gauge_shows_how_many_ran_at_once(provider: Rehearsal) -> None:
    provider.will({"words": 5, "pace_ms": 20, "first_word_s": 0.2})
    async with build_client() as client:
        await asyncio.gather(*(hear(client, lane_at(provider.url)) for _ in range(12)))
    gauge = provider.gauge()
    assert gauge["max_in_flight"] == 12
    assert gauge["in_flight"] == 0


async def test_a_stamped_word_is_the_moment_it_was_sent(provider: Rehearsal) -> None:
    provider.will({"stamp": True, "words": 5, "pace_ms": 20, "even": True, "first_word_s": 0})
    before = time.perf_counter()
    async with build_client() as client:
        heard = await hear(client, lane_at(provider.url))
    stamps = [int(stamp) / 1e6 for stamp in heard.text.split()]
    assert before <= stamps[0]
    assert stamps[-1] <= time.perf_counter()
    assert all(0.01 < b - a < 0.2 for a, b in pairwise(stamps))


async def test_a_given_text_is_sent_in_the_pieces_that_were_asked_for(provider: Rehearsal) -> None:
    provider.will({"say": "abcdefg", "split": 3, "pace_ms": 30, "first_word_s": 0})
    async with build_client() as client:
        heard = await hear(client, lane_at(provider.url))
    assert heard.pieces == ["abc", "def", "g"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_it_ends_cleanly_and_at_once_though_a_stream_is_open(number: signal.Signals) -> None:
    with start_rehearsal() as provider:
        provider.will({"hang": "after_words", "after": 1, **QUICK})
        async with build_client() as client:
            task = asyncio.create_task(hear(client, lane_at(provider.url)))
            await until_asked(provider, lambda asked: asked["words_sent"] == 1)
            provider.signal(number)
            assert provider.process.wait(5) == 0
            heard = await asyncio.wait_for(task, 5)
        assert heard.failed is not None
        # No word of anybody is in what it wrote.
        assert provider.said == ""


def test_a_request_it_cannot_read_gets_an_answer(provider: Rehearsal) -> None:
    for content in (b"", b"null", b"{}", json.dumps({"messages": [{"role": "user"}]}).encode()):
        answer = httpx.post(
            f"{provider.url}/chat/completions", content=content, trust_env=False, verify=False
        )
        assert answer.status_code == 400
    assert provider.gauge()["in_flight"] == 0
