"""When the primary dies and its standby is promoted, people talk again, and what they saw is stored."""

import asyncio
import contextlib
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
from tests.page_socket import ENDINGS, Page
from tests.patience import until
from tests.people import People, Person
from tests.processes import Rehearsal, Web
from tests.standby import Pair, ask, start_pair

RED = "I want to kill myself tonight."
TURNS, FLAGS = Turn._meta.db_table, Flag._meta.db_table
READ_TURN = f"SELECT state, reply, answered_by_id FROM {TURNS} WHERE id = %s"
COUNT_FLAGS = f"SELECT count(*) FROM {FLAGS} WHERE conversation_id = %s AND state = 'open'"
READ_CHUNKS = f"""
SELECT coalesce(string_agg(text, '' ORDER BY seq), '') FROM {ReplyChunk._meta.db_table} WHERE turn_id = %s
"""
FIND_KEY = f"SELECT id, question FROM {TURNS} WHERE key = %s"
COUNT_PROCESSES = (
    "SELECT count(*) FROM companion_process WHERE pid = ANY(%s) AND beat_at > now() - interval '5 seconds'"
)
COUNT_SERVICE = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'companion%'"


@dataclass(kw_only=True)
class Talker:
    """A person in the middle of a reply, and what their page has shown of it."""

    person: Person
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

    webs: list[Web]
    talkers: list[Talker]
    rosa: Page
    """Of a person whose red message was accepted just before."""
    rosa_cookie: str
    rosa_conversation: int


@contextlib.asynccontextmanager
async def open_scene(
    pair: Pair, cast: list[Person], another_web: Callable[..., Web], rehearsal: Rehearsal, state: Path
) -> AsyncIterator[Scene]:
    """Start two processes; the first person sends a red message, the others are in the middle of a reply."""
    settings = {"DATABASE_URL": pair.url, "COMPANION_STATE_DIR": str(state)}
    webs = [another_web(**settings), another_web(**settings)]
    rosa, *others = cast
    cookies = {person.row.pk: person.sign_in(webs[0].url) for person in cast}
    rehearsal.inject(SLOW)
    async with contextlib.AsyncExitStack() as stack:
        talkers = []
        for number, person in enumerate(others):
            web, cookie = webs[number % 2], cookies[person.row.pk]
            page = await stack.enter_async_context(Page(web.socket_url, cookie))
            talkers.append(Talker(person=person, web=web, cookie=cookie, page=page))
        turns = await asyncio.gather(*(start_reply(talker.page) for talker in talkers))
        alarmed = await stack.enter_async_context(Page(webs[0].socket_url, cookies[rosa.row.pk]))
        await alarmed.say(RED)
        await alarmed.until("accepted")
        for talker, turn in zip(talkers, turns, strict=True):
            talker.turn = turn
            talker.reading = asyncio.create_task(talker.read_on())
        yield Scene(
            webs=webs,
            talkers=talkers,
            rosa=alarmed,
            rosa_cookie=cookies[rosa.row.pk],
            rosa_conversation=rosa.conversation.pk,
        )


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


async def assert_all_talk_again(scene: Scene, *, since: float) -> None:
    """Assert that everybody is answered, at most WITHIN_S after `since`."""
    async with asyncio.timeout(WITHIN_S - (time.monotonic() - since)):
        await asyncio.gather(*(talk(talker.web, talker.cookie) for talker in scene.talkers))


@pytest.mark.parametrize(
    "is_noticed",
    [
        pytest.param(True, id="after a while"),
        pytest.param(False, id="at once", marks=pytest.mark.long),
    ],
)
async def test_a_synchronous_standby_that_is_promoted_has_all_that_was_shown_accepted_and_flagged(
    another_web: Callable[..., Web],
    people: People,
    rehearsal: Rehearsal,
    database: EmbeddedPostgres,
    tmp_path: Path,
    is_noticed: bool,
) -> None:
    cast = [people.add_participant(name) for name in ("Rosa", "Ada", "Tomas", "Wim")]
    with start_pair(database, is_synchronous=True) as pair:
        async with open_scene(pair, cast, another_web, rehearsal, tmp_path) as scene:
            key = str(uuid.uuid4())
            await scene.rosa.say("Is anyone there?", key)
            await asyncio.to_thread(pair.primary.kill)
            died = time.monotonic()
            if is_noticed:
                await until(
                    lambda: all("journal.unstored" in web.log_text for web in scene.webs), within_s=WITHIN_S
                )
            rehearsal.clear()
            await asyncio.to_thread(pair.promote)
            await assert_all_talk_again(scene, since=died)
            # Sent at the moment of the death: stored once, whether it was accepted before or is accepted now.
            turn = await send_until_accepted(scene.webs[1], scene.rosa_cookie, key, "Is anyone there?")
            assert ask(pair.standby, FIND_KEY, key) == [(turn, "Is anyone there?")]
            for talker in scene.talkers:
                assert talker.reading is not None
                await talker.reading
                talker.assert_stored(pair.standby)
            assert ask(pair.standby, COUNT_FLAGS, scene.rosa_conversation) == [(1,)]
            await assert_an_old_primary_is_left_alone(pair, scene, another_web, tmp_path)


