"""The provider sees a caller leave within 0.2 s, at every stage of the call (T14)."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import httpx
import pytest

from routing.adapters.openai import OpenAIAdapter
from routing.adapters.transport import Transport, build_client
from routing.contracts import Ask, Message
from tests.adapters.calls import ASK, CLOCKS, HEAD, STOP, chunk, lane_at, raw_server, read_request
from tests.certificates import trust, write_certificate

WITHIN_S = 0.2


class Upstream:
    """A provider that answers up to the stage `upto`, then waits for the client to leave."""

    def __init__(self, upto: str) -> None:
        self._upto = upto
        self.reached = asyncio.Event()
        self.left = asyncio.Event()
        self.left_at = 0.0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self._upto == "unread":
                # It reads the head of the request but not its long body.
                await reader.readuntil(b"\r\n\r\n")
                self.reached.set()
                await self._wait_until_gone(writer)
            else:
                await read_request(reader)
                if self._upto in ("head", "words"):
                    writer.write(HEAD)
                if self._upto == "words":
                    writer.write(chunk("One"))
                self.reached.set()
                await reader.read()
        except ConnectionError:
            pass
        finally:
            self.left_at = time.perf_counter()
            self.left.set()

    async def _wait_until_gone(self, writer: asyncio.StreamWriter) -> None:
        """Wait for the client to leave without reading: only a write shows it."""
        while True:
            writer.write(b"HTTP/1.1 102 Processing\r\n\r\n")
            await writer.drain()
            await asyncio.sleep(0.01)


async def listen(
    client: httpx.AsyncClient, url: str, ask: Ask = ASK, *, spoke: asyncio.Event | None = None
) -> None:
    async with aclosing(OpenAIAdapter(client).stream(lane_at(url), ask, CLOCKS)) as events:
        async for _ in events:
            if spoke is not None:
                spoke.set()


async def cancel_in_time(client: httpx.AsyncClient, url: str, upstream: Upstream, ask: Ask = ASK) -> None:
    spoke = asyncio.Event()
    task = asyncio.create_task(listen(client, url, ask, spoke=spoke))
    await asyncio.wait_for(upstream.reached.wait(), 5)
    if upstream._upto == "words":
        await asyncio.wait_for(spoke.wait(), 5)
    began = time.perf_counter()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.perf_counter() - began < WITHIN_S
    await asyncio.wait_for(upstream.left.wait(), 5)
    assert upstream.left_at - began < WITHIN_S


@pytest.mark.parametrize("upto", ["request", "head", "words"])
async def test_a_cancelled_call_closes_the_connection(client: httpx.AsyncClient, *, upto: str) -> None:
    upstream = Upstream(upto)
    async with raw_server(upstream.serve) as url:
        await cancel_in_time(client, url, upstream)


# aiohttp warns of bodies above 1 MiB, which no question reaches outside this test.
@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
async def test_a_call_cancelled_while_its_question_is_still_being_sent_closes_the_connection(
    client: httpx.AsyncClient,
) -> None:
    upstream = Upstream("unread")
    # Larger than the system's buffers, so that most of it is still unsent.
    long = Ask(reference="long", messages=(Message(role="user", text="x" * 8_000_000),))
    async with raw_server(upstream.serve) as url:
        await cancel_in_time(client, url, upstream, long)


async def test_leaving_at_a_word_closes_the_connection(client: httpx.AsyncClient) -> None:
    upstream = Upstream("words")
    async with raw_server(upstream.serve) as url:
        async with aclosing(OpenAIAdapter(client).stream(lane_at(url), ASK, CLOCKS)) as events:
            async for _ in events:
                break
            began = time.perf_counter()
        assert time.perf_counter() - began < WITHIN_S
        await asyncio.wait_for(upstream.left.wait(), 5)
        assert upstream.left_at - began < WITHIN_S


async def test_a_timeout_closes_the_connection(client: httpx.AsyncClient) -> None:
    from dataclasses import replace

    from tests.adapters.calls import call_lane

    upstream = Upstream("words")
    async with raw_server(upstream.serve) as url:
        record = await call_lane(client, lane_at(url), clocks=replace(CLOCKS, idle_s=0.1))
        ended = time.perf_counter()
        assert record.failed is not None
        await asyncio.wait_for(upstream.left.wait(), 5)
        assert upstream.left_at - ended < WITHIN_S


async def test_a_server_that_never_closes_does_not_hold_a_finished_reply(client: httpx.AsyncClient) -> None:
    left = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(HEAD + chunk("All said.") + STOP)
        await reader.read()
        left.set()

    async with raw_server(serve) as url:
        await asyncio.wait_for(listen(client, url), 2)
        await asyncio.wait_for(left.wait(), 2)


async def test_many_cancelled_calls_leave_a_client_that_still_calls(client: httpx.AsyncClient) -> None:
    """Cancelling must not exhaust connections that a later call needs."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await read_request(reader)
        if b"turn-7" in request:
            writer.write(HEAD + chunk("Here.") + STOP)
            return
        await reader.read()

    async with raw_server(serve) as url:
        for round_ in range(5):
            waiting = Ask(reference=f"wait-{round_}", messages=ASK.messages)
            tasks = [asyncio.create_task(listen(client, url, waiting)) for _ in range(60)]
            await asyncio.sleep(0.002 * round_)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.wait_for(listen(client, url), 5)


# Over TLS, where closing politely would wait for the other end.


@asynccontextmanager
async def tls_server(upstream: Upstream, folder: Path) -> AsyncIterator[tuple[str, ssl.SSLContext]]:
    certificate, key = write_certificate(folder)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate, key)
    async with raw_server(upstream.serve, ssl=serving) as url:
        yield url, trust(certificate)


@pytest.mark.parametrize("upto", ["request", "words"])
async def test_a_cancelled_call_closes_a_tls_connection_as_fast(
    transport: Transport, tmp_path: Path, *, upto: str
) -> None:
    upstream = Upstream(upto)
    async with (
        tls_server(upstream, tmp_path) as (url, trust),
        build_client(transport=transport, context=trust) as client,
    ):
        await cancel_in_time(client, url, upstream)


async def test_an_untrusted_certificate_is_a_network_failure(
    client: httpx.AsyncClient, tmp_path: Path
) -> None:
    from routing.errors import FailureClass
    from tests.adapters.calls import call_lane

    upstream = Upstream("words")
    async with tls_server(upstream, tmp_path) as (url, _):
        record = await call_lane(client, lane_at(url))
    assert record.failed is not None
    assert record.failed.failure is FailureClass.NETWORK
