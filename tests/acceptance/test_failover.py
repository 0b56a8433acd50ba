"""When the primary dies and its standby is promoted, people talk again, and what they saw is stored."""

import asyncio
import contextlib
import itertools
import time
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import websockets

from companion.models import Flag, ReplyChunk, Turn
from ops.stack.postgres import EmbeddedPostgres
from tests.acceptance.test_death import SLOW, WITHIN_S, start_reply
from tests.page_socket import ENDINGS, Frame, Page
from tests.patience import until
from tests.people import People, finish_visit
from tests.processes import Rehearsal, Web
from tests.standby import Pair, ask, start_pair

RED = "I want to kill myself tonight."
TURNS, FLAGS = Turn._meta.db_table, Flag._meta.db_table
READ_TURN = f"SELECT state, reply, answered_by_id FROM {TURNS} WHERE id = %s"
READ_FENCE = f"SELECT owner, fence FROM {TURNS} WHERE id = %s"
COUNT_FLAGS = f"SELECT count(*) FROM {FLAGS} WHERE conversation_id = %s AND state = 'open'"
READ_CHUNKS = f"""
SELECT coalesce(string_agg(text, '' ORDER BY seq), '') FROM {ReplyChunk._meta.db_table} WHERE turn_id = %s
"""
FIND_KEY = f"SELECT id, question FROM {TURNS} WHERE key = %s"
COUNT_PROCESSES = (
    "SELECT count(*) FROM companion_process WHERE pid = ANY(%s) AND beat_at > now() - interval '5 seconds'"
)
HEARD_WITHIN_S = 5
"""Seconds in which a notification closes a socket. Without one, a check of all visits does, every 30 seconds."""
COUNT_SERVICE = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'companion%'"


@dataclass(kw_only=True)
class Talker:
    """A person in the middle of a reply, and what their page has shown of it."""

    web: Web
    cookie: str
    page: Page
    turn: int = 0
    reading: "asyncio.Task[None] | None" = None

    async def read_on(self) -> None:
        """Read until the turn has ended or the socket is closed."""
        with contextlib.suppress(websockets.ConnectionClosed):
            while (await self.page.next(within_s=60))["type"] not in ENDINGS:
                pass

    def assert_stored(self, server: EmbeddedPostgres) -> None:
        """Assert that the server holds every word that was shown, and that no turn is left under way."""
        [(state, reply, answered_by)] = ask(server, READ_TURN, self.turn)
        assert reply.startswith(self.page.words(self.turn))
        # A question that was held was answered with the next one.
        assert state == "complete" or (state == "paused" and answered_by is not None)


@dataclass(kw_only=True)
class Scene:
    """Two web processes over a pair of servers, with people in the middle of replies."""

    pair: Pair
    rehearsal: Rehearsal
    webs: list[Web]
    start_web: Callable[[], Web]
    """Starts another process on the same machine."""
    talkers: list[Talker]
    fences: list[tuple[object, ...]]
    """(owner, fence) of each talker's turn."""
    rosa: Page
    """Of a person who is not in a reply."""
    rosa_cookie: str
    rosa_conversation: int

    async def raise_flag(self) -> str:
        """Send a red message that is accepted; returns its key."""
        key = await self.rosa.say(RED)
        await self.rosa.until("accepted")
        return key

    async def promote(self) -> None:
        """Let the provider answer at its usual pace again, and promote the standby."""
        self.rehearsal.clear()
        await asyncio.to_thread(self.pair.promote)

    async def assert_all_talk_again(self, *, since: float) -> None:
        """Assert that everybody is answered, at most WITHIN_S after `since`."""
        async with asyncio.timeout(WITHIN_S - (time.monotonic() - since)):
            await asyncio.gather(*(talk(talker.web, talker.cookie) for talker in self.talkers))

    async def assert_processes_live_on(self, webs: list[Web]) -> None:
        """Assert that the standby has their leases and their bell, and each turn under the fence that it had."""
        standby = self.pair.standby
        assert ask(standby, COUNT_PROCESSES, [web.process.pid for web in webs]) == [(len(webs),)]
        assert [ask(standby, READ_FENCE, talker.turn)[0] for talker in self.talkers] == self.fences
        wim = self.talkers[-1]
        async with Page(webs[0].socket_url, wim.cookie) as page:
            await page.until("hello")
            await asyncio.to_thread(finish_visit, webs[1].url, wim.cookie)
            async with asyncio.timeout(HEARD_WITHIN_S):
                await page.close_code()


