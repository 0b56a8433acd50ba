"""One participant's page under load: opens its socket, asks, listens, and reconnects when it loses its socket.

It behaves as the page does: a message keeps its key, and after a reconnect the turn goes on where it stood.
"""

import asyncio
import hashlib
import random
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

from ops.chat_client import frames
from ops.chat_client.lean_socket import LeanSocket, connect_lean
from ops.chat_client.shown_turn import ShownTurn
from ops.testbed.stamped_words import StampedWords

HELLO_TIMEOUT_S = 60.0
MAX_BACKOFF_S = 2.0
"""Between two attempts to reconnect."""


class NoSession(Exception):
    """The socket did not open, or sent no hello. The text is a short kind of error."""


@dataclass(kw_only=True, slots=True)
class MeasuredTurn:
    """One question and its reply. Times in seconds of the machine's monotonic clock; None: it did not happen."""

    question: str
    asked_at: float
    shown: ShownTurn
    waited: bool = False
    first_at: float | None = None
    ended_at: float | None = None
    how: str = ""
    """`complete`, `stopped`, `paused`, `refused`, or a kind of error."""
    returns: int = 0
    """How often the page had to reconnect."""
    arrivals: list[float] = field(default_factory=list)
    """When each word arrived."""
    sent: list[float] = field(default_factory=list)
    """When the provider sent each word, as the word itself says."""

    def to_document(self) -> dict[str, Any]:
        """For the program that started the crowd: everything except the words."""
        return {
            "key": self.shown.key,
            "turn": self.shown.turn,
            "asked_at": self.asked_at,
            "waited": self.waited,
            "first_at": self.first_at,
            "ended_at": self.ended_at,
            "how": self.how,
            "words": len(self.sent),
            "length": len(self.shown.words),
            "speaking_s": self.arrivals[-1] - self.arrivals[0] if len(self.arrivals) > 1 else None,
            "digest": hashlib.sha256(self.shown.words.encode()).hexdigest(),
            "returns": self.returns,
        }


