"""The socket of the page *Right now*: shows what changes, answers a ping, and takes nothing else."""

import json
import logging
from collections.abc import Callable
from typing import Any

import psycopg
from channels.consumer import AsyncConsumer
from channels.exceptions import StopConsumer

from companion.consumers import COME_BACK, SESSION_ENDED
from companion.cookies import cookie_of
from ops.now.live import Live

log = logging.getLogger(__name__)


class NowConsumer(AsyncConsumer):
    """One open page of a member of staff."""

    def __init__(self, live: Callable[[], Live], cookie_name: str) -> None:
        self._live = live()
        self._cookie_name = cookie_name
        self._is_closed = False
        self.session_key = ""

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Call the handler directly. The stock dispatch hops through the one database thread for every event."""
        match message["type"]:
            case "websocket.connect":
                await self._connect()
            case "websocket.receive":
                if not self._is_closed and _is_ping(message.get("text")):
                    await self.show({"type": "pong"})
            case "websocket.disconnect":
                self._leave()
                raise StopConsumer

    async def show(self, told: dict[str, Any]) -> None:
        """Send a frame."""
        if not self._is_closed:
            text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
            await self.send({"type": "websocket.send", "text": text})

    async def turn_away(self) -> None:
        """This session may see no more."""
        await self.close(SESSION_ENDED)

    async def close(self, code: int) -> None:
        """Send nothing more and close. Codes: 1000, 3000 to 4999."""
        if not self._is_closed:
            self._leave()
            await self.send({"type": "websocket.close", "code": code})

    async def _connect(self) -> None:
        # A close before the accept would be a plain 403, and the page could not tell why.
        await self.send({"type": "websocket.accept"})
        try:
            key = cookie_of(self.scope["headers"], self._cookie_name)
            staff = await self._live.admit(key)
        except psycopg.Error as failure:
            log.warning("now.no_database cause=%s", type(failure).__name__)
            await self.close(COME_BACK)
            return
        if staff is None or key is None:
            await self.close(SESSION_ENDED)
            return
        self.session_key = key
        await self.show({"type": "hello", "v": 1})
        self._live.watch(self, staff)

    def _leave(self) -> None:
        self._is_closed = True
        self._live.leave(self)


def _is_ping(text: str | None) -> bool:
    try:
        frame = json.loads(text or "")
    except (ValueError, RecursionError):
        return False
    return isinstance(frame, dict) and frame.get("type") == "ping"
