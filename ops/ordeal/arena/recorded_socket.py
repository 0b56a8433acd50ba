"""One socket of a page or of a screen, with every frame in the history."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from django.conf import settings

from ops.chat_client import frames
from ops.chat_client.lean_socket import LeanSocket, connect_lean
from ops.ordeal.arena.recorder import Recorder

HELLO_WITHIN_S = 12.0
DROPPED = 1006
"""The close code of a connection that was lost, as browsers report it."""


class RecordedSocket:
    """Opened once. `who` names it in the history, and `on_frame` gets each frame after it is recorded."""

    def __init__(self, who: str, recorder: Recorder, on_frame: Callable[[dict[str, Any]], None]) -> None:
        self.who = who
        self._recorder = recorder
        self._on_frame = on_frame
        self._socket: LeanSocket | None = None
        self._greeted = asyncio.Event()
        self.closed = asyncio.Event()

    @property
    def is_up(self) -> bool:
        """Whether its `hello` has come and it is open."""
        return self._greeted.is_set() and not self.closed.is_set()

    @property
    def close_code(self) -> int:
        """With which it was closed; DROPPED without a word."""
        return (self._socket.close_code if self._socket else None) or DROPPED

    async def open(self, url: str, session_key: str, **facts: Any) -> bool:
        """Connect and wait for `hello`. False: it was refused, closed or silent, and is over."""
        self._recorder.write(self.who, "opens", **facts)
        headers = frames.handshake_headers(url, session_key, cookie_name=settings.SESSION_COOKIE_NAME)
        try:
            async with asyncio.timeout(HELLO_WITHIN_S):
                self._socket = await connect_lean(url, headers, on_frame=self._take, on_close=self._close)
                await self._wait_for_either()
        except (OSError, TimeoutError):
            self.drop()
        if not self.closed.is_set() and not self._greeted.is_set():
            self.drop()
        return self.is_up

    def send(self, frame: Mapping[str, Any], **marks: Any) -> bool:
        """Send a frame. False: the socket is not up, and nothing was sent."""
        if not self.is_up or self._socket is None:
            return False
        self._recorder.write(self.who, "sent", frame=frame, **marks)
        self._socket.send(frame)
        return True

    def leave(self) -> None:
        """Close as a browser does."""
        if self._socket is not None and not self.closed.is_set():
            self._socket.close()

    def drop(self) -> None:
        """Lose the connection without a word."""
        if self._socket is not None:
            self._socket.abort()
        self._close()

    def freeze(self) -> None:
        """Read nothing until `thaw`."""
        if self._socket is not None:
            self._socket.pause_reading()

    def thaw(self) -> None:
        if self._socket is not None and not self.closed.is_set():
            with contextlib.suppress(RuntimeError):
                self._socket.resume_reading()

    async def _wait_for_either(self) -> None:
        waits = [asyncio.ensure_future(event.wait()) for event in (self._greeted, self.closed)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def _take(self, frame: dict[str, Any]) -> None:
        if self.closed.is_set():
            return
        is_hello = frame["type"] == "hello"
        self._recorder.write(self.who, "hello" if is_hello else "got", frame=frame)
        if is_hello:
            self._greeted.set()
        self._on_frame(frame)

    def _close(self) -> None:
        if not self.closed.is_set():
            self.closed.set()
            self._recorder.write(self.who, "closed", code=self.close_code)
