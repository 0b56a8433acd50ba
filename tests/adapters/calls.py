"""Make a call through an adapter and record its events."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import httpx

from routing.adapters import build_adapters
from routing.contracts import Adapter, Ask, Clocks, Finished, Lane, Message, Words
from routing.errors import CallFailed
from tests.chains import lane

LANE = lane("primary", connect_ms=3_000, first_word_ms=8_000, idle_ms=10_000)
CLOCKS = Clocks(connect_s=20, first_word_s=20, reasoning_s=30, idle_s=20, total_s=60)
ASK = Ask(reference="turn-7", messages=(Message(role="user", text="I did not sleep."),))
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


@dataclass(kw_only=True)
class CallRecord:
    """The events of one call, in order, and its duration in seconds."""

    pieces: list[str] = field(default_factory=list)
    finished: Finished | None = None
    failed: CallFailed | None = None
    took_s: float = 0.0

    @property
    def text(self) -> str:
        return "".join(self.pieces)


def lane_at(base_url: str, **changes: Any) -> Lane:
    return replace(LANE, base_url=base_url, **changes)


async def call_lane(
    client: httpx.AsyncClient,
    lane: Lane,
    *,
    ask: Ask = ASK,
    clocks: Clocks = CLOCKS,
    adapter: Adapter | None = None,
) -> CallRecord:
    """Make one call and read it to its end, through a new adapter unless one is given."""
    record, loop = CallRecord(), asyncio.get_running_loop()
    began = loop.time()
    try:
        adapter = adapter or build_adapters(client)[lane.adapter]
        async with aclosing(adapter.stream(lane, ask, clocks)) as events:  # type: ignore[type-var]
            async for event in events:
                assert record.finished is None, "nothing may come after Finished"
                if isinstance(event, Words):
                    record.pieces.append(event.text)
                else:
                    record.finished = event
    except CallFailed as failed:
        record.failed = failed
    record.took_s = loop.time() - began
    return record


def chunk(text: str) -> bytes:
    """Encode one event with words."""
    return b'data: {"choices":[{"index":0,"delta":{"content":"%b"}}]}\n\n' % text.encode()


STOP = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


@asynccontextmanager
async def raw_server(serve: Serve, **options: Any) -> AsyncIterator[str]:
    """Listen on a socket and answer with `serve`; yields the base URL."""

    async def serve_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve_and_close, "127.0.0.1", 0, **options)
    scheme = "https" if options.get("ssl") else "http"
    try:
        yield f"{scheme}://localhost:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()


async def read_request(reader: asyncio.StreamReader) -> bytes:
    """Read one whole request from the socket."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(
        int(v)
        for k, _, v in (h.partition(b":") for h in head.split(b"\r\n"))
        if k.lower() == b"content-length"
    )
    return head + await reader.readexactly(length)
