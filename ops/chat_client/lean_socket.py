"""A minimal WebSocket client: text frames, ping and close.

The bench and the load test share their machine with the service they measure, so they use this transport instead of
aiohttp's: a full client costs about as much CPU for each frame as the service does, and would measure itself.
"""

import asyncio
import base64
import json
import os
import struct
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


class LeanSocket(asyncio.Protocol):
    """One socket. Calls `on_frame` with each text frame, parsed from JSON, and `on_close` once at the end."""

    def __init__(self, on_frame: Callable[[dict[str, Any]], None], on_close: Callable[[], None]) -> None:
        self._on_frame = on_frame
        self._on_close = on_close
        self._received = b""
        self.close_code: int | None = None
        """The code with which the service closed it."""
        self._transport: asyncio.Transport
        self.upgraded: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.upgraded.done():
            self.upgraded.set_exception(ConnectionError("the socket was refused"))
        self._on_close()

    def request_upgrade(self, url: str, headers: Mapping[str, str]) -> None:
        """Send the opening handshake."""
        parts = urlsplit(url)
        lines = [
            f"GET {parts.path} HTTP/1.1",
            f"Host: {parts.netloc}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
            "Sec-WebSocket-Version: 13",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        self._transport.write(("\r\n".join(lines) + "\r\n\r\n").encode())

    def data_received(self, data: bytes) -> None:
        data = self._received + data
        if not self.upgraded.done():
            head, blank, data = data.partition(b"\r\n\r\n")
            if not blank:
                self._received = head
                return
            if b" 101 " not in head[:20]:
                self._transport.close()
                return
            self.upgraded.set_result(None)
        self._received = data[self._parse(data) :]

    def _parse(self, data: bytes) -> int:
        """Handle all complete frames. Returns the offset of the first incomplete one."""
        at, end = 0, len(data)
        while end - at >= 2:
            kind, length, start = data[at] & 15, data[at + 1], at + 2
            if length == 126:
                if end - at < 4:
                    break
                (length,), start = struct.unpack_from("!H", data, at + 2), at + 4
            elif length == 127:
                if end - at < 10:
                    break
                (length,), start = struct.unpack_from("!Q", data, at + 2), at + 10
            if start + length > end:
                break
            at = start + length
            self._handle(kind, data[start:at])
        return at

    def _handle(self, kind: int, body: bytes) -> None:
        if kind == TEXT:
            self._on_frame(json.loads(body))
        elif kind == PING:
            self._write(PONG, body)
        elif kind == CLOSE:
            self.close_code = struct.unpack_from("!H", body)[0] if len(body) >= 2 else None
            self._transport.close()

    def send(self, frame: Mapping[str, Any]) -> None:
        self._write(TEXT, json.dumps(frame).encode())

    def close(self) -> None:
        """Send a close frame and close, as a browser does."""
        self._write(CLOSE, struct.pack("!H", 1000))
        self._transport.close()

    def abort(self) -> None:
        """Drop the connection without a word, as a device that loses its network does."""
        self._transport.abort()

    def pause_reading(self) -> None:
        """Read nothing until `resume_reading`, as a device that sleeps."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()

    def _write(self, kind: int, body: bytes) -> None:
        # The protocol allows a mask of zeros, which leaves the bytes unchanged.
        length = len(body)
        size = (
            struct.pack("!BBH", 0x80 | kind, 0xFE, length)
            if length > 125
            else bytes((0x80 | kind, 0x80 | length))
        )
        self._transport.write(size + b"\0\0\0\0" + body)


async def connect_lean(
    url: str,
    headers: Mapping[str, str],
    *,
    on_frame: Callable[[dict[str, Any]], None],
    on_close: Callable[[], None],
) -> LeanSocket:
    """Open a socket. Raises OSError if it is refused."""
    parts = urlsplit(url)
    _, client = await asyncio.get_running_loop().create_connection(
        lambda: LeanSocket(on_frame, on_close), parts.hostname or "", parts.port or 80
    )
    client.request_upgrade(url, headers)
    try:
        await client.upgraded
    except asyncio.CancelledError:
        client.abort()
        raise
    return client
