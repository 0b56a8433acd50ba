"""Pages that ask short questions all the time at every web process, to see which lane gets the requests."""

import asyncio
import itertools
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from ops.chat_client import frames
from ops.chat_client.chat_socket import ChatSocket, open_chat

QUESTION = "What is the time of day for you? (measuring)"


@dataclass(kw_only=True, eq=False)
class ProbePage:
    """One page at one web process. Stops each reply at its first word: only the request is measured."""

    place: int
    """Which web process, counted from 0."""
    chat: ChatSocket
    turns: list[int] = field(default_factory=list)
    """The ids of all its turns."""
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while it has no turn in progress."""
    _key: str = ""

    async def ask(self) -> None:
        """Send the question once more."""
        self.idle.clear()
        self._key = str(uuid.uuid4())
        await self.chat.send(frames.say(self._key, QUESTION))

    async def listen(self) -> None:
        """Read frames until the socket closes."""
        async for frame in self.chat.read_frames():
            await self._take(frame)

    async def _take(self, frame: dict[str, Any]) -> None:
        if frame["type"] == "accepted" and frame["key"] == self._key:
            self.turns.append(frame["turn"])
        elif frame["type"] == "problem":
            self.idle.set()
        elif not self.turns or frame.get("turn") != self.turns[-1]:
            return
        elif frame["type"] == "words":
            await self.chat.send(frames.stop(frame["turn"]))
        elif frame["type"] in frames.ENDINGS:
            self.idle.set()


@asynccontextmanager
async def open_probes(
    services: Sequence[str], session_keys: Sequence[str]
) -> AsyncIterator[Sequence[ProbePage]]:
    """Open one page for each session key, spread over the web processes at these addresses."""
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()))
        pages: list[ProbePage] = []
        for session_key, (place, service) in zip(
            session_keys, itertools.cycle(enumerate(services)), strict=False
        ):
            chat = await stack.enter_async_context(open_chat(client, service, session_key=session_key))
            pages.append(ProbePage(place=place, chat=chat))
            pages[-1].idle.set()
        listening = [asyncio.create_task(page.listen()) for page in pages]
        try:
            yield pages
        finally:
            for task in listening:
                task.cancel()
            await asyncio.gather(*listening, return_exceptions=True)
