"""Every row of the matrix of endings, before and after words, over real sockets, both wires and both transports."""

import httpx
import pytest

from routing.contracts import Lane
from routing.errors import FailureClass as F
from tests.adapters.endings import (
    BODIES,
    CUTS,
    FINISHES,
    PIECES,
    SAID,
    SAYS_WHAT_IT_IS,
    STATUSES,
    WIRES,
    How,
    in_a_stream,
    saying,
)
from tests.adapters.hearing import hear
from tests.processes import Rehearsal

pytestmark = pytest.mark.parametrize("wire", WIRES)


@pytest.mark.parametrize("reason", FINISHES)
async def test_a_reply_is_whole_only_at_a_reason_that_its_wire_knows_and_the_words_stand_all_the_same(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, reason: str | None
) -> None:
    provider.will(saying(finish=reason))
    heard = await hear(client, lane)
    assert heard.text == "".join(PIECES)
    expected = FINISHES[reason]
    if isinstance(expected, F):
        assert heard.failed is not None
        assert heard.failed.failure is expected
        return
    assert heard.finished is not None
    how: How = "short" if heard.finished.truncated else "whole"
    assert how == expected
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
    assert (heard.failed.failure, heard.failed.status) == (CUTS[cut], 200)
    # Of a cut gzip body as much is read as can be unpacked.
    assert SAID[after].startswith(heard.text) if cut == "gzip" else heard.text == SAID[after]


@pytest.mark.parametrize("how", ["fin", "reset"])
async def test_a_connection_closed_without_a_byte_is_a_network_failure(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, how: str
) -> None:
    provider.will({"disconnect": how})
    heard = await hear(client, lane)
    assert heard.failed is not None
    assert (heard.failed.failure, heard.failed.status) == (F.NETWORK, None)
    assert heard.failed.bytes_received == 0


@pytest.mark.parametrize("after", [0, 3])
@pytest.mark.parametrize("name", BODIES)
async def test_an_error_inside_a_stream_is_classified_by_what_it_says(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, name: str, after: int
) -> None:
    provider.will(saying(error=name, after=after))
    heard = await hear(client, lane)
    assert heard.failed is not None
    assert (heard.failed.failure, heard.failed.status) == (in_a_stream(name, lane.adapter), 200)
    assert heard.text == SAID[after]


@pytest.mark.parametrize("event", ["error_field", "named_event"])
@pytest.mark.parametrize("name", ["server_error", "llama_context", "string", "detail", "html", "null"])
async def test_an_error_in_an_error_field_or_event_needs_no_envelope(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, name: str, event: str
) -> None:
    provider.will(saying(error=name, error_event=event, after=3))
    heard = await hear(client, lane)
    assert heard.failed is not None
    assert heard.failed.failure is SAYS_WHAT_IT_IS.get(name, F.SERVER_ERROR)
    assert heard.text == SAID[3]


@pytest.mark.parametrize("name", [name for name in BODIES if name not in ("detail", "detail_list")])
async def test_a_200_that_is_no_stream_is_classified_by_its_body_whatever_it_calls_itself(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, name: str
) -> None:
    for kind in ("application/json", "text/event-stream", "text/html"):
        provider.will(saying(error=name, content_type=kind), times=1)
        heard = await hear(client, lane)
        assert heard.failed is not None, kind
        assert heard.failed.failure is SAYS_WHAT_IT_IS.get(name, F.INCOMPLETE), kind
        assert heard.text == "", kind


@pytest.mark.parametrize(("status", "name", "expected"), STATUSES)
async def test_a_status_is_classified_with_its_body(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, status: int, name: str, expected: F
) -> None:
    provider.will({"status": status, "error": name, "headers": {"Location": "/v2/elsewhere"}})
    heard = await hear(client, lane)
    assert heard.failed is not None
    assert (heard.failed.failure, heard.failed.status) == (expected, status)
    # A redirect was not followed: one request was made.
    assert len(provider.asked()) == 1


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