class LoadPage:
    """A page that reconnects. `urls` are the sockets of all web processes; it starts with the first."""

    def __init__(self, urls: Sequence[str], session_key: str) -> None:
        self._urls = urls
        self._place = 0
        self._session_key = session_key
        self._socket: LeanSocket | None = None
        self._hello: asyncio.Future[dict[str, Any]] | None = None
        self._running: MeasuredTurn | None = None
        self._ended: asyncio.Future[None] | None = None
        self._stamps = StampedWords(0.0)
        self._reconnecting: asyncio.Task[None] | None = None
        self._leaving = False
        self.lost = 0
        """How often the socket closed although the page had not left."""

    async def open(self) -> float:
        """Open the socket. Returns the seconds until its `hello`. Raises NoSession."""
        began = time.perf_counter()
        await self._connect()
        return time.perf_counter() - began

    async def ask(self, question: str, *, timeout_s: float) -> MeasuredTurn:
        """Ask, and listen to the end of the reply, on any of the processes."""
        shown = ShownTurn(key=str(uuid.uuid4()))
        self._running = turn = MeasuredTurn(question=question, asked_at=time.perf_counter(), shown=shown)
        self._ended = asyncio.get_running_loop().create_future()
        self._stamps = StampedWords(turn.asked_at)
        self._say(turn)
        try:
            async with asyncio.timeout(timeout_s):
                await self._ended
        except TimeoutError:
            turn.how = turn.how or "no end within its time"
        self._running = None
        return turn

    async def leave(self) -> None:
        """Close as a browser does."""
        self._leaving = True
        if self._reconnecting is not None:
            self._reconnecting.cancel()
        if self._socket is not None:
            self._socket.close()

    async def _connect(self) -> dict[str, Any]:
        url = self._urls[self._place % len(self._urls)]
        hello: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._hello = hello
        try:
            async with asyncio.timeout(HELLO_TIMEOUT_S):
                self._socket = await connect_lean(
                    url,
                    frames.handshake_headers(
                        url, self._session_key, cookie_name=settings.SESSION_COOKIE_NAME
                    ),
                    on_frame=self._take,
                    on_close=lambda: self._handle_close(hello),
                )
                return await hello
        except TimeoutError:
            raise NoSession("no hello within its time") from None
        except OSError as refusal:
            raise NoSession(f"not connected: {type(refusal).__name__}") from None

    def _handle_close(self, hello: "asyncio.Future[dict[str, Any]]") -> None:
        if not hello.done():
            hello.set_exception(NoSession("closed before its hello"))
            # Mark the exception as retrieved: after a timeout no task awaits this future.
            hello.exception()
            return
        if not self._leaving:
            self.lost += 1
            self._reconnecting = asyncio.get_running_loop().create_task(self._reconnect())

    async def _reconnect(self) -> None:
        backoff_s = 0.1
        while True:
            await asyncio.sleep(random.random() * backoff_s)
            backoff_s = min(backoff_s * 2, MAX_BACKOFF_S)
            self._place += 1
            try:
                hello = await self._connect()
            except NoSession:
                continue
            if self._running is not None:
                self._running.returns += 1
                self._resume(self._running, hello["conversation"]["turns"])
            return

    def _resume(self, turn: MeasuredTurn, snapshots: Sequence[dict[str, Any]]) -> None:
        """Continue the turn as the service has it; send a message that had not arrived again."""
        for snapshot in snapshots:
            if snapshot["key"] == turn.shown.key:
                self._record_words(turn, turn.shown.resume(snapshot))
                if turn.shown.ending:
                    self._end(turn, turn.shown.ending)
                return
        self._say(turn)

    def _say(self, turn: MeasuredTurn) -> None:
        if self._socket is not None:
            self._socket.send(frames.say(turn.shown.key, turn.question))

    def _take(self, frame: dict[str, Any]) -> None:
        kind, turn = frame["type"], self._running
        if kind == "hello":
            if self._hello is not None and not self._hello.done():
                self._hello.set_result(frame)
        elif kind == "problem" and (turn is None or turn.shown.turn is None):
            self._refuse(frame["code"])
        elif turn is not None:
            self._follow(turn, kind, frame)

    def _refuse(self, code: str) -> None:
        if self._hello is not None and not self._hello.done():
            self._hello.set_exception(NoSession(f"refused: {code}"))
        elif self._running is not None:
            self._end(self._running, f"not taken: {code}")

    def _follow(self, turn: MeasuredTurn, kind: str, frame: dict[str, Any]) -> None:
        if kind == "words" and frame["turn"] == turn.shown.turn and frame["seq"] != turn.shown.seq + 1:
            self._end(turn, "a chunk was missing or came twice")
            return
        if not turn.shown.take(frame):
            return
        if kind == "words":
            self._record_words(turn, frame["text"])
            if frame["seq"] % frames.ACK_EVERY_SEQ == 0 and self._socket is not None:
                self._socket.send(frames.ack(frame))
        elif kind == "waiting":
            turn.waited = True
        elif turn.shown.ending:
            self._end(turn, kind)

    def _record_words(self, turn: MeasuredTurn, text: str) -> None:
        now = time.perf_counter()
        if text and turn.first_at is None:
            turn.first_at = now
        known = len(self._stamps.delays)
        self._stamps.add(text, now)
        self._record_arrivals(turn, known, now)

    def _record_arrivals(self, turn: MeasuredTurn, known: int, now: float) -> None:
        for delay in self._stamps.delays[known:]:
            turn.arrivals.append(now)
            turn.sent.append(now - delay)

    def _end(self, turn: MeasuredTurn, how: str) -> None:
        if self._ended is None or self._ended.done():
            return
        turn.ended_at, turn.how = time.perf_counter(), how
        known = len(self._stamps.delays)
        self._stamps.end(turn.ended_at)
        self._record_arrivals(turn, known, turn.arrivals[-1] if turn.arrivals else turn.ended_at)
        self._ended.set_result(None)
