"""The story in its acts: a reply breaks off, the question is held, the next message brings the answer to both.

Every promise is looked at as the story goes and told at its end.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Protocol

from companion.states import TurnState
from companion.turn_policy import DraftedLines
from ops.outage.errors import StoryBroke
from ops.outage.provider import RehearsalProvider
from ops.outage.visitor import Seen, Tab, Visitor
from ops.text import escape_controls
from ops.transcripts import formatting
from ops.transcripts.shapes import Story

WORDS_BEFORE_THE_CUT = 9
# A little slower than usual, so that people in the room can follow.
CUT = {"after": WORDS_BEFORE_THE_CUT, "cut": "fin", "pace_ms": 120}


class Stage(Protocol):
    """Where the story is shown."""

    def tell(self, line: str) -> None:
        """A whole line."""
        ...

    def words(self, text: str) -> None:
        """A piece of a reply, straight after the piece before it."""
        ...

    async def between(self) -> None:
        """Wait for the person in front of it, if they want to be waited for."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Promise:
    """One thing the service promises, and whether it was so."""

    says: str
    kept: bool


@dataclass(kw_only=True)
class Play:
    """One playing of the story. `mark` makes its question unlike any other; `stories` reads what was stored."""

    stage: Stage
    visitor: Visitor
    providers: Sequence[RehearsalProvider]
    stories: Callable[[], Awaitable[list[Story]]]
    lines: DraftedLines
    person: str
    character: str
    desk: str
    """The address of the staff's pages about turns."""
    code: str
    mark: str
    act_limit_s: float
    promises: list[Promise] = field(default_factory=list)

    async def run(self) -> list[Promise]:
        """Play all acts. Raises CannotPlay before anything is asked, StoryBroke if the service does the unheard-of."""
        await self.visitor.find()
        for provider in self.providers:
            await provider.prove()
        await self.visitor.come_in(self.code)
        async with AsyncExitStack() as after:
            after.push_async_callback(self.visitor.leave)
            await self._settle()
            question = f"I did not sleep well. What could help me? ({self.mark})"
            await self._breaks_off(question)
            await self.stage.between()
            await self._looks_again(question)
            await self.stage.between()
            broken = await self._at_the_desk(question)
            await self.stage.between()
            await self._comes_back(question, broken)
        return self.promises

    async def _settle(self) -> None:
        """Let the service answer what an earlier rehearsal that was broken off has left."""
        if not any(story.is_held or story.is_live for story in await self.stories()):
            return
        self.stage.tell("A question was still held from an earlier rehearsal. It is answered first.")
        async with self.visitor.tab() as tab:
            await self._say(tab, "Hello again.")

    async def _breaks_off(self, question: str) -> None:
        self._act("1. A reply breaks off in the middle of a sentence")
        for provider in self.providers:
            await provider.order(CUT, match=self.mark)
        self._note(
            f"The provider has been told to hang up on this question after {WORDS_BEFORE_THE_CUT} words."
        )
        async with self.visitor.tab() as tab:
            seen = await self._say(tab, question)
        self._promise("Words came, and they stay where they are.", bool(seen.words))
        self._promise(
            "The pause line follows them: no spinner, no error, no silence.",
            seen.kinds[-2:] == ["words", "paused"] and seen.line == self.lines.pause,
        )
        story = await self._stored(seen)
        self._promise("What was seen is what is stored, to the letter.", story.reply == seen.words)
        self._promise("Nothing was asked again once a word had been seen.", await self._times_asked() == 1)

    async def _looks_again(self, question: str) -> None:
        self._act(f"2. {self.person} loads the page again, or takes another device")
        async with self.visitor.tab() as tab:
            if not tab.turns:
                raise StoryBroke("After a reload the conversation is gone.")
            snapshot = tab.turns[-1]
        self._speak(self.person, snapshot["question"])
        self._speak(self.character, snapshot["reply"] or snapshot["line"])
        self._promise(
            "After a reload the half answer is gone; the question and the pause line are there.",
            (snapshot["question"], snapshot["reply"], snapshot["line"]) == (question, "", self.lines.pause),
        )

    async def _at_the_desk(self, question: str) -> Story:
        self._act("3. What operators see")
        story = (await self.stories())[-1]
        self.stage.tell(formatting.text(story))
        self._note(f"The same on a page for staff: {self.desk}{story.id}/")
        failures = [attempt.failure for attempt in story.attempts]
        self._promise(
            "The turn is stored as paused, with its reason and every attempt.",
            story.state == TurnState.PAUSED and bool(story.reason) and failures == [story.reason],
        )
        self._promise("The question is held.", story.is_held and story.question == question)
        return story

    async def _comes_back(self, question: str, broken: Story) -> None:
        self._act(f"4. {self.person} writes again")
        asked = f"Are you there again? I also want to go for a walk. ({self.mark})"
        async with self.visitor.tab() as tab:
            seen = await self._say(tab, asked)
        shown = [kind for kind in seen.kinds if kind != "waiting"]
        self._promise(
            "“I am back” came just before the first new word, and not sooner.",
            shown == ["accepted", "opening", "words", "complete"]
            and seen.openings[0] == self.lines.i_am_back,
        )
        prompt = (await self._prompts() or [""])[-1]
        self._promise(
            "The held question was asked first, then the new one.", _stand_in_order(prompt, question, asked)
        )
        lines = (self.lines.pause, self.lines.i_am_back, broken.reply)
        self._promise(
            "Neither a drafted line nor the half answer was sent to the provider.",
            not any(line in prompt for line in lines if line),
        )
        answer = await self._stored(seen)
        self._promise(
            "The reply is whole, and stored as it was seen.",
            answer.state == TurnState.COMPLETE and answer.reply == seen.words,
        )
        self._promise("The held question counts as answered by this turn.", broken.id in answer.answers)
        self._note(f"What operators see now: {self.desk}{answer.id}/")

    async def _say(self, tab: Tab, text: str) -> Seen:
        """Say something and show what comes, as it comes."""
        self._speak(self.person, text)
        seen = Seen()
        async with asyncio.timeout(self.act_limit_s):
            async for frame in tab.say(text):
                seen.turn = frame["turn"]
                first = "words" not in seen.kinds
                seen.take(frame)
                self._show(frame, first=first)
        return seen

    def _show(self, frame: dict[str, object], *, first: bool) -> None:
        match frame["type"]:
            case "words":
                text = escape_controls(str(frame["text"])).replace("\n", "\n  ")
                self.stage.words(f"  {self.character}: {text}" if first else text)
            case "waiting" | "opening" | "paused" | "refused" if frame["line"]:
                if not first:
                    self.stage.words("\n")
                self._speak(self.character, str(frame["line"]))
            case "complete" | "stopped":
                self.stage.words("\n")

    def _speak(self, who: str, text: str) -> None:
        self.stage.tell(f"  {who}: {escape_controls(text)}")

    def _act(self, title: str) -> None:
        self.stage.tell(f"\n{title}\n")

    def _note(self, line: str) -> None:
        self.stage.tell(f"  [{line}]")

    def _promise(self, says: str, kept: bool) -> None:
        self.promises.append(Promise(says=says, kept=kept))

    async def _stored(self, seen: Seen) -> Story:
        for story in await self.stories():
            if story.id == seen.turn:
                return story
        raise StoryBroke("A turn that was seen is not stored.")

    async def _prompts(self) -> list[str]:
        return [prompt for provider in self.providers for prompt in await provider.asked(self.mark)]

    async def _times_asked(self) -> int:
        return len(await self._prompts())


def _stand_in_order(prompt: str, *parts: str) -> bool:
    places = [prompt.find(part) for part in parts]
    return -1 not in places and places == sorted(places)
