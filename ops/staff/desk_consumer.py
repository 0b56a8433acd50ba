"""The socket of the desk, `/ws/staff/`: who is here, what rings, and what staff do about it."""

import logging
from collections.abc import Callable
from typing import Any

import psycopg
from channels.consumer import AsyncConsumer
from channels.exceptions import StopConsumer

from companion.consumers import COME_BACK, NOT_ALLOWED, SESSION_ENDED
from companion.cookies import read_cookie
from companion.frames import serialize_frame
from ops.supervision import frames
from ops.supervision.acting import DeskActs
from ops.supervision.desk import LiveDesk
from ops.supervision.sentences import explain

log = logging.getLogger(__name__)


class DeskConsumer(AsyncConsumer):
    """One open screen of a member of staff. Every frame is handled by `DeskActs`."""

    def __init__(self, desk: Callable[[], tuple[LiveDesk, DeskActs]], cookie_name: str) -> None:
        self._desk, self._acts = desk()
        self._cookie_name = cookie_name
        self._is_closed = False
        self.session_key = ""

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Call the handler directly. The stock dispatch hops through the one database thread for every event."""
        match message["type"]:
            case "websocket.connect":
                await self._connect()
            case "websocket.receive":
                if not self._is_closed and self.session_key:
                    await self._acts.receive(self, message.get("text"))
            case "websocket.disconnect":
                self._leave()
                raise StopConsumer

    async def send_frame(self, frame: dict[str, Any]) -> None:
        """Send a frame, unless the socket is closed."""
        if not self._is_closed:
            await self.send({"type": "websocket.send", "text": serialize_frame(frame)})

    async def deny(self) -> None:
        """Close, because this session may see no more."""
        await self.close(SESSION_ENDED)

    async def close(self, code: int) -> None:
        """Send nothing more and close. Codes: 1000, 3000 to 4999."""
        if not self._is_closed:
            self._leave()
            await self.send({"type": "websocket.close", "code": code})

    async def _connect(self) -> None:
        # Accept first: a close before it is a plain 403, which tells the page no reason.
        await self.send({"type": "websocket.accept"})
        try:
            key = read_cookie(self.scope["headers"], self._cookie_name)
            access = await self._desk.admit(key)
            if access is None or key is None:
                await self.close(SESSION_ENDED)
                return
            if not self._desk.has_room(access.user):
                await self.send_frame(frames.problem("too_many_screens", explain("too_many_screens"), {}))
                await self.close(NOT_ALLOWED)
                return
            self.session_key = key
            await self._desk.add(self, access)
        except (psycopg.Error, TimeoutError) as failure:
            log.warning("desk_socket.no_database cause=%s", type(failure).__name__)
            await self.close(COME_BACK)

    def _leave(self) -> None:
        self._is_closed = True
        self._desk.remove(self)
