"""A small HTTP/1.1 server end that can also be rude: half a body, a reset, silence.

Written by hand on asyncio, because a proper server library rightly refuses to send what the tests need, and
because one core must carry hundreds of slow streams.
"""

import asyncio
import json
import socket
import struct
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

_HEAD_LIMIT = 64 * 1024
_BODY_LIMIT = 8 * 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One request, whole. Header names in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    loopback: bool


class Connection(asyncio.Protocol):
    """One client. Answers its requests in order; a client that leaves cancels the answer at once."""

    def __init__(self, answer: Callable[[Request, "Connection"], Coroutine[Any, Any, None]]) -> None:
        self._answer = answer
        self._received = bytearray()
        self._task: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._transport: asyncio.Transport
        self._chunked = False
        self._keep = True

    # What the transport tells us.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._writable.set()
        if self._task is not None:
            self._task.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._next()

    def _next(self) -> None:
        if self._task is not None:
            return
        try:
            request = self._take()
        except ValueError:
            self._transport.write(
                b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )
            self._transport.close()
            return
        if request is not None:
            self._task = asyncio.get_running_loop().create_task(self._answer(request, self))
            self._task.add_done_callback(self._answered)

    def _answered(self, task: asyncio.Task[None]) -> None:
        self._task = None
        failed = not task.cancelled() and task.exception() is not None
        if failed or task.cancelled() or not self._keep:
            self._transport.close()
        else:
            self._next()
        if failed:
            task.result()

    def _take(self) -> Request | None:
        """The next whole request from what has been received, or None while it is not all here."""
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            if len(self._received) > _HEAD_LIMIT:
                raise ValueError("head too long")
            return None
        first, *lines = self._received[:end].decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = {
            name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
        }
        length = int(headers.get("content-length", "0"))
        if not 0 <= length <= _BODY_LIMIT or "transfer-encoding" in headers:
            raise ValueError("body not taken")
        if len(self._received) < end + 4 + length:
            return None
        body = bytes(self._received[end + 4 : end + 4 + length])
        del self._received[: end + 4 + length]
        self._keep = headers.get("connection", "").lower() != "close"
        peer = self._transport.get_extra_info("peername")
        loopback = isinstance(peer, tuple) and (peer[0].startswith("127.") or peer[0] == "::1")
        return Request(method=method, path=path.split("?")[0], headers=headers, body=body, loopback=loopback)

    # What an answer does.

    def begin(self, status: int, headers: dict[str, str], *, framing: str) -> None:
        """Send the head. `framing`: `chunked`, `close` (the connection ends the body) or a stated length."""
        self._chunked = framing == "chunked"
        lines = [f"HTTP/1.1 {status} {_phrase(status)}"]
        if self._chunked:
            lines.append("Transfer-Encoding: chunked")
        elif framing == "close":
            self._keep = False
            lines.append("Connection: close")
        else:
            lines.append(f"Content-Length: {framing}")
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self._transport.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    def send(self, data: bytes) -> None:
        if not data:
            # An empty chunk would end the body.
            return
        if self._chunked:
            data = b"%x\r\n%b\r\n" % (len(data), data)
        self._transport.write(data)

    async def drain(self) -> None:
        """Wait until a slow reader has taken enough."""
        await self._writable.wait()

    def end(self) -> None:
        """End the body properly."""
        if self._chunked:
            self._transport.write(b"0\r\n\r\n")

    def fin(self) -> None:
        """Close the connection where it stands."""
        self._keep = False
        self._transport.close()

    def reset(self) -> None:
        """Throw the connection away: the client sees a reset."""
        self._keep = False
        sock = self._transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    def json(self, status: int, body: Any) -> None:
        """A whole JSON answer."""
        self.whole(status, {"Content-Type": "application/json"}, json.dumps(body).encode())

    def whole(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.begin(status, headers, framing=str(len(body)))
        self._transport.write(body)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
