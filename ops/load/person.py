"""One participant's page under load: opens its socket, asks, listens, and comes back by itself when the line is lost.

It speaks the socket's version 1 as the page does: a message keeps its key, and a turn is taken up where it stood.
"""

import asyncio
import hashlib
import random
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ops.bench.socket_client import SocketClient, connect
from ops.bench.stamps import Ear

ACKNOWLEDGE_EVERY = 10
"""Pieces, as the page does it."""
ENDINGS = frozenset({"complete", "stopped", "paused", "refused"})
HELLO_WITHIN_S = 60.0
LONGEST_REST_S = 2.0
"""Between two attempts to come back."""


class NoSession(Exception):
    """The socket did not open, or said nothing. The text is a short kind of error."""


@dataclass(kw_only=True, slots=True)
class Heard:
    """What came of one question. Times in seconds of the machine's monotonic clock; None: it never came."""

    key: str
    asked_at: float
    turn: int | None = None
    waited: bool = False
    first_at: float | None = None
    ended_at: float | None = None
    how: str = ""
    """`complete`, `stopped`, `paused`, `refused`, or a kind of error."""
    text: str = ""
    seq: int = 0
    returns: int = 0
    """How often the page had to come back."""
    arrivals: list[float] = field(default_factory=list)
    """When each word was there."""
    sent: list[float] = field(default_factory=list)
    """When the provider sent each word, as the word itself says."""

    def told(self) -> dict[str, Any]:
        """For the program that started the crowd: everything but the words."""
        return {
            "key": self.key,
            "turn": self.turn,
            "asked_at": self.asked_at,
            "waited": self.waited,
            "first_at": self.first_at,
            "ended_at": self.ended_at,
            "how": self.how,
            "words": len(self.sent),
            "length": len(self.text),
            "speaking_s": self.arrivals[-1] - self.arrivals[0] if len(self.arrivals) > 1 else None,
            "digest": hashlib.sha256(self.text.encode()).hexdigest(),
            "returns": self.returns,
        }


