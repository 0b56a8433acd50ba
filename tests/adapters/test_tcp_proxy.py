"""The proxy of the ordeal over real sockets: what a good, slow, narrow, silent and broken network does."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from ops.ordeal.arena.tcp_proxy import GOOD, NetworkFault, TcpProxy

WITHIN_S = 5.0
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect = Callable[[], Awaitable[Streams]]


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while line := await reader.readline():
        writer.write(line)
    writer.write(b"end\n")
    writer.close()


@pytest.fixture
async def proxy() -> AsyncIterator[TcpProxy]:
    """A proxy in front of a server that repeats every line and says `end` at the end."""
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    between = TcpProxy(lambda: asyncio.open_connection("127.0.0.1", port))
    await between.start()
    yield between
    await between.stop()
    server.close()


async def connect(proxy: TcpProxy) -> Streams:
    return await asyncio.open_connection("127.0.0.1", proxy.port)


async def send_line(streams: Streams, line: bytes) -> bytes:
    reader, writer = streams
    writer.write(line)
    return await asyncio.wait_for(reader.readline(), WITHIN_S)


async def test_a_good_network_carries_bytes_both_ways_and_the_last_words_after_one_end(
    proxy: TcpProxy,
) -> None:
    reader, writer = await connect(proxy)
    assert await send_line((reader, writer), b"one\n") == b"one\n"
    writer.write_eof()
    assert await asyncio.wait_for(reader.read(), WITHIN_S) == b"end\n"
    writer.close()


async def test_a_delay_is_added_in_each_direction(proxy: TcpProxy) -> None:
    streams = await connect(proxy)
    proxy.set_fault(NetworkFault(delay_s=0.2))
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert await send_line(streams, b"one\n") == b"one\n"
    assert loop.time() - began >= 0.4
    streams[1].close()


async def test_a_narrow_network_takes_the_time_of_its_bytes(proxy: TcpProxy) -> None:
    streams = await connect(proxy)
    proxy.set_fault(NetworkFault(bytes_per_s=1_000))
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert await send_line(streams, b"x" * 199 + b"\n") == b"x" * 199 + b"\n"
    assert loop.time() - began >= 0.4
    streams[1].close()


async def test_a_half_open_network_is_silent_and_resets_what_met_it_when_it_ends(proxy: TcpProxy) -> None:
    streams = await connect(proxy)
    assert await send_line(streams, b"one\n") == b"one\n"
    proxy.set_fault(NetworkFault(is_half_open=True))
    streams[1].write(b"two\n")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(streams[0].readline(), 0.3)
    proxy.set_fault(GOOD)
    with pytest.raises(ConnectionResetError):
        await asyncio.wait_for(streams[0].readline(), WITHIN_S)
    again = await connect(proxy)
    assert await send_line(again, b"three\n") == b"three\n"
    for _, writer in (streams, again):
        writer.close()


async def test_a_cut_resets_every_connection(proxy: TcpProxy) -> None:
    streams = await connect(proxy)
    assert await send_line(streams, b"one\n") == b"one\n"
    proxy.cut()
    with pytest.raises(ConnectionResetError):
        await asyncio.wait_for(streams[0].readline(), WITHIN_S)
    streams[1].close()


async def test_without_a_server_a_connection_is_reset() -> None:
    proxy = TcpProxy(lambda: asyncio.open_connection("127.0.0.1", 9))
    await proxy.start()
    reader, writer = await connect(proxy)
    with pytest.raises(ConnectionResetError):
        await asyncio.wait_for(reader.readline(), WITHIN_S)
    writer.close()
    await proxy.stop()
