"""A participant's browser without the browser: the card's code, the socket, and what would stand on the page."""

import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import aiohttp

from ops.outage.errors import CannotPlay, StoryBroke

ENDINGS = frozenset({"complete", "stopped", "paused", "refused"})
PATIENCE = aiohttp.ClientTimeout(total=15)


@dataclass(kw_only=True, slots=True)
class Seen:
    """What one turn looked like on the page: its id, the kinds of frames in order, its lines and words."""

    turn: int = 0
    kinds: list[str] = field(default_factory=list)
    openings: list[str] = field(default_factory=list)
    words: str = ""
    line: str = ""

    def take(self, frame: dict[str, Any]) -> None:
        """One more frame of this turn."""
        kind = frame["type"]
        if kind == "words":
            self.words += frame["text"]
        elif kind == "opening":
            self.openings.append(frame["line"])
        elif kind in ENDINGS:
            self.line = frame.get("line", "")
        if not (kind == "words" and self.kinds[-1:] == ["words"]):
            self.kinds.append(kind)


class Tab:
    """One open page. `hello` is what it was greeted with."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, hello: dict[str, Any]) -> None:
        self._socket = socket
        self.turns: list[dict[str, Any]] = hello["conversation"]["turns"]

    async def say(self, text: str) -> AsyncIterator[dict[str, Any]]:
        """Send a message and yield every frame of its turn as it comes, the last one too."""
        key = str(uuid.uuid4())
        await self._send({"type": "say", "key": key, "text": text})
        turn = None
        while True:
            frame = await _frame(self._socket)
            if frame["type"] == "problem":
                raise StoryBroke(f"The message was not taken: {frame['code']}.")
            if frame["type"] == "accepted" and frame["key"] == key:
                turn = frame["turn"]
            if turn is None or frame.get("turn") != turn:
                continue
            if frame["type"] == "words":
                await self._send({"type": "ack", "turn": turn, "seq": frame["seq"]})
            yield frame
            if frame["type"] in ENDINGS:
                return

    async def _send(self, frame: dict[str, Any]) -> None:
        await self._socket.send_str(json.dumps(frame))


class Visitor:
    """One participant at one service. The client must have a cookie jar that keeps cookies of addresses."""

    def __init__(self, client: aiohttp.ClientSession, service: str) -> None:
        self._client = client
        self._service = service

    @property
    def _not_by_this_name(self) -> str:
        return (
            f"The service does not let itself be called {self._service}. Add that name to its ALLOWED_HOSTS, "
            "or give --address the name it has."
        )

    async def find(self) -> None:
        """Raise CannotPlay unless the service is there and ready."""
        try:
            async with self._client.get(f"{self._service}/readyz", timeout=PATIENCE) as answer:
                if answer.status == HTTPStatus.OK:
                    return
                not_by_this_name = answer.status == HTTPStatus.BAD_REQUEST
        except (aiohttp.ClientError, TimeoutError):
            raise CannotPlay(
                f"Nothing answers at {self._service}. Start scripts/up, wait for its line “ready”, and run this again."
            ) from None
        if not_by_this_name:
            raise CannotPlay(self._not_by_this_name)
        raise CannotPlay(
            f"The service at {self._service} is there, but not ready: see what scripts/up says, and run this again."
        )

    async def come_in(self, code: str) -> None:
        """Type the code of a card. Raises CannotPlay if the card is not known there."""
        form, headers = {"code": code}, {"Origin": self._service}
        async with self._client.post(
            f"{self._service}/card/", data=form, headers=headers, allow_redirects=False, timeout=PATIENCE
        ) as answer:
            if answer.status == HTTPStatus.BAD_REQUEST:
                raise CannotPlay(self._not_by_this_name)
            if answer.status != HTTPStatus.FOUND:
                raise CannotPlay(
                    f"The service at {self._service} does not know the card this command made. "
                    "Give this command the same SECRET_KEY and DATABASE_URL, and check that the site is open."
                )

    @asynccontextmanager
    async def tab(self) -> AsyncIterator[Tab]:
        """Open the chat, as a first visit, a reload and a second device do."""
        address = self._service.replace("http", "ws", 1) + "/ws/chat/"
        try:
            async with self._client.ws_connect(address, origin=self._service, max_msg_size=0) as socket:
                yield Tab(socket, await _frame(socket))
        except aiohttp.ClientError as failure:
            raise StoryBroke(f"The chat could not be opened ({type(failure).__name__}).") from None

    async def leave(self) -> None:
        """*I am finished*: the visit ends on the server."""
        async with self._client.get(f"{self._service}/chat/", timeout=PATIENCE) as page:
            token = page.cookies.get("csrftoken")
        headers = {"Origin": self._service, "X-CSRFToken": token.value if token else ""}
        async with self._client.post(
            f"{self._service}/chat/finish/", headers=headers, allow_redirects=False, timeout=PATIENCE
        ) as answer:
            if answer.status != HTTPStatus.FOUND:
                raise StoryBroke(f"The visit could not be ended (status {answer.status}).")


async def _frame(socket: aiohttp.ClientWebSocketResponse) -> dict[str, Any]:
    message = await socket.receive()
    if message.type is not aiohttp.WSMsgType.TEXT:
        raise StoryBroke(f"The page lost its socket (code {socket.close_code}).")
    frame: dict[str, Any] = json.loads(message.data)
    return frame
