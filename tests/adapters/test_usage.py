"""The usage that comes after a reply's end is waited for where it was asked for, and only there (R13)."""

import asyncio

import httpx
import pytest

from routing.contracts import Usage
from tests.adapters.calls import HEAD, STOP, call_lane, chunk, lane_at, raw_server, read_request

LAST = b'data: {"choices":[],"usage":{"prompt_tokens":812,"completion_tokens":34}}\n\ndata: [DONE]\n\n'


@pytest.mark.parametrize("tells", [True, False])
async def test_a_lane_that_was_asked_may_tell_it_late_and_one_that_does_not_loses_nothing(
    client: httpx.AsyncClient, *, tells: bool
) -> None:
    sent = bytearray()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sent.extend(await read_request(reader))
        writer.write(HEAD + chunk("Hello.") + STOP)
        await writer.drain()
        # A read of its own, after that of the end.
        await asyncio.sleep(0.05)
        if tells:
            writer.write(LAST)
        await reader.read()

    async with raw_server(serve) as url:
        record = await call_lane(client, lane_at(url, usage="asked"))
    assert record.text == "Hello."
    assert record.finished is not None
    assert record.finished.usage == (Usage(input_tokens=812, output_tokens=34) if tells else None)
    assert record.took_s < 2
    assert b'"include_usage": true' in sent


async def test_a_lane_that_was_not_asked_is_not_waited_for(client: httpx.AsyncClient) -> None:
    over = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(HEAD + chunk("Hello.") + STOP)
        await writer.drain()
        await reader.read()
        over.set()

    async with raw_server(serve) as url:
        record = await call_lane(client, lane_at(url))
        await asyncio.wait_for(over.wait(), 5)
    assert record.finished is not None
    assert record.finished.usage is None
