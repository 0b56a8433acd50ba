"""The matrix: every way a call can end, before and after words, over real sockets and both transports."""

from typing import Any

import httpx
import pytest

from routing.contracts import Lane
from routing.errors import FailureClass as F
from tests.adapters.hearing import hear
from tests.processes import Rehearsal

PIECES = ["One", " two", " three", " four", " five"]
SAID = {0: "", 3: "One two three"}

CUTS = {
    "fin": F.NETWORK,
    "reset": F.NETWORK,
    "short_length": F.NETWORK,
    "no_finish": F.INCOMPLETE,
    "close_early": F.INCOMPLETE,
    "mid_json": F.INCOMPLETE,
    "gzip": F.INCOMPLETE,
}
IN_STREAM = {
    "server_error": F.SERVER_ERROR,
    "rate_limit": F.RATE_LIMITED,
    "rate_limit_tokens": F.RATE_LIMITED,
    "insufficient_quota": F.QUOTA,
    "credit_exhausted": F.QUOTA,
    "spend_limit": F.QUOTA,
    "bad_request": F.BAD_REQUEST,
    "invalid_key": F.MISCONFIGURED,
    "model_not_found": F.MISCONFIGURED,
    "context_length": F.TOO_LONG,
    "content_filter": F.REFUSED,
    "policy": F.REFUSED,
    "prompt_flagged": F.REFUSED,
    "overloaded": F.OVERLOADED,
    "numeric_code": F.SERVER_ERROR,
    "numeric_429": F.RATE_LIMITED,
    "beside_choices": F.SERVER_ERROR,
    "moderation": F.REFUSED,
    "string": F.SERVER_ERROR,
    "llama_context": F.TOO_LONG,
    "llama_loading": F.SERVER_ERROR,
    "flat": F.SERVER_ERROR,
    "flat_bad_request": F.BAD_REQUEST,
    "flat_context": F.TOO_LONG,
    "in_a_list": F.RATE_LIMITED,
    "google_unavailable": F.OVERLOADED,
    "anthropic_overloaded": F.OVERLOADED,
    "anthropic_rate_limit": F.RATE_LIMITED,
    "anthropic_api": F.SERVER_ERROR,
    "anthropic_timeout": F.SERVER_ERROR,
    "anthropic_authentication": F.MISCONFIGURED,
    "anthropic_permission": F.MISCONFIGURED,
    "anthropic_not_found": F.MISCONFIGURED,
    "anthropic_billing": F.QUOTA,
    "anthropic_credit": F.QUOTA,
    "anthropic_invalid": F.BAD_REQUEST,
    "anthropic_too_long": F.TOO_LONG,
    "anthropic_too_large": F.TOO_LONG,
    "mystery": F.UNKNOWN,
    # Nothing that says it is an error: the reply has no end.
    "detail": F.INCOMPLETE,
    "detail_list": F.INCOMPLETE,
    "null": F.INCOMPLETE,
    "empty_object": F.INCOMPLETE,
    "html": F.INCOMPLETE,
    "empty": F.INCOMPLETE,
    "not_json": F.INCOMPLETE,
    "half_json": F.INCOMPLETE,
    "deep": F.INCOMPLETE,
    "huge": F.INCOMPLETE,
    "huge_number": F.INCOMPLETE,
}
STATUSES: list[tuple[int, str, F]] = [
    (400, "bad_request", F.BAD_REQUEST),
    (400, "context_length", F.TOO_LONG),
    (400, "flat_context", F.TOO_LONG),
    (400, "llama_context", F.TOO_LONG),
    (400, "anthropic_too_long", F.TOO_LONG),
    (413, "anthropic_too_large", F.TOO_LONG),
    (413, "html", F.TOO_LONG),
    (400, "content_filter", F.REFUSED),
    (400, "policy", F.REFUSED),
    (400, "prompt_flagged", F.REFUSED),
    (403, "moderation", F.REFUSED),
    (400, "anthropic_credit", F.QUOTA),
    (400, "anthropic_invalid", F.BAD_REQUEST),
    (401, "invalid_key", F.MISCONFIGURED),
    (401, "detail", F.MISCONFIGURED),
    (401, "anthropic_authentication", F.MISCONFIGURED),
    (402, "empty", F.QUOTA),
    (402, "anthropic_billing", F.QUOTA),
    (403, "html", F.MISCONFIGURED),
    (403, "anthropic_permission", F.MISCONFIGURED),
    (404, "model_not_found", F.MISCONFIGURED),
    (404, "html", F.MISCONFIGURED),
    (405, "empty", F.MISCONFIGURED),
    (408, "empty", F.SERVER_ERROR),
    (409, "server_error", F.SERVER_ERROR),
    (422, "detail_list", F.BAD_REQUEST),
    (425, "empty", F.SERVER_ERROR),
    (429, "rate_limit", F.RATE_LIMITED),
    (429, "rate_limit_tokens", F.RATE_LIMITED),
    (429, "html", F.RATE_LIMITED),
    (429, "in_a_list", F.RATE_LIMITED),
    (429, "insufficient_quota", F.QUOTA),
    (429, "credit_exhausted", F.QUOTA),
    (429, "spend_limit", F.QUOTA),
    (500, "server_error", F.SERVER_ERROR),
    (500, "flat", F.SERVER_ERROR),
    (500, "anthropic_api", F.SERVER_ERROR),
    (500, "deep", F.SERVER_ERROR),
    (500, "huge", F.SERVER_ERROR),
    (500, "null", F.SERVER_ERROR),
    (502, "html", F.SERVER_ERROR),
    (503, "llama_loading", F.SERVER_ERROR),
    (503, "overloaded", F.OVERLOADED),
    (504, "not_json", F.SERVER_ERROR),
    (520, "html", F.SERVER_ERROR),
    (529, "anthropic_overloaded", F.OVERLOADED),
    (529, "empty", F.OVERLOADED),
    (301, "empty", F.MISCONFIGURED),
    (302, "html", F.MISCONFIGURED),
    (307, "empty", F.MISCONFIGURED),
    (308, "empty", F.MISCONFIGURED),
    (202, "null", F.INCOMPLETE),
    (204, "empty", F.INCOMPLETE),
]
FINISHES = {
    "content_filter": F.REFUSED,
    "tool_calls": F.INCOMPLETE,
    "function_call": F.INCOMPLETE,
    "abort": F.INCOMPLETE,
    "error": F.INCOMPLETE,
    "Stop": F.INCOMPLETE,
    "end_turn": F.INCOMPLETE,
    "stop ": F.INCOMPLETE,
    "": F.INCOMPLETE,
    None: F.INCOMPLETE,
}


