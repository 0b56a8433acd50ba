"""A scripted service behind the socket, for what a real one does rarely: every frame is the test's own."""

import asyncio
import json
from typing import Any

from playwright.async_api import WebSocketRoute

from tests.pages.room import Room
from tests.people import Person

Frame = dict[str, Any]


def snapshot(turn: int, **changes: Any) -> Frame:
    """A turn as `hello` carries it."""
    plain = {
        "id": turn,
        "key": f"00000000-0000-4000-8000-{turn:012d}",
        "question": f"Question {turn}",
        "openings": [],
        "reply": f"Answer {turn}.",
        "state": "complete",
        "line": "",
        "seq": 1,
    }
    return plain | changes


def entry(number: int, kind: str, text: str, name: str = "") -> Frame:
    """What stands beside the turns, as `hello` carries it: after the turn before it in the list."""
    return {
        "entry": number,
        "kind": kind,
        "key": f"00000000-0000-4000-9000-{number:012d}" if kind == "said" else None,
        "name": name,
        "text": text,
        "at": "2026-12-01T10:00:00+00:00",
    }


def said(number: int, text: str, name: str = "Sam") -> Frame:
    """Words of a person, as their own frame."""
    key = f"00000000-0000-4000-9000-{number:012d}"
    at = "2026-12-01T10:00:00+00:00"
    return {"type": "said", "id": number, "key": key, "from": "person", "name": name, "text": text, "at": at}


JOINS_LINE = "Sam is here now. Sam is a person who works here."
LEAVES_LINE = "Sam has left the chat. You are talking to a computer program again."


def person(number: int, state: str, line: str = JOINS_LINE, name: str = "Sam") -> Frame:
    """A person who joins, leaves, or is lost."""
    return {"type": "person", "id": number, "state": state, "name": name, "line": line}


class Script:
    """What the page has sent, and what it is told. Accepts every message, unless told not to."""

    def __init__(self, conversation: int, turns: list[Frame]) -> None:
        self.conversation = conversation
        self.turns = turns
        self.accepts = True
        self.kept: list[Frame] = []
        self.who: Frame = {"person": None, "quiet": False, "paused": False}
        """Who speaks, as `hello` says it; empty for a service of an earlier release."""
        self.earlier: bool | None = None
        self.sent: list[Frame] = []
        self._sockets: list[WebSocketRoute] = []
        self._changed = asyncio.Event()

    @classmethod
    async def behind(cls, room: Room, person: Person, turns: list[Frame] | None = None) -> "Script":
        """Put a script in the place of the socket, and enter the room."""
        script = cls(person.conversation.pk, turns or [])
        await script.stand_behind(room, person)
        return script

    async def stand_behind(self, room: Room, person: Person) -> None:
        """The same for a script that has been told more."""
        await room.page.route_web_socket("**/ws/chat/", self._connected)
        await room.enter(person)

    def tell(self, *frames: Frame) -> None:
        """Send frames to the page."""
        for frame in frames:
            self._sockets[-1].send(json.dumps(frame))

    def say(self, turn: int, *pieces: str, after: int = 0) -> None:
        """Send pieces of a reply, numbered on from `after`."""
        for seq, text in enumerate(pieces, start=after + 1):
            self.tell({"type": "words", "turn": turn, "seq": seq, "text": text})

    async def close(self, code: int) -> None:
        """Close the socket as the service would."""
        await self._sockets[-1].close(code=code)

    async def until_sent(self, kind: str, *, times: int = 1) -> Frame:
        """Wait until the page has sent so many frames of a kind; returns the last of them."""
        async with asyncio.timeout(20):
            while len(found := self.of(kind)) < times:
                self._changed.clear()
                await self._changed.wait()
        return found[-1]

    async def until_connected(self, times: int) -> None:
        """Wait until the page has connected so many times in all."""
        async with asyncio.timeout(20):
            while len(self._sockets) < times:
                self._changed.clear()
                await self._changed.wait()

    @property
    def connections(self) -> int:
        """How many times the page has connected."""
        return len(self._sockets)

    def of(self, kind: str) -> list[Frame]:
        """The frames of a kind that the page has sent."""
        return [frame for frame in self.sent if frame["type"] == kind]

    def _connected(self, socket: WebSocketRoute) -> None:
        self._sockets.append(socket)
        socket.on_message(lambda text: self._heard(json.loads(text)))
        conversation: Frame = {"id": self.conversation, "turns": self.turns, "kept": self.kept} | self.who
        if self.earlier is not None:
            conversation["earlier"] = self.earlier
        self.tell({"type": "hello", "v": 1, "persona": {"name": "Robin"}, "conversation": conversation})
        self._changed.set()

    def _heard(self, frame: Frame) -> None:
        self.sent.append(frame)
        if frame["type"] == "say" and self.accepts:
            turn = 1 + max([0, *(turn["id"] for turn in self.turns if "id" in turn)])
            self.turns.append(
                snapshot(turn, key=frame["key"], question=frame["text"], reply="", state="speaking", seq=0)
            )
            self.tell({"type": "accepted", "key": frame["key"], "turn": turn})
        if frame["type"] == "ping":
            self.tell({"type": "pong"})
        self._changed.set()
