"""A page's side of the socket, version 1, for tests: sends frames, keeps received frames, acknowledges words."""

import asyncio
import json
import ssl
import uuid
from typing import Any

import websockets
from websockets.asyncio.client import ClientConnection, connect

Frame = dict[str, Any]
ENDINGS = {"complete", "stopped", "paused", "refused", "handed_over", "held", "safety"}


class Page:
    """One open socket. Use as an async context manager."""

    def __init__(
        self,
        socket_url: str,
        cookie: str,
        *,
        origin: str | None = None,
        acks: bool = True,
        name: str = "companion",
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._url = socket_url
        self._cookie = f"{name}={cookie}"
        self._origin = origin or socket_url.replace("ws", "http", 1).removesuffix("/ws/chat/")
        self._acks = acks
        self._tls = tls
        self._connection: ClientConnection | None = None
        self.frames: list[Frame] = []
        self.disclosures: list[Frame] = []

    async def __aenter__(self) -> "Page":
        headers = {"Cookie": self._cookie, "Origin": self._origin}
        self._connection = await connect(
            self._url, additional_headers=headers, max_size=None, proxy=None, ssl=self._tls
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.connection.close()

    @property
    def connection(self) -> ClientConnection:
        """The open connection."""
        assert self._connection is not None
        return self._connection

    async def send(self, frame: Frame | str | bytes) -> None:
        """Send a frame as JSON, or text or bytes unchanged."""
        await self.connection.send(json.dumps(frame) if isinstance(frame, dict) else frame)

    async def say(self, text: str, key: str | None = None) -> str:
        """Send a message; returns its key."""
        key = key or str(uuid.uuid4())
        await self.send({"type": "say", "key": key, "text": text})
        return key

    async def next(self, within_s: float = 20) -> Frame:
        """Receive, keep and acknowledge the next frame. What is disclosed is kept apart: it opens any first turn."""
        async with asyncio.timeout(within_s):
            frame: Frame = json.loads(await self.connection.recv())
            while frame["type"] == "opening" and frame["kind"] == "disclosure":
                self.disclosures.append(frame)
                frame = json.loads(await self.connection.recv())
        self.frames.append(frame)
        if self._acks and frame["type"] == "words":
            await self.send({"type": "ack", "turn": frame["turn"], "seq": frame["seq"]})
        return frame

    async def until(self, *kinds: str, turn: int | None = None, within_s: float = 20) -> Frame:
        """Read on until a frame of one of these kinds (of this turn)."""
        async with asyncio.timeout(within_s):
            while True:
                frame = await self.next(within_s)
                if frame["type"] in kinds and turn in (None, frame.get("turn")):
                    return frame

    async def ending(self, turn: int | None = None, within_s: float = 20) -> Frame:
        """Read on until a turn has ended."""
        return await self.until(*ENDINGS, turn=turn, within_s=within_s)

    async def close_code(self, within_s: float = 20) -> int:
        """Read on until the server closes; returns the code."""
        try:
            while True:
                await self.next(within_s)
        except websockets.ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else 1006

    def words(self, turn: int) -> str:
        """The words of a turn received over this socket; asserts that none is missing."""
        pieces = [frame for frame in self.frames if frame["type"] == "words" and frame["turn"] == turn]
        if pieces:
            first = pieces[0]["seq"]
            assert [piece["seq"] for piece in pieces] == list(range(first, first + len(pieces)))
        return "".join(piece["text"] for piece in pieces)

    def kinds(self, turn: int | None = None) -> list[str]:
        """The types of the received frames; consecutive `words` frames count as one."""
        listed: list[str] = []
        for frame in self.frames:
            if turn not in (None, frame.get("turn")):
                continue
            if not (frame["type"] == "words" and listed and listed[-1] == "words"):
                listed.append(frame["type"])
        return listed
