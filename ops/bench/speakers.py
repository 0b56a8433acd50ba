"""One person of each kind: in front of the companion, in front of a bare relay, or on the provider's own line."""

import asyncio
import time
import uuid
from dataclasses import dataclass
from typing import Any, Protocol

from ops.bench.clients import Way
from ops.bench.socket_client import SocketClient, connect
from ops.bench.stamps import Ear

ACKNOWLEDGE_EVERY = 10
"""Pieces, as the page does it."""


@dataclass(frozen=True, kw_only=True)
class Heard:
    """What one person heard. Times in seconds; `asked_at` on the machine's monotonic clock."""

    question: str
    asked_at: float
    delays: list[float]
    whole: bool


class Speaker(Protocol):
    """Somebody who asks one question at a time."""

    async def open(self) -> None: ...
    async def ask(self, question: str) -> Heard: ...
    async def close(self) -> None: ...


class Person:
    """Someone with an open socket. A kind of person says what is sent, and what a frame means."""

    def __init__(self, url: str, headers: dict[str, str]) -> None:
        self._url = url
        self._headers = headers
        self._socket: SocketClient | None = None
        self._ear = Ear(0.0)
        self._ended: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    async def open(self) -> None:
        """Connect, and wait for what this service says first."""
        self._socket = await connect(
            self._url, self._headers, heard=self._heard, gone=lambda: self._end(False)
        )

    async def ask(self, question: str) -> Heard:
        """Ask, and listen to the end."""
        assert self._socket is not None
        self._ended = asyncio.get_running_loop().create_future()
        self._ear = ear = Ear(time.perf_counter())
        self._socket.send(self._say(question))
        whole = await self._ended
        return Heard(question=question, asked_at=ear.asked_at, delays=ear.delays, whole=whole)

    async def close(self) -> None:
        """Leave."""
        if self._socket is not None:
            self._socket.close()

    def _end(self, whole: bool) -> None:
        if not self._ended.done():
            self._ear.end(time.perf_counter())
            self._ended.set_result(whole)

    def _say(self, question: str) -> dict[str, Any]:
        raise NotImplementedError

    def _heard(self, frame: dict[str, Any]) -> None:
        raise NotImplementedError


class Participant(Person):
    """A participant's page: the socket of the service, version 1, with its acknowledgements."""

    def __init__(self, url: str, cookie: str) -> None:
        origin = url.replace("ws", "http", 1).removesuffix("/ws/chat/")
        super().__init__(url, {"Cookie": f"companion={cookie}", "Origin": origin})
        self._greeted: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def open(self) -> None:
        await super().open()
        await self._greeted

    def _say(self, question: str) -> dict[str, Any]:
        return {"type": "say", "key": str(uuid.uuid4()), "text": question}

    def _heard(self, frame: dict[str, Any]) -> None:
        kind = frame["type"]
        if kind == "words":
            self._ear.hear(frame["text"], time.perf_counter())
            if frame["seq"] % ACKNOWLEDGE_EVERY == 0 and self._socket is not None:
                self._socket.send({"type": "ack", "turn": frame["turn"], "seq": frame["seq"]})
        elif kind == "hello":
            self._greeted.set_result(None)
        elif kind in ("complete", "stopped", "paused", "refused", "problem"):
            self._end(kind == "complete")

    def _end(self, whole: bool) -> None:
        super()._end(whole)
        if not self._greeted.done():
            self._greeted.set_exception(ConnectionError("the socket was closed before its first frame"))


class Visitor(Person):
    """Someone in front of a bare relay."""

    def __init__(self, url: str) -> None:
        super().__init__(url, {})

    def _say(self, question: str) -> dict[str, Any]:
        return {"question": question}

    def _heard(self, frame: dict[str, Any]) -> None:
        if "words" in frame:
            self._ear.hear(frame["words"], time.perf_counter())
        else:
            self._end(frame["ended"])


class Caller:
    """Someone on the provider's own line, with nothing in between: the floor that every added time is above."""

    def __init__(self, way: Way) -> None:
        self._way = way

    async def open(self) -> None:
        """Nothing is opened before it is needed."""

    async def ask(self, question: str) -> Heard:
        """Ask, and listen to the end."""
        ear, whole = Ear(time.perf_counter()), False
        async for words, finish in self._way(question):
            ear.hear(words, time.perf_counter())
            whole = whole or finish == "stop"
        ear.end(time.perf_counter())
        return Heard(question=question, asked_at=ear.asked_at, delays=ear.delays, whole=whole)

    async def close(self) -> None:
        """Nothing stays open."""
