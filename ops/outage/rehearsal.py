"""Rehearses an outage: a reply breaks off, the question is held, the next message brings the answer to both.

Each step checks the service's promises; the result is a list of them, each kept or not.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Protocol

from companion.states import TurnState
from companion.turn_policy import DraftedLines
from ops.chat_client.browser import Browser
from ops.chat_client.chat_socket import ChatSocket
from ops.chat_client.shown_turn import ShownTurn
from ops.outage.errors import RehearsalBroke
from ops.testbed.rehearsal_provider import RehearsalProvider
from ops.text import escape_controls
from ops.transcripts import formatting
from ops.transcripts.records import TurnRecord

WORDS_BEFORE_CUT = 9
# A little slower than usual, so that people who watch can follow.
CUT_FAULT = {"after": WORDS_BEFORE_CUT, "cut": "fin", "pace_ms": 120}


class RehearsalDisplay(Protocol):
    """Shows the rehearsal to people."""

    def write_line(self, line: str) -> None:
        """Show a whole line."""
        ...

    def write_words(self, text: str) -> None:
        """Append a piece of a reply to the last line."""
        ...

    async def pause(self) -> None:
        """Wait for the operator between two acts, if that was asked for."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedPromise:
    """One promise of the service, and whether it was kept."""

    says: str
    kept: bool


