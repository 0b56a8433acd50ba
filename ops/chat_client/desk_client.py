"""A member of staff without a browser, over aiohttp: signs in, opens the desk, sends acts, waits for frames."""

import json
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

import aiohttp

from ops.chat_client.browser import REQUEST_TIMEOUT, find_form_token
from ops.chat_client.errors import ChatFailed, ServiceUnavailable

SOCKET_PATH = "/ws/staff/"


class DeskClient:
    """One open screen. Frames that come while an answer is awaited are kept for later reads."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._kept: list[dict[str, Any]] = []

    async def act(self, act: str, **facts: Any) -> dict[str, Any]:
        """Send an act; returns its `done` or `refused`. Raises ChatFailed."""
        ref = uuid.uuid4().hex
        await self._socket.send_str(json.dumps({"type": act, "ref": ref, **facts}))
        return await self.wait_for(lambda frame: frame.get("ref") == ref)

    async def wait_for(self, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The next frame that fits, one that came earlier and was not returned yet included. Raises ChatFailed."""
        for place, frame in enumerate(self._kept):
            if fits(frame):
                return self._kept.pop(place)
        async for message in self._socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                frame = json.loads(message.data)
                if fits(frame):
                    return dict(frame)
                self._kept.append(frame)
        raise ChatFailed(f"The desk lost its socket (code {self._socket.close_code}).")


async def sign_staff_in(client: aiohttp.ClientSession, service: str, username: str, password: str) -> None:
    """Sign in as a member of staff; the cookies stay in `client`. Raises ServiceUnavailable."""
    page = f"{service}/staff/sign-in/"
    async with client.get(page, timeout=REQUEST_TIMEOUT) as answer:
        token = find_form_token(answer.cookies)
    form = {
        "username": username,
        "password": password,
        "csrfmiddlewaretoken": token,
    }
    async with client.post(
        page, data=form, headers={"Origin": service}, allow_redirects=False, timeout=REQUEST_TIMEOUT
    ) as answer:
        if answer.status != HTTPStatus.FOUND:
            raise ServiceUnavailable(
                f"The service at {service} does not know the account this command made (status {answer.status}). "
                "Give this command the same SECRET_KEY and DATABASE_URL."
            )


@asynccontextmanager
async def open_desk(client: aiohttp.ClientSession, service: str) -> AsyncIterator[DeskClient]:
    """Open the desk's socket with the cookies of `client`, and wait for its `hello`. Raises ChatFailed."""
    url = service.replace("http", "ws", 1) + SOCKET_PATH
    async with client.ws_connect(url, headers={"Origin": service}, max_msg_size=0) as socket:
        desk = DeskClient(socket)
        await desk.wait_for(lambda frame: frame["type"] == "hello")
        yield desk
