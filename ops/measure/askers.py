"""People who ask short questions all the time, at every web process, so that one can see where requests go."""

import asyncio
import itertools
import json
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp

ENDINGS = frozenset({"complete", "stopped", "paused", "refused"})
QUESTION = "What is the time of day for you? (measuring)"
HELLO_WITHIN_S = 15.0


@dataclass(kw_only=True, eq=False)
class Asker:
    """One page at one web process. Ends each reply at its first word: what matters is where it was asked for."""

    place: int
    """Which web process, counted from 0."""
    socket: aiohttp.ClientWebSocketResponse
    turns: list[int] = field(default_factory=list)
    """The turns it has had."""
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while nothing it asked is being answered."""
    _key: str = ""

    async def ask(self) -> None:
        """Ask once more."""
        self.idle.clear()
        self._key = str(uuid.uuid4())
        await self._send({"type": "say", "key": self._key, "text": QUESTION})

    async def listen(self) -> None:
        """Follow what comes, until the socket closes."""
        async for message in self.socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                await self._hear(json.loads(message.data))

    async def _hear(self, frame: dict[str, Any]) -> None:
        if frame["type"] == "accepted" and frame["key"] == self._key:
            self.turns.append(frame["turn"])
        elif frame["type"] == "problem":
            self.idle.set()
        elif not self.turns or frame.get("turn") != self.turns[-1]:
            return
        elif frame["type"] == "words":
            await self._send({"type": "stop", "turn": frame["turn"]})
        elif frame["type"] in ENDINGS:
            self.idle.set()

    async def _send(self, frame: dict[str, Any]) -> None:
        await self.socket.send_str(json.dumps(frame))


@asynccontextmanager
async def askers(ports: Sequence[int], cookies: Sequence[str]) -> AsyncIterator[Sequence[Asker]]:
    """So many pages, spread over the web processes on these ports of this machine."""
    async with AsyncExitStack() as stack:
        browser = await stack.enter_async_context(aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()))
        opened: list[Asker] = []
        for cookie, (place, port) in zip(cookies, itertools.cycle(enumerate(ports)), strict=False):
            address = f"http://127.0.0.1:{port}"
            socket = await stack.enter_async_context(
                browser.ws_connect(
                    f"{address}/ws/chat/", origin=address, headers={"Cookie": f"companion={cookie}"}
                )
            )
            await socket.receive_json(timeout=HELLO_WITHIN_S)
            opened.append(Asker(place=place, socket=socket))
            opened[-1].idle.set()
        listening = [asyncio.create_task(one.listen()) for one in opened]
        try:
            yield opened
        finally:
            for task in listening:
                task.cancel()
            await asyncio.gather(*listening, return_exceptions=True)
