"""The socket of a staff page: says when the page is outdated or may no longer be seen, and carries the figures."""

import json
from collections.abc import Callable
from typing import Any

from companion.ids import LARGEST_ID
from ops.access import StaffAccess
from ops.staff.staff_socket import StaffSocket
from ops.status.live import LiveStatus
from ops.supervision.frames import PONG


class StaffConsumer(StaffSocket):
    """One open page of a member of staff."""

    def __init__(self, live: Callable[[], LiveStatus], cookie_name: str, wants_figures: bool) -> None:
        super().__init__(cookie_name)
        self._live = live()
        self._wants_figures = wants_figures

    async def admit(self, key: str | None) -> StaffAccess | None:
        """What the user of this session may see."""
        return await self._live.admit(key)

    async def open(self, access: StaffAccess) -> None:
        """Send `hello`, and from then on what changes."""
        await self.send_frame({"type": "hello", "v": 1})
        self._live.subscribe(self, access, wants_figures=self._wants_figures)

    async def receive(self, text: str | None) -> None:
        """Answer a `ping`, or follow the turns that the page shows."""
        frame = _parse_frame(text)
        if frame.get("type") == "ping":
            await self.send_frame(PONG)
        elif frame.get("type") == "follow" and isinstance(turns := frame.get("turns"), list):
            self._live.follow(self, [turn for turn in turns if _is_id(turn)])

    def leave(self) -> None:
        """Send the page nothing more."""
        self._live.unsubscribe(self)


def _parse_frame(text: str | None) -> dict[str, Any]:
    """The frame; empty for text that is none."""
    try:
        frame = json.loads(text or "")
    except (ValueError, RecursionError):
        return {}
    return frame if isinstance(frame, dict) else {}


def _is_id(turn: object) -> bool:
    return isinstance(turn, int) and not isinstance(turn, bool) and 0 < turn <= LARGEST_ID
