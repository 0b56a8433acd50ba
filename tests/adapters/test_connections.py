"""What happens before the first byte of an answer, and what goes out with a request."""

import asyncio
import json
import logging
import socket
import traceback
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

import httpx
import pytest

from routing.adapters.openai import OpenAIAdapter
from routing.contracts import Ask, Clocks, Finished, Lane, Message
from routing.errors import CallFailed
from routing.errors import FailureClass as F
from tests.adapters.calls import ASK, CLOCKS, HEAD, STOP, call_lane, chunk, lane_at, raw_server, read_request
from tests.processes import Rehearsal

KEPT = b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 2\r\n\r\n{}"


async def call(client: httpx.AsyncClient, lane: Lane, environ: Mapping[str, str], ask: Ask = ASK) -> None:
    async with aclosing(OpenAIAdapter(client, environ=environ).stream(lane, ask, CLOCKS)) as events:
        assert isinstance([event async for event in events][-1], Finished)


async def test_a_refused_connection_is_a_network_failure(client: httpx.AsyncClient) -> None:
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        record = await call_lane(client, lane_at(f"http://127.0.0.1:{unheard.getsockname()[1]}/v1"))
    assert record.failed is not None
    assert record.failed.failure is F.NETWORK


async def test_a_host_that_does_not_take_the_connection_is_a_network_failure_in_time(
    client: httpx.AsyncClient,
) -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        # These fill the accept queue, so the system answers no further connection.
        waiting = [socket.socket() for _ in range(4)]
        for pending in waiting:
            pending.setblocking(False)
            pending.connect_ex(address)
        clocks = Clocks(connect_s=0.3, first_word_s=8, reasoning_s=None, idle_s=8, total_s=20)
        record = await call_lane(client, lane_at(f"http://127.0.0.1:{address[1]}/v1"), clocks=clocks)
        for pending in waiting:
            pending.close()
    assert record.failed is not None
    assert record.failed.failure is F.NETWORK
    assert 0.3 <= record.took_s < 5


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01",
        b"HTTP/1.1 200 OK\r\nBad",
    ],
    ids=["another protocol", "no status", "TLS", "half a head"],
)
async def test_an_answer_that_is_not_http_is_a_network_failure(
    client: httpx.AsyncClient, *, answer: bytes
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(answer)

    async with raw_server(serve) as url:
        record = await call_lane(client, lane_at(url))
    assert record.failed is not None
    assert record.failed.failure is F.NETWORK


@pytest.mark.parametrize("body", [b"zz\r\nnot a chunk\r\n", b"5\r\nab"], ids=["no size", "cut"])
async def test_chunks_that_are_none_are_a_network_failure(client: httpx.AsyncClient, *, body: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body)

    async with raw_server(serve) as url:
        record = await call_lane(client, lane_at(url))
    assert record.failed is not None
    assert record.failed.failure is F.NETWORK


@pytest.mark.parametrize("how", ["fin", "reset"])
async def test_a_kept_connection_closed_under_us_is_told_apart(
    client: httpx.AsyncClient, *, how: str
) -> None:
    """The second request goes out on the first one's connection, which the server closes as it arrives."""
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await read_request(reader)
        writer.write(KEPT)
        await read_request(reader)
        if how == "reset":
            writer.transport.abort()

    async with raw_server(serve) as url:
        first = await call_lane(client, lane_at(url))
        second = await call_lane(client, lane_at(url))
        third = await call_lane(client, lane_at(url))
    assert [record.failed and record.failed.failure for record in (first, second, third)] == [
        F.RATE_LIMITED,
        F.NETWORK_REUSED,
        F.RATE_LIMITED,
    ]
    assert connections == 2


async def test_a_kept_connection_that_stays_silent_is_late_and_not_free(client: httpx.AsyncClient) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(KEPT)
        await read_request(reader)
        await reader.read()

    clocks = Clocks(connect_s=1, first_word_s=0.2, reasoning_s=None, idle_s=8, total_s=20)
    async with raw_server(serve) as url:
        await call_lane(client, lane_at(url), clocks=clocks)
        second = await call_lane(client, lane_at(url), clocks=clocks)
    assert second.failed is not None
    assert second.failed.failure is F.FIRST_WORD_TIMEOUT


async def test_an_error_body_that_never_ends_does_not_hold_the_turn(client: httpx.AsyncClient) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"HTTP/1.1 503 Busy\r\nContent-Length: 100000\r\n\r\n{")
        await reader.read()

    clocks = Clocks(connect_s=1, first_word_s=0.3, reasoning_s=None, idle_s=8, total_s=0.4)
    async with raw_server(serve) as url:
        record = await call_lane(client, lane_at(url), clocks=clocks)
    assert record.failed is not None
    assert record.failed.failure is F.SERVER_ERROR
    assert record.took_s < 1.8


