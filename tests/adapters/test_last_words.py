"""A connection that breaks takes no word with it that had already come (T5, T9)."""

import asyncio
from contextlib import aclosing

import httpx
import pytest

from routing.adapters.openai import OpenAIAdapter
from routing.contracts import Words
from routing.errors import CallFailed
from tests.adapters.calls import ASK, CLOCKS, chunk, lane_at, raw_server, read_request

CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def encode_chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


@pytest.mark.parametrize("gather_s", [0.0, 0.05])
async def test_words_that_came_before_the_break_are_said_before_the_failure(
    client: httpx.AsyncClient, gather_s: float
) -> None:
    broken = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(CHUNKED + encode_chunk(chunk("One ")))
        await writer.drain()
        await heard_one.wait()
        writer.write(encode_chunk(chunk("two ")) + encode_chunk(chunk("three")))
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        broken.set()

    heard_one, said = asyncio.Event(), ""
    async with raw_server(serve) as url:
        adapter = OpenAIAdapter(client, gather_s=gather_s)
        with pytest.raises(CallFailed):
            async with aclosing(adapter.stream(lane_at(url), ASK, CLOCKS)) as events:
                async for event in events:
                    assert isinstance(event, Words)
                    said += event.text
                    if not heard_one.is_set():
                        heard_one.set()
                        # The reader is busy until all bytes have arrived and the connection has broken.
                        await broken.wait()
                        await asyncio.sleep(0.05)
    assert said == "One two three"


async def test_a_first_word_and_a_break_in_one_breath_are_a_word_and_a_failure(
    client: httpx.AsyncClient,
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(CHUNKED + encode_chunk(chunk("Only")))

    said = ""
    async with raw_server(serve) as url:
        with pytest.raises(CallFailed):
            async with aclosing(OpenAIAdapter(client).stream(lane_at(url), ASK, CLOCKS)) as events:
                async for event in events:
                    assert isinstance(event, Words)
                    said += event.text
    assert said == "Only"