OpenScene = Callable[..., contextlib.AbstractAsyncContextManager[Scene]]


@pytest.fixture
def open_scene(
    another_web: Callable[..., Web],
    people: People,
    rehearsal: Rehearsal,
    database: EmbeddedPostgres,
    tmp_path: Path,
) -> OpenScene:
    """Start a pair of servers and two processes; all but the first person are in the middle of a reply."""

    @contextlib.asynccontextmanager
    async def open_it(*, is_synchronous: bool) -> AsyncIterator[Scene]:
        rosa, *others = (people.add_participant(name) for name in ("Rosa", "Ada", "Tomas", "Wim"))
        with start_pair(database, is_synchronous=is_synchronous) as pair:
            async with contextlib.AsyncExitStack() as stack:

                def start_web() -> Web:
                    web = another_web(DATABASE_URL=pair.url, COMPANION_STATE_DIR=str(tmp_path))
                    # Its database goes next, and to leave in order it would wait for it.
                    stack.callback(web.kill)
                    return web

                webs = [start_web(), start_web()]
                cookies = [person.sign_in(webs[0].url) for person in others]
                rosa_cookie = rosa.sign_in(webs[0].url)
                rehearsal.inject(SLOW)

                async def open_page(web: Web, cookie: str) -> Page:
                    return await stack.enter_async_context(Page(web.socket_url, cookie))

                rosa_page = await open_page(webs[0], rosa_cookie)
                talkers = [
                    Talker(web=web, cookie=cookie, page=await open_page(web, cookie))
                    for web, cookie in zip(itertools.cycle(webs), cookies, strict=False)
                ]
                turns = await asyncio.gather(*(start_reply(talker.page) for talker in talkers))
                for talker, turn in zip(talkers, turns, strict=True):
                    talker.turn = turn
                    talker.reading = asyncio.create_task(talker.read_on())
                yield Scene(
                    pair=pair,
                    rehearsal=rehearsal,
                    webs=webs,
                    start_web=start_web,
                    talkers=talkers,
                    fences=[ask(pair.primary, READ_FENCE, turn)[0] for turn in turns],
                    rosa=rosa_page,
                    rosa_cookie=rosa_cookie,
                    rosa_conversation=rosa.conversation.pk,
                )

    return open_it


async def send_until_accepted(web: Web, cookie: str, key: str, text: str) -> int:
    """Send a message as a page does, again after every *come back*, until it is accepted; returns its turn."""
    while True:
        with contextlib.suppress(websockets.ConnectionClosed, TimeoutError, OSError):
            async with Page(web.socket_url, cookie) as page:
                await page.until("hello", within_s=5)
                await page.say(text, key)
                return int((await page.until("accepted", within_s=5))["turn"])
        await asyncio.sleep(0.2)


async def talk(web: Web, cookie: str) -> None:
    """Say something and be answered; come back as often as it takes."""
    key = str(uuid.uuid4())
    turn = await send_until_accepted(web, cookie, key, "hello?")
    while True:
        with contextlib.suppress(websockets.ConnectionClosed, TimeoutError, OSError):
            async with Page(web.socket_url, cookie) as page:
                turns = (await page.until("hello", within_s=5))["conversation"]["turns"]
                [snapshot] = [one for one in turns if one["id"] == turn]
                if snapshot["state"] in {"waiting", "speaking"}:
                    await page.ending(turn, within_s=5)
                    continue
                assert snapshot["state"] == "complete"
                return
        await asyncio.sleep(0.2)


async def read_hello(web: Web, cookie: str) -> list[Frame]:
    """The turns that a page is told of when it opens, oldest first."""
    async with Page(web.socket_url, cookie) as page:
        turns: list[Frame] = (await page.until("hello"))["conversation"]["turns"]
        return turns


@pytest.mark.parametrize(
    "is_noticed",
    [
        pytest.param(True, id="after a while"),
        pytest.param(False, id="at once", marks=pytest.mark.long),
    ],
)
async def test_a_synchronous_standby_that_is_promoted_has_all_that_was_shown_accepted_and_flagged(
    open_scene: OpenScene, is_noticed: bool
) -> None:
    async with open_scene(is_synchronous=True) as scene:
        standby = scene.pair.standby
        await scene.raise_flag()
        key = await scene.rosa.say("Is anyone there?")
        await asyncio.to_thread(scene.pair.primary.kill)
        died = time.monotonic()
        if is_noticed:
            await until_nothing_is_stored(scene)
        await scene.promote()
        await scene.assert_all_talk_again(since=died)
        # Sent at the moment of the death: stored once, whether it was accepted before or is accepted now.
        turn = await send_until_accepted(scene.webs[1], scene.rosa_cookie, key, "Is anyone there?")
        assert ask(standby, FIND_KEY, key) == [(turn, "Is anyone there?")]
        for talker in scene.talkers:
            assert talker.reading is not None
            await talker.reading
            talker.assert_stored(standby)
        assert ask(standby, COUNT_FLAGS, scene.rosa_conversation) == [(1,)]
        await assert_an_old_primary_is_left_alone(scene)


