"""A member of staff: an open screen that comes back, and the acts of the script."""

import asyncio
import contextlib
import random
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import aiohttp
from django.conf import settings

from ops.chat_client import frames
from ops.chat_client.desk_client import sign_staff_in
from ops.chat_client.errors import ServiceUnavailable
from ops.ordeal.arena import sentences
from ops.ordeal.arena.recorded_socket import RecordedSocket
from ops.ordeal.arena.recorder import Recorder
from ops.ordeal.arena.waiting import wait_for_any
from ops.ordeal.plan.steps import StaffAct, StaffScript, StaffStep

ANSWER_WITHIN_S = 8.0
BACKOFF_S = 1.0
SIGN_IN_TIMEOUT_S = 6.0
PING_EVERY_S = 5.0
SIGNED_OUT = 4401


class StaffMember:
    """One member of staff. `account`: (username, password, id); `people`: (participant, conversation) of the plan."""

    def __init__(
        self,
        script: StaffScript,
        *,
        account: tuple[str, str, int],
        recorder: Recorder,
        doors: Sequence[tuple[str, str]],
        people: Sequence[tuple[int, int]],
        chance: random.Random,
    ) -> None:
        self.script = script
        self._username, self._password, self.user = account
        self._recorder = recorder
        self._doors = doors
        self._people = people
        self._chance = chance
        self._door = script.process - 1
        self._sockets = 0
        self._session_key = ""
        self._socket: RecordedSocket | None = None
        self._runs: asyncio.Task[None] | None = None
        self._answers: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._flags: dict[int, dict[str, Any]] = {}
        self._visits: dict[int, str] = {}
        self._watched: set[int] = set()
        self._pong = asyncio.Event()
        self.up = asyncio.Event()

    async def run(self) -> None:
        """Carry out the script. Cancel it at the end of the time; the screen stays open."""
        self._runs = asyncio.create_task(self._keep_screen())
        for step in self.script.steps:
            await asyncio.sleep(step.pause_s)
            await self.up.wait()
            await self._act(step)

    async def finish(self) -> None:
        """Leave nothing under way: hand back what was taken over, resume what was paused."""
        for participant, conversation in self._people:
            await self.act("hand_back", conversation=conversation)
            await self.act("resume", scope="person", id=participant)

    async def leave(self) -> None:
        if self._runs is not None:
            self._runs.cancel()
            await asyncio.gather(self._runs, return_exceptions=True)
        if self._socket is not None:
            self._socket.leave()

    async def act(self, act: str, **facts: Any) -> dict[str, Any] | None:
        """Send an act; returns its answer, None if none came. Answers `refused` are fine: the desk says no."""
        ref = uuid.uuid4().hex
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._answers[ref] = answer
        try:
            if self._socket is None or not self._socket.send({"type": act, "ref": ref, **facts}):
                return None
            async with asyncio.timeout(ANSWER_WITHIN_S):
                return await answer
        except TimeoutError:
            return None
        finally:
            self._answers.pop(ref, None)

    # The screen.

    async def _keep_screen(self) -> None:
        while True:
            if not self._session_key:
                await self._sign_in()
            process, address = self._doors[self._door % len(self._doors)]
            self._sockets += 1
            who = f"staff:{self.script.name}/{self._sockets}"
            socket = self._socket = RecordedSocket(who, self._recorder, self._take)
            url = frames.socket_url(address, frames.STAFF_SOCKET_PATH)
            if await socket.open(url, self._session_key, process=process, device=1):
                await self._stay(socket)
            self.up.clear()
            if socket.close_code == SIGNED_OUT:
                self._session_key = ""
            self._door += 1
            await asyncio.sleep(BACKOFF_S * (0.2 + self._chance.random()))

    async def _stay(self, socket: RecordedSocket) -> None:
        """Until it closes, or stays silent after a ping."""
        for conversation in self._watched:
            socket.send({"type": "watch", "ref": "", "conversation": conversation})
        self.up.set()
        while not await wait_for_any(socket.closed, within_s=PING_EVERY_S):
            self._pong = asyncio.Event()
            socket.send({"type": "ping"})
            if not await wait_for_any(self._pong, socket.closed, within_s=ANSWER_WITHIN_S):
                socket.drop()

    async def _sign_in(self) -> None:
        while True:
            _, address = self._doors[self._door % len(self._doors)]
            with contextlib.suppress(ServiceUnavailable, aiohttp.ClientError, TimeoutError):
                async with (
                    asyncio.timeout(SIGN_IN_TIMEOUT_S),
                    aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client,
                ):
                    await sign_staff_in(client, address, self._username, self._password)
                    [self._session_key] = [
                        one.value for one in client.cookie_jar if one.key == settings.SESSION_COOKIE_NAME
                    ]
                    return
            self._door += 1
            await asyncio.sleep(BACKOFF_S * (0.2 + self._chance.random()))

    def _take(self, frame: dict[str, Any]) -> None:
        match frame["type"]:
            case "hello":
                self._flags = {flag["id"]: flag for flag in frame["flags"]}
                self._note_people(frame["people"])
                for flag in frame["flags"]:
                    self._show(flag)
            case "people":
                self._note_people(frame["changed"])
            case "flag":
                self._flags[frame["id"]] = frame
                self._show(frame)
            case "pong":
                self._pong.set()
            case "done" | "refused":
                answer = self._answers.get(frame.get("ref", ""))
                if answer is not None and not answer.done():
                    answer.set_result(frame)

    def _note_people(self, items: Sequence[dict[str, Any]]) -> None:
        for item in items:
            if item.get("visit"):
                self._visits[item["conversation"]] = item["visit"]

    def _show(self, flag: dict[str, Any]) -> None:
        if self._socket is not None and flag["state"] == "open":
            self._socket.send({"type": "seen", "flag": flag["id"], "count": flag.get("count", 1)})

    # Acts.

    async def _act(self, step: StaffStep) -> None:
        participant, conversation = self._people[step.about]
        match step.act:
            case StaffAct.READ_ALONG:
                await self._watch(conversation)
                await asyncio.sleep(step.takes_s)
                await self._unwatch(conversation)
            case StaffAct.ACCEPT:
                if (flag := self._find_flag(lambda one: one["state"] == "open")) is not None:
                    await self.act("accept", flag=flag)
            case StaffAct.CLOSE:
                if (flag := self._find_flag(self._is_mine)) is not None:
                    await self.act("close", flag=flag, outcome="no_concern", note="Rehearsed.")
            case StaffAct.TAKE_OVER:
                await self._take_over(conversation, step)
            case StaffAct.PAUSE:
                await self.act("pause", scope="person", id=participant, reason="Rehearsed.")
                await asyncio.sleep(step.takes_s)
                await self._insist("resume", scope="person", id=participant)
            case StaffAct.END_VISIT:
                if visit := self._visits.get(conversation):
                    await self.act("end_visit", visit=visit)
            case StaffAct.REOPEN_SCREEN:
                if self._socket is not None:
                    self._socket.drop()
                    await wait_for_any(self._socket.closed, within_s=1)
            case StaffAct.REST:
                await asyncio.sleep(step.takes_s)

    async def _take_over(self, conversation: int, step: StaffStep) -> None:
        await self._watch(conversation)
        answer = await self.act("take_over", conversation=conversation)
        if answer is not None and answer["type"] == "done":
            for _ in range(step.words):
                await asyncio.sleep(step.takes_s / 3)
                text = self._chance.choice(sentences.STAFF)
                await self.act("say", conversation=conversation, key=str(uuid.uuid4()), text=text)
            await self._insist("hand_back", conversation=conversation)
        await self._unwatch(conversation)

    async def _insist(self, act: str, **facts: Any) -> None:
        """Send an act again until it is answered."""
        while await self.act(act, **facts) is None:
            await asyncio.sleep(BACKOFF_S)
            await self.up.wait()

    async def _watch(self, conversation: int) -> None:
        self._watched.add(conversation)
        await self.act("watch", conversation=conversation)

    async def _unwatch(self, conversation: int) -> None:
        self._watched.discard(conversation)
        await self.act("unwatch", conversation=conversation)

    def _is_mine(self, flag: dict[str, Any]) -> bool:
        return flag["state"] == "accepted" and flag.get("owner") == self.user

    def _find_flag(self, fits: Callable[[dict[str, Any]], bool]) -> int | None:
        return next((number for number, flag in sorted(self._flags.items()) if fits(flag)), None)