class Person:
    """`addresses` are the sockets of all web processes; the first is tried first, the others when it is gone."""

    def __init__(self, addresses: Sequence[str], cookie: str) -> None:
        self._addresses = addresses
        self._place = 0
        self._cookie = cookie
        self._socket: SocketClient | None = None
        self._hello: asyncio.Future[dict[str, Any]] | None = None
        self._heard: Heard | None = None
        self._ended: asyncio.Future[None] | None = None
        self._ear = Ear(0.0)
        self._question = ""
        self._coming_back: asyncio.Task[None] | None = None
        self._leaving = False
        self.lost = 0
        """How often the line broke while nobody wanted to leave."""

    async def come(self) -> float:
        """Open the socket; returns the seconds until its `hello`. Raises NoSession."""
        began = time.perf_counter()
        await self._open()
        return time.perf_counter() - began

    async def ask(self, question: str, *, within_s: float) -> Heard:
        """Ask, and listen to the end, on whichever process."""
        self._heard = heard = Heard(key=str(uuid.uuid4()), asked_at=time.perf_counter())
        self._ended = asyncio.get_running_loop().create_future()
        self._ear, self._question = Ear(heard.asked_at), question
        self._say()
        try:
            async with asyncio.timeout(within_s):
                await self._ended
        except TimeoutError:
            heard.how = heard.how or "no end within its time"
        self._heard = None
        return heard

    async def leave(self) -> None:
        """Close as a browser does."""
        self._leaving = True
        if self._coming_back is not None:
            self._coming_back.cancel()
        if self._socket is not None:
            self._socket.close()

    async def _open(self) -> dict[str, Any]:
        address = self._addresses[self._place % len(self._addresses)]
        origin = address.replace("ws", "http", 1).removesuffix("/ws/chat/")
        hello: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._hello = hello
        try:
            async with asyncio.timeout(HELLO_WITHIN_S):
                self._socket = await connect(
                    address,
                    {"Cookie": f"companion={self._cookie}", "Origin": origin},
                    heard=self._frame,
                    gone=lambda: self._gone(hello),
                )
                return await hello
        except TimeoutError:
            raise NoSession("no hello within its time") from None
        except OSError as refusal:
            raise NoSession(f"not connected: {type(refusal).__name__}") from None

    def _gone(self, hello: "asyncio.Future[dict[str, Any]]") -> None:
        if not hello.done():
            hello.set_exception(NoSession("closed before its hello"))
            # The failure of a line that nobody waits for any more is nobody's surprise.
            hello.exception()
            return
        if not self._leaving:
            self.lost += 1
            self._coming_back = asyncio.get_running_loop().create_task(self._come_back())

    async def _come_back(self) -> None:
        rest_s = 0.1
        while True:
            await asyncio.sleep(random.random() * rest_s)
            rest_s = min(rest_s * 2, LONGEST_REST_S)
            self._place += 1
            try:
                hello = await self._open()
            except NoSession:
                continue
            if self._heard is not None:
                self._heard.returns += 1
                self._take_up(self._heard, hello["conversation"]["turns"])
            return

    def _take_up(self, heard: Heard, turns: Sequence[dict[str, Any]]) -> None:
        """Go on with the turn as the service has it; a message that had not arrived is sent again."""
        for snapshot in turns:
            if snapshot["key"] == heard.key:
                heard.turn = snapshot["id"]
                if snapshot["state"] != "paused":
                    self._words(heard, snapshot["reply"].removeprefix(heard.text), snapshot["seq"])
                if snapshot["state"] in ENDINGS:
                    self._end(heard, snapshot["state"])
                return
        self._say()

    def _say(self) -> None:
        if self._socket is not None and self._heard is not None:
            self._socket.send({"type": "say", "key": self._heard.key, "text": self._question})

    def _frame(self, frame: dict[str, Any]) -> None:
        kind, heard = frame["type"], self._heard
        if kind == "hello":
            if self._hello is not None and not self._hello.done():
                self._hello.set_result(frame)
        elif kind == "problem" and (heard is None or heard.turn is None):
            self._refuse(frame["code"])
        elif heard is None:
            return
        elif kind == "accepted":
            if frame["key"] == heard.key:
                heard.turn = frame["turn"]
        elif frame.get("turn") == heard.turn:
            self._follow(heard, kind, frame)

    def _refuse(self, code: str) -> None:
        if self._hello is not None and not self._hello.done():
            self._hello.set_exception(NoSession(f"refused: {code}"))
        elif self._heard is not None:
            self._end(self._heard, f"not taken: {code}")

    def _follow(self, heard: Heard, kind: str, frame: dict[str, Any]) -> None:
        if kind == "words":
            if frame["seq"] != heard.seq + 1:
                self._end(heard, "a piece was missing or came twice")
                return
            self._words(heard, frame["text"], frame["seq"])
            if frame["seq"] % ACKNOWLEDGE_EVERY == 0 and self._socket is not None:
                self._socket.send({"type": "ack", "turn": frame["turn"], "seq": frame["seq"]})
        elif kind == "waiting":
            heard.waited = True
        elif kind in ENDINGS:
            self._end(heard, kind)

    def _words(self, heard: Heard, text: str, seq: int) -> None:
        now = time.perf_counter()
        if text and heard.first_at is None:
            heard.first_at = now
        heard.text += text
        heard.seq = seq
        known = len(self._ear.delays)
        self._ear.hear(text, now)
        self._note(heard, known, now)

    def _note(self, heard: Heard, known: int, now: float) -> None:
        for delay in self._ear.delays[known:]:
            heard.arrivals.append(now)
            heard.sent.append(now - delay)

    def _end(self, heard: Heard, how: str) -> None:
        if self._ended is None or self._ended.done():
            return
        heard.ended_at, heard.how = time.perf_counter(), how
        known = len(self._ear.delays)
        self._ear.end(heard.ended_at)
        self._note(heard, known, heard.arrivals[-1] if heard.arrivals else heard.ended_at)
        self._ended.set_result(None)
