"""Every row of the matrix of endings, before and after words, over real sockets, both wires and both transports."""

import httpx
import pytest

from routing.contracts import Lane
from routing.errors import FailureClass as F
from tests.adapters.calls import call_lane
from tests.adapters.endings import (
    BODIES,
    CLASSIFIED_BODIES,
    CUTS,
    FINISHES,
    PIECES,
    STATUSES,
    TEXT_AFTER,
    WIRES,
    ExpectedEnd,
    build_fault,
    classify_in_stream,
)
from tests.processes import Rehearsal

pytestmark = pytest.mark.parametrize("wire", WIRES)


@pytest.mark.parametrize("reason", FINISHES)
async def test_a_reply_is_whole_only_at_a_reason_that_its_wire_knows_and_the_words_stand_all_the_same(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, reason: str | None
) -> None:
    provider.inject(build_fault(finish=reason))
    record = await call_lane(client, lane)
    assert record.text == "".join(PIECES)
    expected = FINISHES[reason]
    if isinstance(expected, F):
        assert record.failed is not None
        assert record.failed.failure is expected
        return
    assert record.finished is not None
    how: ExpectedEnd = "short" if record.finished.truncated else "whole"
    assert how == expected
    assert record.finished.model == "rehearsal-1"
    assert record.finished.bytes_received > 100


@pytest.mark.parametrize("after", [0, 3])
@pytest.mark.parametrize("cut", CUTS)
async def test_a_body_that_is_cut_is_a_failure_of_its_class(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, cut: str, after: int
) -> None:
    provider.inject(build_fault(cut=cut, after=after))
    record = await call_lane(client, lane)
    assert record.failed is not None
    assert (record.failed.failure, record.failed.status) == (CUTS[cut], 200)
    # Of a cut gzip body as much is read as can be unpacked.
    assert TEXT_AFTER[after].startswith(record.text) if cut == "gzip" else record.text == TEXT_AFTER[after]


@pytest.mark.parametrize("how", ["fin", "reset"])
async def test_a_connection_closed_without_a_byte_is_a_network_failure(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, how: str
) -> None:
    provider.inject({"disconnect": how})
    record = await call_lane(client, lane)
    assert record.failed is not None
    assert (record.failed.failure, record.failed.status) == (F.NETWORK, None)
    assert record.failed.bytes_received == 0


@pytest.mark.parametrize("after", [0, 3])
@pytest.mark.parametrize("name", BODIES)
async def test_an_error_inside_a_stream_is_classified_by_what_it_says(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, name: str, after: int
) -> None:
    provider.inject(build_fault(error=name, after=after))
    record = await call_lane(client, lane)
    assert record.failed is not None
    assert (record.failed.failure, record.failed.status) == (classify_in_stream(name, lane.adapter), 200)
    assert record.text == TEXT_AFTER[after]


@pytest.mark.parametrize("event", ["error_field", "named_event"])
@pytest.mark.parametrize("name", ["server_error", "llama_context", "string", "detail", "html", "null"])
async def test_an_error_in_an_error_field_or_event_needs_no_envelope(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, name: str, event: str
) -> None:
    provider.inject(build_fault(error=name, error_event=event, after=3))
    record = await call_lane(client, lane)
    assert record.failed is not None
    assert record.failed.failure is CLASSIFIED_BODIES.get(name, F.SERVER_ERROR)
    assert record.text == TEXT_AFTER[3]


@pytest.mark.parametrize("name", [name for name in BODIES if name not in ("detail", "detail_list")])
async def test_a_200_that_is_no_stream_is_classified_by_its_body_whichever_content_type_it_has(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, name: str
) -> None:
    for kind in ("application/json", "text/event-stream", "text/html"):
        provider.inject(build_fault(error=name, content_type=kind), times=1)
        record = await call_lane(client, lane)
        assert record.failed is not None, kind
        assert record.failed.failure is CLASSIFIED_BODIES.get(name, F.INCOMPLETE), kind
        assert record.text == "", kind


@pytest.mark.parametrize(("status", "name", "expected"), STATUSES)
async def test_a_status_is_classified_with_its_body(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, status: int, name: str, expected: F
) -> None:
    provider.inject({"status": status, "error": name, "headers": {"Location": "/v2/elsewhere"}})
    record = await call_lane(client, lane)
    assert record.failed is not None
    assert (record.failed.failure, record.failed.status) == (expected, status)
    # A redirect was not followed: one request was made.
    assert len(provider.list_requests()) == 1


@pytest.mark.parametrize("finish", ["stop", "length"])
@pytest.mark.parametrize("reply", ["empty", "whitespace", "reasoning_only"])
async def test_a_reply_without_visible_text_is_empty(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, reply: str, finish: str
) -> None:
    provider.inject({"reply": reply, "finish": finish, "pace_ms": 0})
    record = await call_lane(client, lane)
    assert record.failed is not None
    assert record.failed.failure is F.EMPTY
    assert record.text == ""


async def test_a_refusal_is_said_and_then_refused(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal
) -> None:
    provider.inject(build_fault(refusal=True))
    record = await call_lane(client, lane)
    assert record.failed is not None
    assert record.failed.failure is F.REFUSED
    assert record.text == "".join(PIECES)
