"""A door between the browser and the service, which a test can shut, open and hold: the service itself never knows."""

import asyncio
import contextlib
from collections.abc import AsyncIterator


class Door:
    """A TCP relay on a free port of this machine."""

    def __init__(self, port: int) -> None:
        self._behind = port
        self._server: asyncio.Server | None = None
        self._port = 0
        self._passing: set[asyncio.Task[None]] = set()
        self._flows = asyncio.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def open(self) -> None:
        """Let people through, on the same port as before."""
        self._flows.set()
        self._server = await asyncio.start_server(self._pass, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def shut(self) -> None:
        """Cut every connection at once and accept none."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in tuple(self._passing):
            task.cancel()
        await asyncio.gather(*self._passing, return_exceptions=True)

    def hold(self) -> None:
        """Keep every connection, and let no byte through: a device that walked out of reach."""
        self._flows.clear()

    def release(self) -> None:
        """Let bytes through again."""
        self._flows.set()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._passing.add(task)
        try:
            inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", self._behind)
            try:
                await asyncio.wait(
                    {
                        asyncio.ensure_future(self._copy(reader, inner_writer)),
                        asyncio.ensure_future(self._copy(inner_reader, writer)),
                    },
                    return_when=asyncio.FIRST_COMPLETED,
                )
            finally:
                inner_writer.transport.abort()
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._passing.discard(task)
            writer.transport.abort()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while chunk := await reader.read(65_536):
                await self._flows.wait()
                writer.write(chunk)
                await writer.drain()


@contextlib.asynccontextmanager
async def door_to(port: int) -> AsyncIterator[Door]:
    """An open door to the service on a port, shut at the end."""
    door = Door(port)
    await door.open()
    try:
        yield door
    finally:
        await door.shut()
