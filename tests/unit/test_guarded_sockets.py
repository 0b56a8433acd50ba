"""A socket that fails says so in one line and asks its page to come back (S2)."""

import asyncio
import logging
from typing import Any

import pytest

from companion.guarded_consumer import COME_BACK
from ops.access import StaffAccess
from ops.staff.staff_socket import StaffSocket

CONNECT = {"type": "websocket.connect"}
RECEIVE = {"type": "websocket.receive", "text": "{}"}
LEAVE = {"type": "websocket.disconnect"}


class FailingSocket(StaffSocket):
    """A socket of staff that fails at one step: open, receive or send."""

    def __init__(self, at: str) -> None:
        super().__init__("companion")
        self._at = at

    def _step(self, name: str) -> None:
        if name == self._at:
            raise KeyError("a word that no log may hold")

    async def admit(self, key: str | None) -> StaffAccess | None:
        return StaffAccess(user=1, name="Ines")

    async def open(self, access: StaffAccess) -> None:
        self._step("open")
        await self.send_frame({"type": "hello"})

    async def receive(self, text: str | None) -> None:
        self._step("receive")

    async def send(self, message: dict[str, Any]) -> None:
        if "text" in message:
            self._step("send")
        await super().send(message)

    def leave(self) -> None:
        pass


async def run(socket: StaffSocket) -> list[dict[str, Any]]:
    """What the socket sends from its beginning to its end."""
    events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    for event in (CONNECT, RECEIVE, LEAVE):
        events.put_nowait(event)
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "websocket", "path": "/ws/staff/", "headers": [(b"cookie", b"companion=key")]}
    await socket(scope, events.get, send)
    return sent


@pytest.mark.parametrize("at", ["open", "receive", "send"])
async def test_a_socket_that_fails_logs_one_line_with_a_code_and_asks_its_page_to_come_back(
    caplog: pytest.LogCaptureFixture, at: str
) -> None:
    with caplog.at_level(logging.WARNING):
        sent = await run(FailingSocket(at))

    assert sent[-1] == {"type": "websocket.close", "code": COME_BACK}
    assert caplog.messages == ["socket.failed path=/ws/staff/ cause=KeyError"]


async def test_a_socket_that_does_not_fail_is_not_closed(caplog: pytest.LogCaptureFixture) -> None:
    sent = await run(FailingSocket("never"))

    assert [message["type"] for message in sent] == ["websocket.accept", "websocket.send"]
    assert caplog.messages == []
