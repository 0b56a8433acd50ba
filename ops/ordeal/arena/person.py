"""A participant: signs in with the card, carries out the script on one or more pages, comes back after every end."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from django.conf import settings

from ops.chat_client.browser import Browser
from ops.chat_client.errors import ChatFailed, ServiceUnavailable
from ops.ordeal.arena import sentences
from ops.ordeal.arena.participant_page import PageTurn, ParticipantPage
from ops.ordeal.arena.recorded_socket import RecordedSocket
from ops.ordeal.arena.recorder import Recorder
from ops.ordeal.arena.waiting import wait_for_all, wait_for_any
from ops.ordeal.plan.steps import PersonAct, PersonScript, PersonStep

END_WITHIN_S = 25.0
"""A person waits so long for the end of a reply, then goes on."""
FIRST_WORDS_WITHIN_S = 8.0
SIGN_IN_PAUSE_S = 0.7
SIGN_IN_TIMEOUT_S = 6.0


class ScriptedPerson:
    """One person of a run. `doors` lists (process, address) of every web process.

    `read_code` gives the code of the card as it is now, `find_visit` the id of the newest visit.
    """

    def __init__(
        self,
        script: PersonScript,
        *,
        recorder: Recorder,
        doors: Sequence[tuple[str, str]],
        read_code: Callable[[], Awaitable[str]],
        find_visit: Callable[[], Awaitable[str]],
        chance: random.Random,
    ) -> None:
        self.script = script
        self._recorder = recorder
        self._doors = doors
        self._read_code = read_code
        self._find_visit = find_visit
        self._chance = chance
        self._door = script.process - 1
        self._sockets = 0
        self._messages = 0
        self._device = 0
        self._session_key = ""
        self._facts: dict[str, Any] = {}
        self._page: ParticipantPage | None = None

    async def run(self) -> None:
        """Carry out the script. Cancel it at the end of the time; the page stays open."""
        for step in self.script.steps:
            await asyncio.sleep(step.pause_s)
            page = await self.come_in()
            await self._act(page, step)

    async def come_in(self) -> ParticipantPage:
        """The open page of a live visit: signs in anew where the last visit is over."""
        while True:
            page = self._page
            if page is None or page.over.is_set():
                page = await self._sign_in_anew()
            await wait_for_any(page.up, page.over)
            if not page.over.is_set():
                return page

    def wake(self) -> None:
        """Read again, whatever the script was doing."""
        if self._page is not None:
            self._page.thaw()

    async def leave(self) -> None:
        if self._page is not None:
            await self._page.leave()

    # Signing in and out.

    async def _sign_in_anew(self) -> ParticipantPage:
        if self._page is not None:
            await self._page.leave()
            self._page = None
        await self._sign_in()
        self._page = self._open_page()
        return self._page

    async def _sign_in(self) -> None:
        """Type the code of the card on a device without a session, until the service lets this person in."""
        self._device += 1
        while True:
            with contextlib.suppress(ServiceUnavailable, aiohttp.ClientError, TimeoutError):
                async with asyncio.timeout(SIGN_IN_TIMEOUT_S):
                    await self._try_to_sign_in()
                break
            self._door += 1
            await asyncio.sleep(SIGN_IN_PAUSE_S * (0.5 + self._chance.random()))
        self._facts = {"device": self._device, "visit": await self._find_visit()}

    async def _try_to_sign_in(self) -> None:
        code = await self._read_code()
        async with self._open_browser() as (browser, client):
            await browser.sign_in(code)
            [key] = [one.value for one in client.cookie_jar if one.key == settings.SESSION_COOKIE_NAME]
        self._session_key = key

    async def _sign_out(self) -> None:
        async with self._open_browser() as (browser, client):
            client.cookie_jar.update_cookies({settings.SESSION_COOKIE_NAME: self._session_key})
            with contextlib.suppress(ChatFailed, aiohttp.ClientError, TimeoutError):
                async with asyncio.timeout(SIGN_IN_TIMEOUT_S):
                    await browser.sign_out()

    @asynccontextmanager
    async def _open_browser(self) -> AsyncIterator[tuple[Browser, aiohttp.ClientSession]]:
        _, address = self._doors[self._door % len(self._doors)]
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
            yield Browser(client, address), client

    # Pages.

    def _open_page(self) -> ParticipantPage:
        page = ParticipantPage(
            session_key=self._session_key,
            facts=self._facts,
            open_socket=self._open_socket,
            choose_door=self._choose_door,
            chance=self._chance,
        )
        page.start()
        return page

    def _open_socket(self, on_frame: Callable[[dict[str, Any]], None]) -> RecordedSocket:
        self._sockets += 1
        return RecordedSocket(f"page:{self.script.name}/{self._sockets}", self._recorder, on_frame)

    def _choose_door(self) -> tuple[str, str]:
        """The process of the last time first, then the next one: as a proxy in front of them does."""
        door = self._doors[self._door % len(self._doors)]
        self._door += 1
        return door

    # Acts.

    async def _act(self, page: ParticipantPage, step: PersonStep) -> None:
        match step.act:
            case PersonAct.WRITE:
                await self._end_of(self._write(page))
            case PersonAct.WRITE_TWICE:
                first = self._write(page)
                await self._words_of(first)
                await self._end_of(self._write(page), first)
            case PersonAct.WRITE_TWO_AT_ONCE:
                await self._end_of(self._write(page), self._write(page))
            case PersonAct.PRESS_TWICE:
                turn = self._write(page)
                page.repeat(turn)
                await self._end_of(turn)
            case PersonAct.STOP:
                turn = self._write(page)
                await self._words_of(turn, within_s=step.takes_s)
                page.stop(turn)
                await self._end_of(turn)
            case PersonAct.DROP:
                turn = self._write(page)
                await self._words_of(turn, within_s=step.takes_s)
                page.drop()
                await self._end_of(turn)
            case PersonAct.MOVE:
                await self._move(page, step)
            case PersonAct.READ_SLOWLY | PersonAct.FREEZE:
                await self._read_slowly(page, step)
            case PersonAct.SECOND_TAB:
                await self._use_two_tabs(page)
            case PersonAct.SIGN_OUT:
                await self._sign_out()
            case PersonAct.WORRY:
                is_red = step.how == "red"
                text = self._chance.choice(sentences.RED if is_red else sentences.AMBER)
                await self._end_of(page.say(self._with_code(text), is_red=is_red))
            case PersonAct.ASK_FOR_PERSON:
                page.send({"type": "help"})
            case PersonAct.REST:
                await asyncio.sleep(step.takes_s)

    async def _move(self, page: ParticipantPage, step: PersonStep) -> None:
        """Sign in on another device while the reply is under way; the page here is told that the visit is over."""
        await self._words_of(self._write(page), within_s=step.takes_s)
        self._door += 1
        await self._sign_in()
        self._page = self._open_page()
        await wait_for_any(page.over, within_s=END_WITHIN_S)
        await page.leave()

    async def _read_slowly(self, page: ParticipantPage, step: PersonStep) -> None:
        turn = self._write(page)
        await self._words_of(turn, within_s=step.takes_s)
        try:
            if step.act is PersonAct.FREEZE:
                page.freeze()
                await asyncio.sleep(step.takes_s)
            else:
                for _ in range(6):
                    page.freeze()
                    await asyncio.sleep(step.takes_s / 6)
                    page.thaw()
                    await asyncio.sleep(0.02)
        finally:
            page.thaw()
        await self._end_of(turn)

    async def _use_two_tabs(self, page: ParticipantPage) -> None:
        tab = self._open_page()
        try:
            await wait_for_any(tab.up, tab.over, within_s=END_WITHIN_S)
            turns = [self._write(page), self._write(tab)]
            await self._end_of(*turns)
        finally:
            await tab.leave()

    def _write(self, page: ParticipantPage) -> PageTurn:
        return page.say(self._with_code(self._chance.choice(sentences.PLAIN)))

    def _with_code(self, sentence: str) -> str:
        self._messages += 1
        return f"{sentence} {self.script.code}-{self._messages}"

    async def _words_of(self, turn: PageTurn, *, within_s: float = FIRST_WORDS_WITHIN_S) -> None:
        """Wait for the first words of a reply, or for its end."""
        await wait_for_any(turn.first_words, turn.ended, within_s=within_s)

    async def _end_of(self, *turns: PageTurn) -> None:
        """Wait for the ends of these turns, or until the visit is over, or until patience is."""
        if self._page is not None:
            ends = [turn.ended for turn in turns]
            await wait_for_all(*ends, unless=self._page.over, within_s=END_WITHIN_S)
