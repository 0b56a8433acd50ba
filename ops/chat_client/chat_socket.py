"""One open chat socket over aiohttp: sends frames, and reads the frames of one turn or of all."""

import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from django.conf import settings

from ops.chat_client import frames
from ops.chat_client.errors import ChatFailed
from ops.chat_client.shown_turn import ShownTurn

HELLO_TIMEOUT_S = 15.0


class ChatSocket:
    """An open socket that has received its `hello`. `turns` are the snapshots that the hello carried."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, hello: dict[str, Any]) -> None:
        self._socket = socket
        self.turns: list[dict[str, Any]] = hello["conversation"]["turns"]

    async def send(self, frame: dict[str, Any]) -> None:
        await self._socket.send_str(json.dumps(frame))

    async def read_frames(self) -> AsyncIterator[dict[str, Any]]:
        """Every frame, until the service closes the socket."""
        async for message in self._socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                yield json.loads(message.data)

    async def say(self, text: str) -> AsyncIterator[tuple[dict[str, Any], ShownTurn]]:
        """Send a message; yield each frame of its turn, the ending included, with the page as it then stands.

        Raises ChatFailed if the message is not taken or the socket closes before the ending.
        """
        shown = ShownTurn(key=str(uuid.uuid4()))
        await self.send(frames.say(shown.key, text))
        async for frame in self.read_frames():
            if frame["type"] == "problem":
                raise ChatFailed(f"The message was not taken: {frame['code']}.")
            if not shown.take(frame):
                continue
            if frame["type"] == "words":
                await self.send(frames.ack(frame))
            yield frame, shown
            if shown.ending:
                return
        raise ChatFailed(f"The page lost its socket (code {self._socket.close_code}).")


@asynccontextmanager
async def open_chat(
    client: aiohttp.ClientSession, service: str, *, session_key: str = ""
) -> AsyncIterator[ChatSocket]:
    """Open the chat of a service, and wait for its `hello`.

    Without a `session_key` the cookies of `client` are sent. Raises aiohttp.ClientError if the socket is refused,
    TimeoutError without a hello in time, ChatFailed if it closes instead.
    """
    url = frames.socket_url(service)
    headers = (
        frames.handshake_headers(url, session_key, cookie_name=settings.SESSION_COOKIE_NAME)
        if session_key
        else {"Origin": service}
    )
    async with client.ws_connect(url, headers=headers, max_msg_size=0) as socket:
        hello = await socket.receive(timeout=HELLO_TIMEOUT_S)
        if hello.type is not aiohttp.WSMsgType.TEXT:
            raise ChatFailed(f"The chat closed before its first frame (code {socket.close_code}).")
        first = json.loads(hello.data)
        if first["type"] != "hello":
            raise ChatFailed(f"The chat did not open: its first frame was {first['type']!r}.")
        yield ChatSocket(socket, first)