async def until_nothing_is_stored(scene: Scene) -> None:
    """Wait until each process has given up storing words."""
    await until(lambda: all("journal.unstored" in web.log_text for web in scene.webs), within_s=WITHIN_S)


async def assert_an_old_primary_is_left_alone(scene: Scene) -> None:
    """Start the old primary by mistake, first in the address: no process goes back to it, also none that starts."""
    await asyncio.to_thread(scene.pair.primary.start)
    started = scene.start_web()
    await talk(started, scene.talkers[0].cookie)
    assert "database.old_primary" in started.log_text
    await scene.assert_processes_live_on([*scene.webs, started])
    await until(lambda: ask(scene.pair.primary, COUNT_SERVICE) == [(0,)])


@pytest.mark.long
async def test_an_asynchronous_standby_lacks_what_it_had_not_received_and_the_record_says_so(
    open_scene: OpenScene,
) -> None:
    async with open_scene(is_synchronous=False) as scene:
        standby = scene.pair.standby
        await asyncio.to_thread(scene.pair.cut_standby)
        received = {talker.turn: talker.page.words(talker.turn) for talker in scene.talkers}
        lost_keys = [await scene.raise_flag(), await scene.rosa.say("Is anyone there?")]
        await scene.rosa.until("accepted")
        assert ask(scene.pair.primary, COUNT_FLAGS, scene.rosa_conversation) == [(1,)]
        await until(
            lambda: all(len(one.page.words(one.turn)) > len(received[one.turn]) for one in scene.talkers)
        )
        await asyncio.to_thread(scene.pair.primary.kill)
        died = time.monotonic()
        await scene.promote()
        await scene.assert_all_talk_again(since=died)
        # What `the-database-moves.md` says: accepted, flagged and shown, and not there any more.
        assert [ask(standby, FIND_KEY, key) for key in lost_keys] == [[], []]
        assert ask(standby, COUNT_FLAGS, scene.rosa_conversation) == [(0,)]
        assert await read_hello(scene.webs[1], scene.rosa_cookie) == []
        for talker in scene.talkers:
            assert talker.reading is not None
            await talker.reading
            await assert_told_what_is_left(talker, standby)
        await scene.assert_processes_live_on(scene.webs)


async def assert_told_what_is_left(talker: Talker, standby: EmbeddedPostgres) -> None:
    """Assert that a reply of which words were lost is paused, ends where the loss begins, and is told so to a page."""
    shown = talker.page.words(talker.turn)
    [(state, reply, answered_by)] = ask(standby, READ_TURN, talker.turn)
    assert (state, answered_by is not None) == ("paused", True)
    lost_chars = len(shown) - len(reply)
    assert reply
    assert lost_chars > 0
    assert reply == shown[:-lost_chars]
    [told] = [turn for turn in await read_hello(talker.web, talker.cookie) if turn["id"] == talker.turn]
    # The words before the loss are for staff: a page shows the line in place of a paused reply.
    assert (told["state"], told["reply"]) == ("paused", "")
    assert told["line"]


@pytest.mark.long
async def test_while_a_synchronous_standby_is_away_nothing_is_shown_that_it_lacks(
    open_scene: OpenScene,
) -> None:
    async with open_scene(is_synchronous=True) as scene:
        await asyncio.to_thread(scene.pair.cut_standby)
        await until_nothing_is_stored(scene)
        scene.rehearsal.clear()
        for talker in scene.talkers:
            stored = ask(scene.pair.standby, READ_CHUNKS, talker.turn)[0][0]
            assert stored.startswith(talker.page.words(talker.turn))
        # As the runbook says: the operator decides that the service goes on without a standby.
        ask(scene.pair.primary, "ALTER SYSTEM RESET synchronous_standby_names")
        ask(scene.pair.primary, "SELECT pg_reload_conf()")
        await scene.assert_all_talk_again(since=time.monotonic())
