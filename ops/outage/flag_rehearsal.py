"""Plays a flag from end to end against a running service, as a participant and a member of staff meet it.

A worrying sentence, the line, the ring, the acceptance, a person who takes over, words in both directions, the
hand-back and the close. Each step is printed with the time since the sentence was sent.
"""

import asyncio
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from companion.turn_policy import DraftedLines
from ops.chat_client import frames
from ops.chat_client.browser import Browser
from ops.chat_client.chat_socket import ChatSocket
from ops.chat_client.desk_client import DeskClient
from ops.chat_client.errors import ChatFailed
from ops.outage.errors import RehearsalBroke
from ops.outage.rehearsal import CheckedPromise
from ops.text import escape_controls

SENTENCE = "I want to kill myself tonight."
"""Fixed and synthetic: it names danger in plain words, so that it is red under every version of the rules."""
STAFF_WORDS = "Hello, I am a real person. I am here with you now."
LINE_LIMIT_S = 2.0
"""Line and flag are to appear within this time, whatever a provider does."""
ACT_LIMIT_S = 15.0


@dataclass(kw_only=True)
class FlagRehearsal:
    """One rehearsal. `write_line` shows a line; `lines` are the drafted lines; `conversation` is the participant's."""

    write_line: Callable[[str], None]
    browser: Browser
    desk: DeskClient
    conversation: int
    code: str
    lines: DraftedLines
    person: str
    staff_name: str
    promises: list[CheckedPromise] = field(default_factory=list)
    _began: float = 0.0

    async def run(self) -> list[CheckedPromise]:
        """Play every step. Raises ChatFailed, RehearsalBroke, or TimeoutError where a step has no end in time."""
        await self.browser.sign_in(self.code)
        try:
            async with self.browser.open_page() as page:
                flag = await self._ring(page)
                await self._accept(flag)
                await self._take_over(page)
                await self._hand_back(page, flag)
        finally:
            await self.browser.sign_out()
        return self.promises

    async def _ring(self, page: ChatSocket) -> int:
        self._began = time.monotonic()
        self._say(f"{self.person} writes: {SENTENCE}")
        await page.send(frames.say(str(uuid.uuid4()), SENTENCE))
        flag = await self._wait_for_desk(
            lambda frame: (
                frame["type"] == "flag"
                and frame.get("conversation") == self.conversation
                and frame["state"] == "open"
            )
        )
        self._say(f"A {flag['tier']} flag rings on the desk (number {flag['id']}, {flag['kind']}).")
        self._check("The flag is on the screen within 2 s.", self._age_s() < LINE_LIMIT_S)
        self._check("The flag is red.", flag["tier"] == "red")
        await self._act("seen", flag=flag["id"])
        self._say("The screen confirms that it shows the flag.")
        safety = await self._wait_for_page(page, "safety", "help")
        self._say(f"{self.person} reads: {escape_controls(safety['line'])}")
        self._check(
            "The drafted line was shown within 2 s, before any provider was asked.",
            self._age_s() < LINE_LIMIT_S and safety["type"] == "safety",
        )
        told = self.lines.safety_told.split("{")[0]
        self._check(
            "It says that staff know, because a screen has confirmed it.", safety["line"].startswith(told)
        )
        return int(flag["id"])

    async def _accept(self, flag: int) -> None:
        await self._act("accept", flag=flag)
        self._say(f"{self.staff_name} accepts the flag.")
        again = await self._desk_act("accept", flag=flag)
        self._check("Accepting again does no harm.", again["type"] == "done")

    async def _take_over(self, page: ChatSocket) -> None:
        await self._act("watch", conversation=self.conversation)
        await self._act("take_over", conversation=self.conversation)
        joins = await self._wait_for_page(page, "person")
        self._say(f"{self.person} reads: {escape_controls(joins['line'])}")
        self._check(
            "The participant is told who is there, by name.",
            joins["state"] == "joins" and joins["name"] == self.staff_name,
        )
        key = str(uuid.uuid4())
        for _ in range(2):
            await self._act("say", conversation=self.conversation, key=key, text=STAFF_WORDS)
        said = await self._wait_for_page(page, "said")
        self._say(f"{self.staff_name} writes: {escape_controls(said['text'])}")
        self._check("The words of staff came as they were written.", said["text"] == STAFF_WORDS)
        answer = "Thank you. I am glad."
        await page.send(frames.say(str(uuid.uuid4()), answer))
        await self._wait_for_desk(
            lambda frame: frame["type"] == "accepted" and frame.get("question") == answer
        )
        self._say(f"{self.person} answers, and the desk shows it: {answer}")

    async def _hand_back(self, page: ChatSocket, flag: int) -> None:
        await self._act("hand_back", conversation=self.conversation)
        leaves = await self._wait_for_page(page, "person", "said", "words")
        self._say(f"{self.person} reads: {escape_controls(leaves.get('line', ''))}")
        self._check(
            "The words of staff came once, no word of the companion came in between, and the person left by name.",
            leaves["type"] == "person" and leaves["state"] == "leaves",
        )
        refused = await self._desk_act(
            "say", conversation=self.conversation, key=str(uuid.uuid4()), text="One more."
        )
        self._check("Words after the hand-back are refused, and not lost.", refused["type"] == "refused")
        await self._act("close", flag=flag, outcome="no_concern", note="Rehearsed.")
        self._say("The flag is closed, with an outcome and a note.")
        late = await self._desk_act("close", flag=flag, outcome="no_concern", note="Rehearsed.")
        self._check("A closed flag stays closed.", late["type"] == "refused")

    async def _act(self, act: str, **facts: Any) -> dict[str, Any]:
        answer = await self._desk_act(act, **facts)
        if answer["type"] != "done":
            raise RehearsalBroke(f"The desk refused {act}: {answer.get('code')}.")
        return answer

    async def _desk_act(self, act: str, **facts: Any) -> dict[str, Any]:
        async with asyncio.timeout(ACT_LIMIT_S):
            return await self.desk.act(act, **facts)

    async def _wait_for_desk(self, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        async with asyncio.timeout(ACT_LIMIT_S):
            return await self.desk.wait_for(fits)

    async def _wait_for_page(self, page: ChatSocket, *kinds: str) -> dict[str, Any]:
        async with asyncio.timeout(ACT_LIMIT_S):
            async for frame in page.read_frames():
                if frame["type"] in kinds:
                    return frame
        raise ChatFailed("The page lost its socket.")

    def _age_s(self) -> float:
        return time.monotonic() - self._began

    def _say(self, line: str) -> None:
        self.write_line(f"  {self._age_s():7.3f} s  {line}")

    def _check(self, says: str, kept: bool) -> None:
        self.promises.append(CheckedPromise(says=says, kept=kept))