async def assert_an_old_primary_is_left_alone(
    pair: Pair, scene: Scene, another_web: Callable[..., Web], state: Path
) -> None:
    """Start the old primary by mistake, first in the address: no process goes back to it, also none that starts."""
    await asyncio.to_thread(pair.primary.start)
    started = another_web(DATABASE_URL=pair.url, COMPANION_STATE_DIR=str(state))
    ada = scene.talkers[0]
    await talk(started, ada.cookie)
    assert "database.old_primary" in started.log_text
    pids = [web.process.pid for web in (*scene.webs, started)]
    assert ask(pair.standby, COUNT_PROCESSES, pids) == [(3,)]
    await until(lambda: ask(pair.primary, COUNT_SERVICE) == [(0,)])


@pytest.mark.long
async def test_an_asynchronous_standby_lacks_what_it_had_not_received_and_people_talk_again(
    another_web: Callable[..., Web],
    people: People,
    rehearsal: Rehearsal,
    database: EmbeddedPostgres,
    tmp_path: Path,
) -> None:
    cast = [people.add_participant(name) for name in ("Rosa", "Ada", "Tomas", "Wim")]
    with start_pair(database, is_synchronous=False) as pair:
        async with open_scene(pair, cast, another_web, rehearsal, tmp_path) as scene:
            await asyncio.to_thread(pair.cut_standby)
            received = {talker.turn: talker.page.words(talker.turn) for talker in scene.talkers}
            key = str(uuid.uuid4())
            await scene.rosa.say("Is anyone there?", key)
            await scene.rosa.until("accepted")
            await until(
                lambda: all(len(one.page.words(one.turn)) > len(received[one.turn]) for one in scene.talkers)
            )
            await asyncio.to_thread(pair.primary.kill)
            died = time.monotonic()
            rehearsal.clear()
            await asyncio.to_thread(pair.promote)
            await assert_all_talk_again(scene, since=died)
            # What `the-database-moves.md` says: accepted and shown, and not there any more.
            assert ask(pair.standby, FIND_KEY, key) == []
            for talker in scene.talkers:
                assert talker.reading is not None
                await talker.reading
                [(state, reply, _)] = ask(pair.standby, READ_TURN, talker.turn)
                assert state in {"paused", "complete"}
                assert reply.startswith(received[talker.turn][:1])
            assert ask(pair.standby, COUNT_FLAGS, scene.rosa_conversation) == [(1,)]


@pytest.mark.long
async def test_while_a_synchronous_standby_is_away_nothing_is_shown_that_it_lacks(
    another_web: Callable[..., Web],
    people: People,
    rehearsal: Rehearsal,
    database: EmbeddedPostgres,
    tmp_path: Path,
) -> None:
    cast = [people.add_participant(name) for name in ("Rosa", "Ada", "Tomas", "Wim")]
    with start_pair(database, is_synchronous=True) as pair:
        async with open_scene(pair, cast, another_web, rehearsal, tmp_path) as scene:
            await asyncio.to_thread(pair.cut_standby)
            await until(
                lambda: all("journal.unstored" in web.log_text for web in scene.webs), within_s=WITHIN_S
            )
            rehearsal.clear()
            for talker in scene.talkers:
                stored = ask(pair.standby, READ_CHUNKS, talker.turn)[0][0]
                assert stored.startswith(talker.page.words(talker.turn))
            # As the runbook says: the operator decides that the service goes on without a standby.
            ask(pair.primary, "ALTER SYSTEM RESET synchronous_standby_names")
            ask(pair.primary, "SELECT pg_reload_conf()")
            await assert_all_talk_again(scene, since=time.monotonic())
