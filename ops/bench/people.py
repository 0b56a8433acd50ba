"""One simulated person of each kind: in front of the companion, in front of a bare relay, or on the provider directly.

The page does more with a frame than these do (see `ops.chat_client.shown_turn`). They only record delays, because
their CPU is measured with the rest and every system is to be asked at the same cost.
"""

import asyncio
import time
import uuid
from dataclasses import dataclass
from typing import Any, Protocol

from django.conf import settings

from ops.bench.upstream_clients import StreamReply
from ops.chat_client import frames
from ops.chat_client.lean_socket import LeanSocket, connect_lean
from ops.testbed.stamped_words import StampedWords


@dataclass(frozen=True, kw_only=True)
class TimedReply:
    """One reply as it arrived. Times in seconds; `asked_at` on the machine's monotonic clock."""

    question: str
    asked_at: float
    delays: list[float]
    whole: bool


class SimulatedPerson(Protocol):
    """Asks one question at a time."""

    async def open(self) -> None: ...
    async def ask(self, question: str) -> TimedReply: ...
    async def close(self) -> None: ...


class SocketPerson:
    """A person with an open socket. Subclasses say what is sent and what a frame means."""

    def __init__(self, url: str, headers: dict[str, str]) -> None:
        self._url = url
        self._headers = headers
        self._socket: LeanSocket | None = None
        self._words = StampedWords(0.0)
        self._ended: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    async def open(self) -> None:
        """Connect, and wait for the service's greeting if it has one."""
        self._socket = await connect_lean(
            self._url, self._headers, on_frame=self._take, on_close=lambda: self._end(False)
        )

    async def ask(self, question: str) -> TimedReply:
        """Ask, and listen to the end of the reply."""
        assert self._socket is not None
        self._ended = asyncio.get_running_loop().create_future()
        self._words = words = StampedWords(time.perf_counter())
        self._socket.send(self._question(question))
        whole = await self._ended
        return TimedReply(question=question, asked_at=words.asked_at, delays=words.delays, whole=whole)

    async def close(self) -> None:
        if self._socket is not None:
            self._socket.close()

    def _end(self, whole: bool) -> None:
        if not self._ended.done():
            self._words.end(time.perf_counter())
            self._ended.set_result(whole)

    def _question(self, question: str) -> dict[str, Any]:
        raise NotImplementedError

    def _take(self, frame: dict[str, Any]) -> None:
        raise NotImplementedError


class ChatPerson(SocketPerson):
    """A participant's page: the chat socket of the service, version 1, with its acknowledgements."""

    def __init__(self, url: str, session_key: str) -> None:
        super().__init__(
            url, frames.handshake_headers(url, session_key, cookie_name=settings.SESSION_COOKIE_NAME)
        )
        self._greeted: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def open(self) -> None:
        await super().open()
        await self._greeted

    def _question(self, question: str) -> dict[str, Any]:
        return frames.say(str(uuid.uuid4()), question)

    def _take(self, frame: dict[str, Any]) -> None:
        kind = frame["type"]
        if kind == "words":
            self._words.add(frame["text"], time.perf_counter())
            if frame["seq"] % frames.ACK_EVERY_SEQ == 0 and self._socket is not None:
                self._socket.send(frames.ack(frame))
        elif kind == "hello":
            self._greeted.set_result(None)
        elif kind in frames.ENDINGS or kind == "problem":
            self._end(kind == "complete")

    def _end(self, whole: bool) -> None:
        super()._end(whole)
        if not self._greeted.done():
            self._greeted.set_exception(ConnectionError("the socket was closed before its first frame"))


class RelayPerson(SocketPerson):
    """A person in front of a bare relay."""

    def __init__(self, url: str) -> None:
        super().__init__(url, {})

    def _question(self, question: str) -> dict[str, Any]:
        return {"question": question}

    def _take(self, frame: dict[str, Any]) -> None:
        if "words" in frame:
            self._words.add(frame["words"], time.perf_counter())
        else:
            self._end(frame["ended"])


class DirectPerson:
    """A person who calls the provider with nothing in between: added times are measured above this floor."""

    def __init__(self, stream: StreamReply) -> None:
        self._stream = stream

    async def open(self) -> None:
        """Do nothing: the client connects when it asks."""

    async def ask(self, question: str) -> TimedReply:
        """Ask, and listen to the end of the reply."""
        words, whole = StampedWords(time.perf_counter()), False
        async for text, finish in self._stream(question):
            words.add(text, time.perf_counter())
            whole = whole or finish == "stop"
        words.end(time.perf_counter())
        return TimedReply(question=question, asked_at=words.asked_at, delays=words.delays, whole=whole)

    async def close(self) -> None:
        """Do nothing: the client is shared."""
