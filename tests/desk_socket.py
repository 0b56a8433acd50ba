"""A staff screen's side of `/ws/staff/`, for tests: sends acts, keeps received frames, finds the answer to each act."""

import asyncio
import json
import uuid
from collections.abc import Callable
from typing import Any

import websockets
from django.contrib.auth.models import User
from websockets.asyncio.client import ClientConnection, connect

from tests.people import People
from tests.processes import Web
from tests.staff import open_staff_client

Frame = dict[str, Any]


def sign_staff_in(service: Web, people: People, user: User) -> str:
    """The session cookie of a member of staff, signed in as a browser does."""
    with open_staff_client(service, user, people.password) as staff_client:
        return staff_client.cookies["companion"]


class Desk:
    """One open screen. Use as an async context manager; `hello` is the first frame."""

    def __init__(self, service: Web, cookie: str) -> None:
        self._service = service
        self._cookie = cookie
        self._connection: ClientConnection | None = None
        self.frames: list[Frame] = []
        self.hello: Frame = {}

    @classmethod
    def sign_in(cls, service: Web, people: People, user: User) -> "Desk":
        """A screen of this member of staff, who signs in for it."""
        return cls(service, sign_staff_in(service, people, user))

    async def __aenter__(self) -> "Desk":
        headers = {"Origin": self._service.url, "Cookie": f"companion={self._cookie}"}
        url = self._service.url.replace("http", "ws", 1) + "/ws/staff/"
        self._connection = await connect(url, additional_headers=headers, max_size=None, proxy=None)
        self.hello = await self.until("hello")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.connection.close()

    @property
    def connection(self) -> ClientConnection:
        """The open connection."""
        assert self._connection is not None
        return self._connection

    async def send(self, frame: Frame | str) -> None:
        """Send a frame as JSON, or text unchanged."""
        await self.connection.send(frame if isinstance(frame, str) else json.dumps(frame))

    async def next(self, within_s: float = 20) -> Frame:
        """Receive and keep the next frame."""
        async with asyncio.timeout(within_s):
            frame: Frame = json.loads(await self.connection.recv())
        self.frames.append(frame)
        return frame

    async def until(
        self, *kinds: str, where: Callable[[Frame], bool] = lambda frame: True, within_s: float = 20
    ) -> Frame:
        """Read on until a frame of one of these kinds that fits."""
        async with asyncio.timeout(within_s):
            while True:
                frame = await self.next(within_s)
                if frame["type"] in kinds and where(frame):
                    return frame

    async def act(self, act: str, **facts: Any) -> Frame:
        """Send an act; returns its `done` or `refused`."""
        ref = uuid.uuid4().hex
        await self.send({"type": act, "ref": ref, **facts})
        return await self.until("done", "refused", where=lambda frame: frame.get("ref") == ref)

    async def take_over(self, conversation: int) -> None:
        """Watch a conversation and speak in it instead of the companion."""
        for act in ("watch", "take_over"):
            assert (await self.act(act, conversation=conversation))["type"] == "done"

    async def flag(self, within_s: float = 20, **facts: Any) -> Frame:
        """Read on until a flag with these facts."""
        return await self.until("flag", where=lambda frame: facts.items() <= frame.items(), within_s=within_s)

    async def person(self, conversation: int, **facts: Any) -> Frame:
        """Read on until a person's item has these facts."""
        while True:
            frame = await self.until("people")
            for item in frame["changed"]:
                if item["conversation"] == conversation and facts.items() <= item.items():
                    found: Frame = item
                    return found

    async def gone(self, conversation: int) -> Frame:
        """The frame that takes a person off the list, which may have come before the answer to an act."""

        def takes_off(frame: Frame) -> bool:
            return frame["type"] == "people" and conversation in frame["gone"]

        return next(filter(takes_off, self.frames), None) or await self.until("people", where=takes_off)

    async def close_code(self, within_s: float = 20) -> int:
        """Read on until the server closes; returns the code."""
        try:
            while True:
                await self.next(within_s)
        except websockets.ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else 1006