async def test_what_is_sent_is_the_question_and_nothing_of_ours(
    client: httpx.AsyncClient, provider: Rehearsal
) -> None:
    lane = lane_at(provider.url + "/", api_key_env="PRIMARY_KEY")
    provider.inject({"words": 3, "pace_ms": 0})
    messages = (
        Message(role="system", text="You are Robin."),
        Message(role="user", text="Who are you? \U0001f30d"),
        Message(role="assistant", text="Robin."),
        Message(role="user", text="And now?"),
    )
    await call(
        client, lane, {"PRIMARY_KEY": "sk-1\n"}, Ask(reference="turn-9", messages=messages, max_tokens=50)
    )
    (asked,) = provider.list_requests()
    assert asked["messages"] == [{"role": m.role, "content": m.text} for m in messages]
    assert asked["model"] == "rehearsal-1"
    assert asked["streamed"]
    assert asked["key_sent"]
    headers = asked["headers"]
    assert headers["accept-encoding"] == "identity"
    assert headers["x-request-id"] == "turn-9"
    assert "cookie" not in headers
    assert "httpx" not in json.dumps(headers)
    assert "aiohttp" not in json.dumps(headers).lower()


async def test_the_key_is_read_anew_for_every_attempt_and_each_lane_has_its_own(
    client: httpx.AsyncClient,
) -> None:
    seen: list[str | None] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await read_request(reader)).split(b"\r\n\r\n")[0].decode()
        lines = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:])
        seen.append(lines.get("authorization"))
        writer.write(HEAD + chunk("Yes.") + STOP)

    environ = {"KEY_A": "one", "KEY_B": "two"}
    async with raw_server(serve) as url:
        for variable in ("KEY_A", "KEY_B", None):
            await call(client, lane_at(url, api_key_env=variable), environ)
        environ["KEY_A"] = "three"
        await call(client, lane_at(url, api_key_env="KEY_A"), environ)
    assert seen == ["bearer one", "bearer two", None, "bearer three"]


async def test_a_cookie_a_provider_sets_is_never_sent_back(client: httpx.AsyncClient) -> None:
    seen: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append((await read_request(reader)).lower())
        writer.write(HEAD.replace(b"\r\n", b"\r\nSet-Cookie: who=rosa; Path=/\r\n", 1) + chunk("Yes.") + STOP)

    async with raw_server(serve) as url:
        for _ in range(2):
            # Libraries keep no cookies for bare addresses, so it must be a name.
            assert "localhost" in url
            await call(client, lane_at(url), {})
    assert not any(b"cookie" in request for request in seen)


@pytest.mark.parametrize("key", [None, "", "  ", "sk-\nx", "schlüssel"])
async def test_a_lane_without_a_usable_key_is_misconfigured_and_not_called(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, key: str | None
) -> None:
    keyed = lane_at(lane.base_url, api_key_env="PRIMARY_KEY")
    with pytest.raises(CallFailed) as failed:
        await call(client, keyed, {} if key is None else {"PRIMARY_KEY": key})
    assert failed.value.failure is F.MISCONFIGURED
    assert provider.list_requests() == []


@pytest.mark.parametrize(
    "fault", [{"status": 401, "error": "invalid_key"}, {"cut": "reset", "after": 1}, {"disconnect": "reset"}]
)
async def test_neither_key_nor_words_nor_host_are_in_a_failure_or_a_log(
    client: httpx.AsyncClient, provider: Rehearsal, caplog: pytest.LogCaptureFixture, *, fault: dict[str, Any]
) -> None:
    provider.inject(fault)
    caplog.set_level(logging.INFO)
    with pytest.raises(CallFailed) as failed:
        await call(client, lane_at(provider.url, api_key_env="K"), {"K": "sk-very-secret"})
    error: BaseException | None = failed.value
    while error is not None:
        assert "very-secret" not in repr(vars(error)) + str(error)
        assert not isinstance(error, httpx.HTTPError), "the library's exceptions carry the request's headers"
        error = error.__cause__ or error.__context__
    told = caplog.text + "".join(traceback.format_exception_only(failed.value)) + repr(failed.value)
    for secret in ("very-secret", "did not sleep"):
        assert secret not in told


async def test_the_environment_chooses_no_proxy(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    provider.inject({"words": 3, "pace_ms": 0})
    record = await call_lane(client, lane)
    assert record.failed is None


@pytest.mark.parametrize("address", ["http://", "ftp://127.0.0.1/v1", "nonsense"])
async def test_an_address_that_is_none_is_misconfigured(client: httpx.AsyncClient, *, address: str) -> None:
    record = await call_lane(client, lane_at(address))
    assert record.failed is not None
    assert record.failed.failure is F.MISCONFIGURED


async def test_two_hundred_calls_at_once_all_get_through(
    client: httpx.AsyncClient, provider: Rehearsal
) -> None:
    provider.inject({"words": 20, "pace_ms": 2, "first_word_s": 0.5})
    # Long clocks: two hundred concurrent calls may be slow on a busy machine.
    patient = Clocks(connect_s=60, first_word_s=60, reasoning_s=60, idle_s=60, total_s=100)
    records = await asyncio.gather(
        *(call_lane(client, lane_at(provider.url), clocks=patient) for _ in range(200))
    )
    assert [record.failed for record in records] == [None] * 200
    assert provider.read_gauge()["max_in_flight"] == 200