def saying(**fault: Any) -> dict[str, Any]:
    return {"pieces": PIECES, "pace_ms": 0, "first_word_s": 0, **fault}


async def test_a_reply_that_ends_with_stop_is_whole(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal
) -> None:
    provider.will(saying())
    heard = await hear(client, lane)
    assert heard.failed is None
    assert heard.text == "".join(PIECES)
    assert heard.finished is not None
    assert not heard.finished.truncated
    assert heard.finished.model == "rehearsal-1"
    assert heard.finished.bytes_received > 100


@pytest.mark.parametrize("after", [0, 3])
@pytest.mark.parametrize("cut", CUTS)
async def test_a_body_that_is_cut_is_a_failure_of_its_class(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, cut: str, after: int
) -> None:
    provider.will(saying(cut=cut, after=after))
    heard = await hear(client, lane)
    assert heard.failed is not None
    assert heard.failed.failure is CUTS[cut]
    assert heard.failed.status == 200
    # The words inside a cut gzip body cannot be read: we asked for none.
    assert heard.text == ("" if cut == "gzip" else SAID[after])


@pytest.mark.parametrize("how", ["fin", "reset"])
async def test_a_connection_closed_without_a_byte_is_a_network_failure(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, how: str
) -> None:
    provider.will({"disconnect": how})
    heard = await hear(client, lane)
    assert heard.failed is not None
    assert heard.failed.failure is F.NETWORK
    assert heard.failed.status is None
    assert heard.failed.bytes_received == 0


@pytest.mark.parametrize("after", [0, 3])
@pytest.mark.parametrize("name", IN_STREAM)
async def test_an_error_inside_a_stream_is_classified_by_what_it_says(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, name: str, after: int
) -> None:
    provider.will(saying(error=name, after=after))
    heard = await hear(client, lane)
    assert heard.failed is not None
    assert heard.failed.failure is IN_STREAM[name]
    assert heard.text == SAID[after]


@pytest.mark.parametrize("event", ["error_field", "named_event"])
@pytest.mark.parametrize("name", ["server_error", "llama_context", "string", "detail", "html", "null"])
async def test_an_error_in_an_error_field_or_event_needs_no_envelope(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, name: str, event: str
) -> None:
    provider.will(saying(error=name, error_event=event, after=3))
    heard = await hear(client, lane)
    assert heard.failed is not None
    assert heard.failed.failure is (F.TOO_LONG if name == "llama_context" else F.SERVER_ERROR)


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream", "text/html"])
@pytest.mark.parametrize("name", [name for name in IN_STREAM if name not in ("detail", "detail_list")])
async def test_a_200_that_is_no_stream_is_classified_by_its_body(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, name: str, kind: str
) -> None:
    provider.will(saying(error=name, content_type=kind))
    heard = await hear(client, lane)
    assert heard.failed is not None
    assert heard.failed.failure is IN_STREAM[name]
    assert heard.text == ""


@pytest.mark.parametrize(("status", "name", "expected"), STATUSES)
async def test_a_status_is_classified_with_its_body(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, status: int, name: str, expected: F
) -> None:
    provider.will({"status": status, "error": name, "headers": {"Location": "/v2/elsewhere"}})
    heard = await hear(client, lane)
    assert heard.failed is not None
    assert heard.failed.failure is expected
    assert heard.failed.status == status
    # A redirect was not followed: one request was made.
    assert len(provider.asked()) == 1


@pytest.mark.parametrize("reason", FINISHES)
async def test_a_reply_without_a_recognised_finish_reason_is_a_failure(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, reason: str | None
) -> None:
    provider.will(saying(finish=reason))
    heard = await hear(client, lane)
    assert heard.failed is not None
    assert heard.failed.failure is FINISHES[reason]
    assert heard.text == "".join(PIECES)


async def test_a_reply_at_its_length_limit_is_whole_and_marked_short(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal
) -> None:
    provider.will(saying(finish="length"))
    heard = await hear(client, lane)
    assert heard.finished is not None
    assert heard.finished.truncated


@pytest.mark.parametrize("finish", ["stop", "length"])
@pytest.mark.parametrize("reply", ["empty", "whitespace", "reasoning_only"])
async def test_a_reply_nobody_could_see_is_empty(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, reply: str, finish: str
) -> None:
    provider.will({"reply": reply, "finish": finish, "pace_ms": 0})
    heard = await hear(client, lane)
    assert heard.failed is not None
    assert heard.failed.failure is F.EMPTY
    assert heard.text == ""


async def test_a_refusal_is_said_and_then_refused(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal
) -> None:
    provider.will(saying(refusal=True))
    heard = await hear(client, lane)
    assert heard.failed is not None
    assert heard.failed.failure is F.REFUSED
    assert heard.text == "".join(PIECES)
