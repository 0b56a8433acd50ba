"""`python -m ops.bench.desk_crowd`: screens of staff and people whose messages ring, in one process with one clock.

Reads one JSON object a line: first the plan, then orders. Answers each with one line. Ends at the end of its input.
"""

import asyncio
import gc
import json
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.conf import settings

from ops.chat_client import frames
from ops.chat_client.lean_socket import LeanSocket, connect_lean

RED = "I want to kill myself tonight."
"""Fixed and synthetic: red under every version of the rules."""
TIMEOUT_S = 60.0
BETWEEN_RINGS_S = 0.13
"""No divisor of a second: rings fall on every phase of what the service does once a second."""


class _GreetedSocket:
    """An open socket of the service that begins with `hello`."""

    def __init__(self, url: str, session_key: str) -> None:
        self._url = url
        self._headers = frames.handshake_headers(url, session_key, cookie_name=settings.SESSION_COOKIE_NAME)
        self._socket: LeanSocket | None = None
        self._greeted: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def open(self) -> None:
        """Connect, and wait for `hello`. Raises OSError."""
        self._socket = await connect_lean(
            self._url, self._headers, on_frame=self._take, on_close=self._on_close
        )
        await self._greeted

    def send(self, frame: Mapping[str, Any]) -> None:
        assert self._socket is not None
        self._socket.send(frame)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()

    def _on_close(self) -> None:
        if not self._greeted.done():
            code = self._socket.close_code if self._socket else None
            self._greeted.set_exception(ConnectionError(f"{self._url} was closed first, with code {code}"))

    def _take(self, frame: dict[str, Any]) -> None:
        if frame["type"] == "hello":
            self._greeted.set_result(None)
        else:
            self._handle(frame)

    def _handle(self, frame: dict[str, Any]) -> None:
        raise NotImplementedError


class Screen(_GreetedSocket):
    """One open screen of a member of staff."""

    def __init__(self, url: str, session_key: str) -> None:
        super().__init__(url, session_key)
        self._answers: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._awaited: dict[int, asyncio.Future[float]] = {}

    def await_flag(self, conversation: int) -> asyncio.Future[float]:
        """When this screen is first sent a flag of the conversation."""
        shown = self._awaited[conversation] = asyncio.get_running_loop().create_future()
        return shown

    async def act(self, act: str, **facts: Any) -> None:
        """Send an act. Raises ConnectionError if it is refused."""
        ref = uuid.uuid4().hex
        answer = self._answers[ref] = asyncio.get_running_loop().create_future()
        self.send({"type": act, "ref": ref, **facts})
        if (await answer)["type"] != "done":
            raise ConnectionError(f"the desk refused {act}")

    def _handle(self, frame: dict[str, Any]) -> None:
        if frame["type"] == "flag":
            if shown := self._awaited.pop(frame["conversation"], None):
                shown.set_result(time.perf_counter())
        elif answer := self._answers.pop(frame.get("ref", ""), None):
            answer.set_result(frame)


class Raiser(_GreetedSocket):
    """A participant's page whose one message is red."""

    def __init__(self, url: str, *, session_key: str, conversation: int) -> None:
        super().__init__(url, session_key)
        self.conversation = conversation
        self._accepted: asyncio.Future[float] = asyncio.get_running_loop().create_future()

    async def ring(self, screens: Sequence[Screen]) -> dict[str, Any]:
        """Write the message. `stored_s`: seconds until this page knows that it is stored; `shown_s`: of each screen."""
        shown = [screen.await_flag(self.conversation) for screen in screens]
        began = time.perf_counter()
        self.send(frames.say(str(uuid.uuid4()), RED))
        await asyncio.wait([self._accepted, *shown], timeout=TIMEOUT_S)
        return {
            "stored_s": self._accepted.result() - began if self._accepted.done() else None,
            "shown_s": [one.result() - began for one in shown if one.done()],
        }

    def _handle(self, frame: dict[str, Any]) -> None:
        if frame["type"] == "accepted" and not self._accepted.done():
            self._accepted.set_result(time.perf_counter())


async def ring(raisers: Sequence[Raiser], screens: Sequence[Screen]) -> dict[str, Any]:
    """Let people write their red messages one after the other, each once every screen shows the one before."""
    rings = []
    for raiser in raisers:
        rings.append(await raiser.ring(screens))
        await asyncio.sleep(BETWEEN_RINGS_S)
    return {
        "stored_s": [one["stored_s"] for one in rings if one["stored_s"] is not None],
        "shown_s": [shown for one in rings for shown in one["shown_s"]],
    }


async def main(read: Callable[[], str], write: Callable[[str], None]) -> None:
    """Carry out a plan and its orders, until there are no more lines."""
    plan: Mapping[str, Any] = json.loads(await asyncio.to_thread(read))
    screens = [Screen(plan["staff_url"], key) for key in plan["staff_keys"]]
    raisers = [Raiser(plan["url"], **one) for one in plan["raisers"]]
    began = time.perf_counter()
    async with asyncio.timeout(TIMEOUT_S):
        await asyncio.gather(*(one.open() for one in (*screens, *raisers)))
    write(json.dumps({"connected_s": time.perf_counter() - began}))
    gc.collect()
    gc.freeze()
    gc.disable()
    while line := await asyncio.to_thread(read):
        order = json.loads(line)
        answer: dict[str, Any] = {}
        if flags := order.get("ring"):
            ringing, raisers = raisers[:flags], raisers[flags:]
            answer = await ring(ringing, screens)
        for act in ("watch", "unwatch"):
            for conversation in order.get(act, ()):
                await screens[0].act(act, conversation=conversation)
        write(json.dumps(answer))
    for one in (*screens, *raisers):
        one.close()
    await asyncio.sleep(0.1)


if __name__ == "__main__":
    asyncio.run(main(sys.stdin.readline, lambda line: print(line, flush=True)))
