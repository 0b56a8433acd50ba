"""The socket of a waiting page, `/ws/machine/`: it is told who is asked for, and answers over HTTP."""

import logging
from collections.abc import Callable
from typing import Any

import psycopg
from channels.exceptions import StopConsumer
from django.conf import settings

from companion.cookies import read_cookie
from companion.frames import serialize_frame
from companion.guarded_consumer import COME_BACK, NOT_ALLOWED, SESSION_ENDED, GuardedConsumer
from companion.machines.screens import MachineScreens
from companion.machines.tokens import MachineToken, parse_token

log = logging.getLogger(__name__)


class MachineConsumer(GuardedConsumer):
    """One open waiting page. It sends `ping` alone; frames out: `hello`, `waiting`, `offer`, `pong`."""

    token: MachineToken

    def __init__(self, screens: Callable[[], MachineScreens]) -> None:
        self._screens = screens()
        self._is_closed = False

    async def handle(self, message: dict[str, Any]) -> None:
        """Handle one event of the socket."""
        match message["type"]:
            case "websocket.connect":
                await self._connect()
            case "websocket.receive":
                # Whatever it sends, it is alive: the page has nothing else to say here.
                await self.show({"type": "pong"})
            case "websocket.disconnect":
                self._leave()
                raise StopConsumer

    async def show(self, frame: dict[str, Any]) -> None:
        """Send a frame, unless the socket is closed."""
        if not self._is_closed:
            await self.send({"type": "websocket.send", "text": serialize_frame(frame)})

    async def deny(self) -> None:
        """Close, because the cookie of this page is no longer that of a machine that may open visits."""
        await self.close(SESSION_ENDED)

    async def close(self, code: int) -> None:
        """Send nothing more and close. Codes: 1000, 3000 to 4999."""
        if not self._is_closed:
            self._leave()
            await self.send({"type": "websocket.close", "code": code})

    async def _connect(self) -> None:
        # Accept first: a close before it is a plain 403, which tells the page no reason.
        await self.send({"type": "websocket.accept"})
        if self._screens.is_closing:
            await self.close(COME_BACK)
            return
        token = parse_token(read_cookie(self.scope["headers"], settings.MACHINE_COOKIE_NAME))
        try:
            if token is None or not await self._screens.admit(token):
                await self.close(SESSION_ENDED)
                return
        except (psycopg.Error, TimeoutError) as failure:
            log.warning("machine_socket.no_database cause=%s", type(failure).__name__)
            await self.close(COME_BACK)
            return
        if not self._screens.has_room(token):
            await self.close(NOT_ALLOWED)
            return
        self.token = token
        await self.show({"type": "hello", "v": 1})
        self._screens.add(self)

    def _leave(self) -> None:
        self._is_closed = True
        self._screens.remove(self)
