"""What gateways do that no specification has, over raw sockets and both transports (T9)."""

import asyncio
import gzip
import zlib
from dataclasses import replace

import httpx
import pytest

from routing.adapters.openai import OpenAIAdapter
from routing.contracts import Clocks
from routing.errors import FailureClass as F
from tests.adapters.calls import (
    CLOCKS,
    HEAD,
    STOP,
    CallRecord,
    Serve,
    call_lane,
    chunk,
    lane_at,
    raw_server,
    read_request,
)

DONE = b"data: [DONE]\n\n"


def serve_parts(*parts: bytes, head: bytes = HEAD) -> Serve:
    """Serve these parts one by one, then close."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(head)
        for part in parts:
            writer.write(part)
            await writer.drain()
            # A pause between parts makes each a separate read, as from a server that streams words.
            await asyncio.sleep(0.02)

    return serve


def add_header(line: str) -> bytes:
    return HEAD.replace(b"\r\n\r\n", f"\r\n{line}\r\n\r\n".encode())


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "deflate", "raw deflate"])
async def test_a_body_compressed_without_a_request_is_read_as_it_comes(
    client: httpx.AsyncClient, *, encoding: str
) -> None:
    window = {"deflate": zlib.MAX_WBITS, "raw deflate": -zlib.MAX_WBITS}.get(encoding, 16 + zlib.MAX_WBITS)
    packer = zlib.compressobj(wbits=window)
    parts = [
        packer.compress(part) + packer.flush(zlib.Z_SYNC_FLUSH)
        for part in (chunk("One"), chunk(" two."), STOP)
    ]
    head = add_header(f"Content-Encoding: {encoding.split()[-1]}")
    async with raw_server(serve_parts(*parts, packer.flush(), head=head)) as url:
        record = await call_lane(client, lane_at(url))
    assert record.failed is None
    assert record.text == "One two."
    assert len(record.pieces) == 2


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("br", b"\x0b\x02"),
        ("zstd", b"("),
        ("gzip, gzip", gzip.compress(b"", mtime=0)),
        ("gzip", b"data: plain\n\n"),
    ],
)
async def test_a_body_that_nothing_here_can_unpack_is_incomplete_and_says_so(
    client: httpx.AsyncClient, *, encoding: str, body: bytes
) -> None:
    async with raw_server(serve_parts(body, head=add_header(f"Content-Encoding: {encoding}"))) as url:
        record = await call_lane(client, lane_at(url))
    assert record.failed is not None
    assert (record.failed.failure, record.failed.code) == (F.INCOMPLETE, "content_encoding")


async def test_a_small_body_that_holds_a_huge_one_is_left(client: httpx.AsyncClient) -> None:
    bomb = gzip.compress(b": " + b"x\n: " * 20_000_000, compresslevel=1, mtime=0)
    async with raw_server(serve_parts(bomb, head=add_header("Content-Encoding: gzip"))) as url:
        record = await call_lane(client, lane_at(url))
    assert record.failed is not None
    assert (record.failed.failure, record.failed.code) == (F.INCOMPLETE, "content_encoding")


async def test_a_compressed_error_is_read(client: httpx.AsyncClient) -> None:
    body = gzip.compress(b'{"error": {"message": "", "code": "insufficient_quota"}}', mtime=0)
    head = b"HTTP/1.1 429 No\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n"
    async with raw_server(serve_parts(body, head=head)) as url:
        record = await call_lane(client, lane_at(url))
    assert record.failed is not None
    assert record.failed.failure is F.QUOTA


async def test_long_headers_are_taken(client: httpx.AsyncClient) -> None:
    lines = [f"Content-Security-Policy: {'x' * 20_000}", f"Set-Cookie: a={'y' * 12_000}"]
    async with raw_server(serve_parts(chunk("Yes."), STOP, head=add_header("\r\n".join(lines)))) as url:
        record = await call_lane(client, lane_at(url))
    assert record.failed is None
    assert record.text == "Yes."


async def test_headers_beyond_any_size_are_a_network_failure(client: httpx.AsyncClient) -> None:
    async with raw_server(serve_parts(STOP, head=add_header(f"X-Long: {'x' * 400_000}"))) as url:
        record = await call_lane(client, lane_at(url))
    assert record.failed is not None
    assert record.failed.failure is F.NETWORK


async def test_a_reason_with_every_chunk_ends_nothing_before_its_end(client: httpx.AsyncClient) -> None:
    with_reason = b'data: {"choices":[{"index":null,"delta":{"content":"%b"},"finish_reason":"stop"}]}\n\n'
    parts = [with_reason % word for word in (b"One", b" two", b" three.")]
    async with raw_server(serve_parts(*parts, DONE)) as url:
        record = await call_lane(client, lane_at(url))
    assert record.failed is None
    assert record.text == "One two three."


async def test_a_reply_in_one_chunk_on_a_line_that_stays_open_is_whole(client: httpx.AsyncClient) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(HEAD + b'data: {"choices":[{"delta":{"content":"Yes."},"finish_reason":"stop"}]}\n\n')
        await reader.read()

    clocks = Clocks(connect_s=1, first_word_s=5, reasoning_s=None, idle_s=0.3, total_s=20)
    async with raw_server(serve) as url:
        record = await call_lane(client, lane_at(url), clocks=clocks)
    assert record.failed is None
    assert record.text == "Yes."
    assert record.took_s < 5


async def test_a_lane_whose_thoughts_have_no_mark_at_their_start_is_known_by_its_next_reply(
    client: httpx.AsyncClient,
) -> None:
    adapter = OpenAIAdapter(client)
    parts = [chunk("She is"), chunk(" sad.</th"), chunk("ink>Good"), chunk(" day."), STOP]

    async def listen(url: str) -> CallRecord:
        return await call_lane(client, lane_at(url), adapter=adapter)

    async with raw_server(serve_parts(*parts)) as url:
        first, second = await listen(url), await listen(url)
    async with raw_server(serve_parts(chunk("Good "), chunk("day."), STOP)) as url:
        plain, after = await listen(url), await listen(url)
    assert first.failed is not None
    assert (first.failed.failure, first.failed.code) == (F.INCOMPLETE, "unopened_thoughts")
    assert "Good" not in first.text
    assert (second.failed, second.text) == (None, "Good day.")
    # A reply without any such mark comes whole at its end, and from then on the lane is heard as others are.
    assert (plain.failed, plain.pieces) == (None, ["Good day."])
    assert (after.failed, after.pieces) == (None, ["Good ", "day."])


async def test_a_lane_that_is_said_to_think_first_is_heard_so_at_once(client: httpx.AsyncClient) -> None:
    parts = [chunk("She is"), chunk(" sad.</think>"), chunk("Good day."), STOP]
    async with raw_server(serve_parts(*parts)) as url:
        record = await call_lane(client, replace(lane_at(url), thoughts="unopened"))
    assert (record.failed, record.text) == (None, "Good day.")


async def test_thoughts_give_the_first_word_more_time_as_reasoning_does(client: httpx.AsyncClient) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(HEAD + chunk("<think>"))
        for _ in range(10):
            writer.write(chunk("hm "))
            await writer.drain()
            await asyncio.sleep(0.1)
        writer.write(chunk("</think>Yes.") + STOP)

    clocks = replace(CLOCKS, first_word_s=0.4, reasoning_s=10, idle_s=2)
    async with raw_server(serve) as url:
        record = await call_lane(client, lane_at(url), clocks=clocks)
    assert (record.failed, record.text) == (None, "Yes.")
