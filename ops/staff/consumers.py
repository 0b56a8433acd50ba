"""The socket of a staff page: says when the page is outdated or may no longer be seen, and carries the figures."""

import json
import logging
from collections.abc import Callable
from typing import Any

import psycopg
from channels.consumer import AsyncConsumer
from channels.exceptions import StopConsumer

from companion.consumers import COME_BACK, SESSION_ENDED
from companion.cookies import read_cookie
from ops.status.live import LiveStatus

log = logging.getLogger(__name__)

MAX_ID = 2**63 - 1


class StaffConsumer(AsyncConsumer):
    """One open page of a member of staff."""

    def __init__(self, live: Callable[[], LiveStatus], cookie_name: str, wants_figures: bool) -> None:
        self._live = live()
        self._cookie_name = cookie_name
        self._wants_figures = wants_figures
        self._is_closed = False
        self.session_key = ""

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Call the handler directly. The stock dispatch hops through the one database thread for every event."""
        match message["type"]:
            case "websocket.connect":
                await self._connect()
            case "websocket.receive":
                if not self._is_closed:
                    await self._receive(_parse_frame(message.get("text")))
            case "websocket.disconnect":
                self._leave()
                raise StopConsumer

    async def send_frame(self, frame: dict[str, Any]) -> None:
        """Send a frame, unless the socket is closed."""
        if not self._is_closed:
            text = json.dumps(frame, ensure_ascii=False, separators=(",", ":"))
            await self.send({"type": "websocket.send", "text": text})

    async def deny(self) -> None:
        """Close, because this session may see no more."""
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
            key = read_cookie(self.scope["headers"], self._cookie_name)
            access = await self._live.admit(key)
        except psycopg.Error as failure:
            log.warning("staff_socket.no_database cause=%s", type(failure).__name__)
            await self.close(COME_BACK)
            return
        if access is None or key is None:
            await self.close(SESSION_ENDED)
            return
        self.session_key = key
        await self.send_frame({"type": "hello", "v": 1})
        self._live.subscribe(self, access, wants_figures=self._wants_figures)

    async def _receive(self, frame: dict[str, Any]) -> None:
        if frame.get("type") == "ping":
            await self.send_frame({"type": "pong"})
        elif frame.get("type") == "follow" and isinstance(turns := frame.get("turns"), list):
            self._live.follow(self, [turn for turn in turns if _is_id(turn)])

    def _leave(self) -> None:
        self._is_closed = True
        self._live.unsubscribe(self)


def _parse_frame(text: str | None) -> dict[str, Any]:
    """The frame; empty for text that is none."""
    try:
        frame = json.loads(text or "")
    except (ValueError, RecursionError):
        return {}
    return frame if isinstance(frame, dict) else {}


def _is_id(turn: object) -> bool:
    return isinstance(turn, int) and not isinstance(turn, bool) and 0 < turn <= MAX_ID
