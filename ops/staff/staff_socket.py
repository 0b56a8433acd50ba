"""What the sockets of staff share: admitting by the session cookie, sending, and closing once."""

import logging
from abc import abstractmethod
from typing import Any

import psycopg
from channels.exceptions import StopConsumer

from companion.cookies import read_cookie
from companion.frames import serialize_frame
from companion.guarded_consumer import COME_BACK, SESSION_ENDED, GuardedConsumer
from ops.access import StaffAccess

log = logging.getLogger(__name__)


class StaffSocket(GuardedConsumer):
    """A socket of a member of staff. `session_key` is empty until the session is admitted."""

    def __init__(self, cookie_name: str) -> None:
        self._cookie_name = cookie_name
        self._is_closed = False
        self.session_key = ""

    @abstractmethod
    async def admit(self, key: str | None) -> StaffAccess | None:
        """What the user of this session may see; None unless they are active staff. Raises psycopg.Error."""

    @abstractmethod
    async def open(self, access: StaffAccess) -> None:
        """Begin to send, for an admitted session. Raises psycopg.Error or TimeoutError."""

    @abstractmethod
    async def receive(self, text: str | None) -> None:
        """Handle one frame of an admitted session."""

    @abstractmethod
    def leave(self) -> None:
        """Forget this socket. May be called again."""

    async def handle(self, message: dict[str, Any]) -> None:
        """Handle one event of the socket."""
        match message["type"]:
            case "websocket.connect":
                await self._connect()
            case "websocket.receive":
                if not self._is_closed and self.session_key:
                    await self.receive(message.get("text"))
            case "websocket.disconnect":
                self._end()
                raise StopConsumer

    async def send_frame(self, frame: dict[str, Any]) -> None:
        """Send a frame, unless the socket is closed. One that cannot be sent closes this socket, and raises nothing."""
        if self._is_closed:
            return
        try:
            await self.send({"type": "websocket.send", "text": serialize_frame(frame)})
        except Exception as failure:
            # Many screens are sent to in one round: what one cannot be sent must not end it for the others.
            await self.fail(failure)

    async def deny(self) -> None:
        """Close, because this session may see no more."""
        await self.close(SESSION_ENDED)

    async def close(self, code: int) -> None:
        """Send nothing more and close. Codes: 1000, 3000 to 4999."""
        if not self._is_closed:
            self._end()
            await self.send({"type": "websocket.close", "code": code})

    async def _connect(self) -> None:
        # Accept first: a close before it is a plain 403, which tells the page no reason.
        await self.send({"type": "websocket.accept"})
        try:
            key = read_cookie(self.scope["headers"], self._cookie_name)
            access = await self.admit(key)
            if access is None or key is None:
                await self.close(SESSION_ENDED)
                return
            self.session_key = key
            await self.open(access)
        except (psycopg.Error, TimeoutError) as failure:
            log.warning(
                "staff_socket.no_database path=%s cause=%s", self.scope["path"], type(failure).__name__
            )
            await self.close(COME_BACK)

    def _end(self) -> None:
        self._is_closed = True
        self.leave()
