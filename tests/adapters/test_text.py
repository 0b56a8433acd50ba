"""Text survives: odd but lawful bytes, floods, and what is said beside the words, over both wires and transports."""

import httpx
import pytest

from routing.contracts import Lane
from tests.adapters.calls import call_lane
from tests.adapters.endings import WIRES, build_fault
from tests.processes import Rehearsal

ODD = [
    "split_utf8", "bom", "cr", "crlf", "comments", "unknown_events", "empty_choices", "no_delta", "null_content",
    "lone_surrogate", "split_surrogate", "nul", "separators", "reasoning", "finish_with_words", "no_done",
    "no_last_blank",
]  # fmt: skip
SLIPPED_IN = {
    "split_utf8": " ✓ 👩🏽‍🚀 שלום",
    "lone_surrogate": " \ufffd?",
    "split_surrogate": " \U0001f30d",
    "nul": " ab",
    "separators": " a\u2028b\u2029c\x85d\x0be",
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("odd", ODD)
async def test_odd_but_lawful_bytes_change_no_word(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, odd: str
) -> None:
    provider.inject(build_fault(odd=[odd]))
    record = await call_lane(client, lane)
    assert record.failed is None
    ending = " The end." if odd == "finish_with_words" else ""
    assert record.text == "One" + SLIPPED_IN.get(odd, "") + " two three four five" + ending
    record.text.encode()


@pytest.mark.parametrize("wire", WIRES)
async def test_all_oddities_together_change_no_word(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal
) -> None:
    provider.inject(build_fault(odd=[odd for odd in ODD if odd not in ("cr", "no_last_blank")]))
    record = await call_lane(client, lane)
    assert record.failed is None
    assert record.text == (
        "One \ufffd? ab a\u2028b\u2029c\x85d\x0be \U0001f30d ✓ 👩🏽‍🚀 שלום two three four five The end."
    )


async def test_a_flood_of_twenty_thousand_tokens_arrives_whole(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal
) -> None:
    provider.inject({"words": 20_000, "pace_ms": 0, "first_word_s": 0})
    record = await call_lane(client, lane)
    assert record.failed is None
    assert len(record.text.split()) == 20_000


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        (
            "openai",
            '{"model": "m", "choices": [{"index": 0, "message": {"content": "Yes."}, "finish_reason": "stop"}]}',
        ),
        (
            "anthropic",
            '{"type":"message","model":"m","content":[{"type":"text","text":"Yes."}],"stop_reason":"end_turn"}',
        ),
    ],
    ids=WIRES,
)
async def test_a_whole_answer_to_a_request_for_a_stream_is_read_as_well(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, body: str
) -> None:
    provider.inject({"body": body, "content_type": "application/json"})
    record = await call_lane(client, lane)
    assert record.failed is None
    assert record.text == "Yes."
    assert record.finished is not None and record.finished.model == "m"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"Retry-After": "-3"}, 0.0),
        ({"retry-after-ms": "1500", "Retry-After": "99"}, 1.5),
        ({"x-ms-retry-after-ms": "250"}, 0.25),
        ({}, None),
    ],
)
async def test_the_time_a_provider_names_travels_with_the_failure(
    client: httpx.AsyncClient,
    lane: Lane,
    provider: Rehearsal,
    *,
    headers: dict[str, str],
    seconds: float | None,
) -> None:
    provider.inject({"status": 429, "error": "rate_limit", "headers": headers})
    record = await call_lane(client, lane)
    assert record.failed is not None
    assert record.failed.retry_after_s == seconds
    assert record.failed.code == "rate_limit_exceeded"