@dataclass(kw_only=True)
class OutageRehearsal:
    """One rehearsal. `mark` makes its questions unique; `read_transcript` reads the participant's stored turns."""

    display: RehearsalDisplay
    browser: Browser
    providers: Sequence[RehearsalProvider]
    read_transcript: Callable[[], Awaitable[list[TurnRecord]]]
    lines: DraftedLines
    person: str
    character: str
    staff_turns_url: str
    """The address of the staff pages of turns."""
    code: str
    mark: str
    act_limit_s: float
    promises: list[CheckedPromise] = field(default_factory=list)

    async def run(self) -> list[CheckedPromise]:
        """Run all acts.

        Raises ServiceUnavailable or NotRehearsalProvider before anything is asked, and ChatFailed or RehearsalBroke if
        the service does something unexpected.
        """
        await self.browser.check_ready()
        for provider in self.providers:
            await asyncio.to_thread(provider.prove)
        await self.browser.sign_in(self.code)
        async with AsyncExitStack() as cleanup:
            cleanup.push_async_callback(self.browser.sign_out)
            await self._answer_leftovers()
            question = f"I did not sleep well. What could help me? ({self.mark})"
            await self._break_reply_off(question)
            await self.display.pause()
            await self._reload_page(question)
            await self.display.pause()
            broken = await self._show_staff_view(question)
            await self.display.pause()
            await self._write_again(question, broken)
        return self.promises

    async def _answer_leftovers(self) -> None:
        """Let the service answer the question that an interrupted rehearsal left held."""
        if not any(story.is_held or story.is_live for story in await self.read_transcript()):
            return
        self.display.write_line("A question was still held from an earlier rehearsal. It is answered first.")
        async with self.browser.open_page() as page:
            await self._say(page, "Hello again.")

    async def _break_reply_off(self, question: str) -> None:
        self._write_heading("1. A reply breaks off in the middle of a sentence")
        for provider in self.providers:
            await asyncio.to_thread(provider.order_fault, CUT_FAULT, times=1, match=self.mark)
            await asyncio.to_thread(provider.announce, self.mark)
        self._write_note(
            f"The provider was ordered to close the connection after {WORDS_BEFORE_CUT} words of this reply."
        )
        async with self.browser.open_page() as page:
            shown = await self._say(page, question)
        self._check("Words came, and they stay on the page.", bool(shown.words))
        self._check(
            "The pause line follows them: no spinner, no error, no silence.",
            shown.kinds[-2:] == ["words", "paused"] and shown.line == self.lines.pause,
        )
        story = await self._find_stored(shown)
        self._check("What was seen is what is stored, to the letter.", story.reply == shown.words)
        self._check("Nothing was asked again once a word had been shown.", await self._count_requests() == 1)

    async def _reload_page(self, question: str) -> None:
        self._write_heading(f"2. {self.person} loads the page again, or takes another device")
        async with self.browser.open_page() as page:
            if not page.turns:
                raise RehearsalBroke("After a reload the conversation is gone.")
            snapshot = page.turns[-1]
        self._write_speech(self.person, snapshot["question"])
        self._write_speech(self.character, snapshot["reply"] or snapshot["line"])
        self._check(
            "After a reload the half answer is gone; the question and the pause line are there.",
            (snapshot["question"], snapshot["reply"], snapshot["line"]) == (question, "", self.lines.pause),
        )

    async def _show_staff_view(self, question: str) -> TurnRecord:
        self._write_heading("3. What operators see")
        story = (await self.read_transcript())[-1]
        self.display.write_line(formatting.format_turn(story))
        self._write_note(f"The same on a page for staff: {self.staff_turns_url}{story.id}/")
        failures = [attempt.failure for attempt in story.attempts]
        self._check(
            "The turn is stored as paused, with its reason and every attempt.",
            story.state == TurnState.PAUSED and bool(story.reason) and failures == [story.reason],
        )
        self._check("The question is held.", story.is_held and story.question == question)
        return story

    async def _write_again(self, question: str, broken: TurnRecord) -> None:
        self._write_heading(f"4. {self.person} writes again")
        asked = f"Are you there again? I also want to go for a walk. ({self.mark})"
        async with self.browser.open_page() as page:
            shown = await self._say(page, asked)
        kinds = [kind for kind in shown.kinds if kind != "waiting"]
        self._check(
            "“I am back” came just before the first new word, and not sooner.",
            kinds == ["accepted", "opening", "words", "complete"]
            and shown.openings[0] == self.lines.i_am_back,
        )
        prompt = (await self._read_prompts() or [""])[-1]
        self._check(
            "The held question was asked first, then the new one.", _are_in_order(prompt, question, asked)
        )
        lines = (self.lines.pause, self.lines.i_am_back, broken.reply)
        self._check(
            "Neither a drafted line nor the half answer was sent to the provider.",
            not any(line in prompt for line in lines if line),
        )
        answer = await self._find_stored(shown)
        self._check(
            "The reply is whole, and stored as it was shown.",
            answer.state == TurnState.COMPLETE and answer.reply == shown.words,
        )
        self._check("The held question counts as answered by this turn.", broken.id in answer.answers)
        self._write_note(f"What operators see now: {self.staff_turns_url}{answer.id}/")

    async def _say(self, page: ChatSocket, text: str) -> ShownTurn:
        """Send a message and display its reply as it arrives. Raises TimeoutError without an end in time."""
        self._write_speech(self.person, text)
        shown = ShownTurn(key="")
        words_came = False
        async with asyncio.timeout(self.act_limit_s):
            async for frame, shown in page.say(text):
                self._show(frame, first=not words_came)
                words_came = words_came or "words" in shown.kinds
        return shown

    def _show(self, frame: dict[str, object], *, first: bool) -> None:
        match frame["type"]:
            case "words":
                text = escape_controls(str(frame["text"])).replace("\n", "\n  ")
                self.display.write_words(f"  {self.character}: {text}" if first else text)
            case "waiting" | "opening" | "paused" | "refused" if frame["line"]:
                if not first:
                    self.display.write_words("\n")
                self._write_speech(self.character, str(frame["line"]))
            case "complete" | "stopped":
                self.display.write_words("\n")

    def _write_speech(self, speaker: str, text: str) -> None:
        self.display.write_line(f"  {speaker}: {escape_controls(text)}")

    def _write_heading(self, title: str) -> None:
        self.display.write_line(f"\n{title}\n")

    def _write_note(self, line: str) -> None:
        self.display.write_line(f"  [{line}]")

    def _check(self, says: str, kept: bool) -> None:
        self.promises.append(CheckedPromise(says=says, kept=kept))

    async def _find_stored(self, shown: ShownTurn) -> TurnRecord:
        for story in await self.read_transcript():
            if story.id == shown.turn:
                return story
        raise RehearsalBroke("A turn that was shown is not stored.")

    async def _read_prompts(self) -> list[str]:
        read = [await asyncio.to_thread(one.read_prompts, self.mark) for one in self.providers]
        return [prompt for prompts in read for prompt in prompts]

    async def _count_requests(self) -> int:
        return len(await self._read_prompts())


def _are_in_order(prompt: str, *parts: str) -> bool:
    places = [prompt.find(part) for part in parts]
    return -1 not in places and places == sorted(places)
