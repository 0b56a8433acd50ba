"""The pages and screens that a growth run opens: over real sockets and HTTP, with the times that they took."""

import asyncio
import time
import uuid
from collections.abc import Mapping
from typing import Any

import httpx
from django.conf import settings

from ops.chat_client import frames
from ops.chat_client.lean_socket import LeanSocket, connect_lean

TIMEOUT_S = 60.0
MS = 1_000.0


class OperationFailed(Exception):
    """An operation did not do what it is measured for. The text says what came instead."""


class MeasuredSocket:
    """An open socket of the service that has received its `hello`, after `hello_ms`."""

    def __init__(
        self, socket: LeanSocket, arrived: asyncio.Queue[dict[str, Any] | None], hello_ms: float
    ) -> None:
        self._socket = socket
        self._arrived = arrived
        self.hello_ms = hello_ms

    @classmethod
    async def open(cls, url: str, session_key: str) -> "MeasuredSocket":
        """Open it as a page with this session does. Raises OperationFailed or OSError."""
        arrived: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        headers = frames.handshake_headers(url, session_key, cookie_name=settings.SESSION_COOKIE_NAME)
        began = time.perf_counter()
        socket = await connect_lean(
            url, headers, on_frame=arrived.put_nowait, on_close=lambda: arrived.put_nowait(None)
        )
        opened = cls(socket, arrived, 0.0)
        await opened.read_until({"hello"})
        opened.hello_ms = (time.perf_counter() - began) * MS
        return opened

    def send(self, frame: Mapping[str, Any]) -> None:
        self._socket.send(frame)

    async def read_until(self, kinds: frozenset[str] | set[str]) -> dict[str, Any]:
        """The next frame of one of these types. Raises OperationFailed for a `problem`, or if the socket closes."""
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                frame = await self._arrived.get()
                if frame is None:
                    raise OperationFailed(f"The socket closed (code {self._socket.close_code}).")
                if frame["type"] in kinds:
                    return frame
                if frame["type"] == "problem":
                    raise OperationFailed(f"The service answered with the problem {frame['code']}.")

    def close(self) -> None:
        self._socket.close()


async def time_hello(url: str, session_key: str) -> Mapping[str, float]:
    """Open a socket, read its `hello`, and close it."""
    socket = await MeasuredSocket.open(url, session_key)
    socket.close()
    return {"hello": socket.hello_ms}


async def time_reply(url: str, session_key: str) -> Mapping[str, float]:
    """Say something and read the whole reply."""
    socket = await MeasuredSocket.open(url, session_key)
    began = time.perf_counter()
    socket.send(frames.say(str(uuid.uuid4()), "How are you?"))
    await socket.read_until({"accepted"})
    accepted = time.perf_counter()
    await socket.read_until({"words"})
    first = time.perf_counter()
    ending = await socket.read_until(frames.ENDINGS)
    socket.close()
    if ending["type"] != "complete":
        raise OperationFailed(f"A reply ended as {ending['type']}.")
    return {"accepted": (accepted - began) * MS, "first word": (first - began) * MS}


async def time_queueing(url: str, session_key: str) -> Mapping[str, float]:
    """Say something while all slots are taken, read that it waits, and stop it."""
    socket = await MeasuredSocket.open(url, session_key)
    began = time.perf_counter()
    socket.send(frames.say(str(uuid.uuid4()), "How are you?"))
    accepted = await socket.read_until({"accepted"})
    took = time.perf_counter() - began
    await socket.read_until({"waiting"})
    socket.send(frames.stop(accepted["turn"]))
    await socket.read_until({"stopped"})
    socket.close()
    return {"accepted": took * MS}


class PageReader:
    """One signed-in person's browser without scripts. Keeps its connection."""

    def __init__(self, base_url: str, session_key: str = "", *, token: str = "") -> None:
        self._client = httpx.Client(
            base_url=base_url,
            headers={"Authorization": f"Bearer {token}"} if token else None,
            trust_env=False,
            timeout=TIMEOUT_S,
        )
        if session_key:
            self.sign_in(session_key)

    def sign_in(self, session_key: str) -> None:
        """Go on as another person."""
        self._client.cookies.set(settings.SESSION_COOKIE_NAME, session_key)

    def time_page(self, path: str) -> Mapping[str, float]:
        """Get a page. Raises OperationFailed unless it is served."""
        began = time.perf_counter()
        answer = self._client.get(path)
        took = time.perf_counter() - began
        if answer.status_code != 200:
            raise OperationFailed(f"{path.partition('?')[0]} answered {answer.status_code}.")
        return {"page": took * MS}

    def close(self) -> None:
        self._client.close()
