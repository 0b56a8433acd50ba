"""A TCP proxy whose network can be made slow, narrow, silent or broken while connections are open."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

READ_BYTES = 65_536
LAST_WORDS_S = 0.5
"""Time for one side after the other has ended."""
_RESET = struct.pack("ii", 1, 0)
"""SO_LINGER with zero seconds: a close sends RST."""

Dial = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


@dataclass(frozen=True, kw_only=True)
class NetworkFault:
    """What happens to bytes on their way. The default is a good network."""

    delay_s: float = 0.0
    """Each read of bytes arrives so much later, in each direction."""
    bytes_per_s: float = 0.0
    """0: as fast as possible."""
    is_half_open: bool = False
    """Bytes vanish in both directions and no end is told. Connections that met it are reset when it ends."""


GOOD = NetworkFault()


class TcpProxy:
    """Listens on a free port of this machine and connects each client to one server."""

    def __init__(self, dial: Dial) -> None:
        self._dial = dial
        self._server: asyncio.Server | None = None
        self._links: set[_Link] = set()
        self.fault = GOOD
        self.port = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Close the door and every connection."""
        self.cut()
        if self._server is not None:
            self._server.close()
        await asyncio.gather(*(link.task for link in self._links), return_exceptions=True)

    def set_fault(self, fault: NetworkFault) -> None:
        """Let bytes travel like this from now on."""
        was, self.fault = self.fault, fault
        if was.is_half_open and not fault.is_half_open:
            for link in [link for link in self._links if link.lost_bytes]:
                link.reset()

    def cut(self) -> None:
        """Reset every open connection on both sides."""
        for link in list(self._links):
            link.reset()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        link = _Link(self, writer, task)
        self._links.add(link)
        try:
            await link.carry(reader, self._dial)
            link.close()
        except (OSError, asyncio.CancelledError):
            # Nothing is behind the door, or the connection was cut: the client sees the reset below.
            pass
        finally:
            self._links.discard(link)
            if not link.is_closed:
                link.reset()


class _Link:
    """One connection through the proxy."""

    def __init__(self, proxy: TcpProxy, client: asyncio.StreamWriter, task: "asyncio.Task[None]") -> None:
        self._proxy = proxy
        self._writers = [client]
        self.task = task
        self.lost_bytes = False
        self.is_closed = False

    def close(self) -> None:
        """Close both sides in order: what was sent still arrives."""
        self.is_closed = True
        for writer in self._writers:
            writer.close()

    def reset(self) -> None:
        """Close both sides with RST, and end the task."""
        for writer in self._writers:
            end = writer.get_extra_info("socket")
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            writer.transport.abort()
        if not self.task.done() and self.task is not asyncio.current_task():
            self.task.cancel()

    async def carry(self, reader: asyncio.StreamReader, dial: Dial) -> None:
        """Carry bytes in both directions until one side ends."""
        while self._proxy.fault.is_half_open:
            self.lost_bytes = True
            await asyncio.sleep(0.05)
        server_reader, server_writer = await dial()
        self._writers.append(server_writer)
        pumps = [
            asyncio.ensure_future(self._pump(reader, server_writer)),
            asyncio.ensure_future(self._pump(server_reader, self._writers[0])),
        ]
        try:
            ended, going_on = await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            for pump in ended:
                pump.result()
            # One side has ended in order: what the other says in answer must still arrive.
            if going_on:
                await asyncio.wait(going_on, timeout=LAST_WORDS_S)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._carry_bytes(reader, writer)
        except OSError:
            if not self._proxy.fault.is_half_open:
                raise
        if self._proxy.fault.is_half_open:
            # The end is not told: the connection is reset when the fault ends.
            self.lost_bytes = True
            await asyncio.Event().wait()
        with contextlib.suppress(OSError):
            writer.write_eof()

    async def _carry_bytes(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        while data := await reader.read(READ_BYTES):
            arrived = loop.time()
            fault = self._proxy.fault
            if fault.is_half_open:
                self.lost_bytes = True
                continue
            if fault.delay_s:
                await asyncio.sleep(max(0.0, arrived + fault.delay_s - loop.time()))
            if fault.bytes_per_s:
                await asyncio.sleep(len(data) / fault.bytes_per_s)
            if self._proxy.fault.is_half_open:
                self.lost_bytes = True
                continue
            writer.write(data)
            await writer.drain()
