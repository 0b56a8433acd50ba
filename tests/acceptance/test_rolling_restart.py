"""Web processes restart one after another behind the shipped nginx file, and no person's turn pauses."""

import asyncio
import contextlib
import random
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
import websockets

from companion.models import Ceiling, Process, Turn
from ops.stack.postgres import EmbeddedPostgres
from tests.acceptance.test_death import start_reply
from tests.ceilings import delete_ceilings
from tests.page_socket import ENDINGS, Page
from tests.patience import until
from tests.people import People, Person, in_database
from tests.prefork import prefork
from tests.processes import Rehearsal, Web
from tests.programs import find_free_port
from tests.proxies import Proxy, start_proxy
from tests.web_fleet import Fleet, start_fleet

BACK_WITHIN_S = 2.0
PAGE_WAITS_S = 1.0
"""A page that is sent away opens again after a random time below it: see `socket.js`."""


@pytest.fixture
def one_place(database: EmbeddedPostgres) -> Iterator[None]:
    """A ceiling of one."""
    in_database(lambda: Ceiling.objects.create(value=1, by="Ines", reason="a test"))
    yield
    delete_ceilings()


@pytest.fixture
def others_leave(database: EmbeddedPostgres) -> Iterator[None]:
    """Shared processes of earlier tests count as leaving."""
    others = in_database(lambda: list(Process.objects.filter(draining=False).values_list("pk", flat=True)))
    in_database(lambda: Process.objects.filter(pk__in=others).update(draining=True))
    yield
    in_database(lambda: Process.objects.filter(pk__in=others).update(draining=False))


@asynccontextmanager
async def hold_the_place(
    web: Web, people: People, rehearsal: Rehearsal, *, words: int = 2_000
) -> AsyncIterator[tuple[Page, int]]:
    """A reply of so many words has the one place: its page, and its turn."""
    rehearsal.inject({"pace_ms": 20, "words": words}, times=1, match="Take the place.")
    ada = people.add_participant("Ada")
    async with Page(web.socket_url, ada.sign_in(web.url)) as holder:
        yield holder, await start_reply(holder, "Take the place.", pieces=1)


@pytest.mark.usefixtures("one_place")
async def test_a_question_that_waits_on_a_process_that_leaves_is_answered_by_one_that_stays(
    another_web: Callable[..., Web], people: People, rehearsal: Rehearsal
) -> None:
    leaving, stays = another_web(), another_web()
    rosa = people.rosa
    async with hold_the_place(stays, people, rehearsal) as (holder, held):
        cookie = rosa.sign_in(leaving.url)
        async with Page(leaving.socket_url, cookie) as page:
            await page.say("May I come in? Bye for now.")
            turn = (await page.until("waiting"))["turn"]
            before = in_database(lambda: Turn.objects.get(pk=turn))
            leaving.signal(signal.SIGTERM)
            assert await page.close_code() == 4503
        async with Page(stays.socket_url, cookie) as page:
            [waiting] = (await page.until("hello"))["conversation"]["turns"]
            assert (waiting["id"], waiting["state"]) == (turn, "waiting")
            # Nothing holds the process: it does not wait for its grace time.
            assert await asyncio.to_thread(leaving.process.wait, 6) == 0
            await holder.send({"type": "stop", "turn": held})
            assert (await page.ending(turn))["type"] == "complete"
    [row] = rosa.turns()
    # Any process that stays may claim it, one of another test too.
    assert row.owner != before.owner
    assert row.reply == page.words(turn)


@pytest.mark.usefixtures("one_place")
async def test_the_wait_of_a_question_that_was_handed_over_ends_when_it_would_have_ended(
    another_web: Callable[..., Web], people: People, rehearsal: Rehearsal
) -> None:
    leaving = another_web(COMPANION_WAIT_CEILING_S="4")
    stays = another_web(COMPANION_WAIT_CEILING_S="600")
    rosa = people.rosa
    async with hold_the_place(stays, people, rehearsal) as (holder, held):
        cookie = rosa.sign_in(leaving.url)
        async with Page(leaving.socket_url, cookie) as page:
            await page.say("May I come in?")
            turn = (await page.until("waiting"))["turn"]
            leaving.signal(signal.SIGTERM)
            await page.close_code()
        async with Page(stays.socket_url, cookie) as page:
            assert (await page.ending(turn, within_s=15))["type"] == "refused"
        await holder.send({"type": "stop", "turn": held})
        await holder.ending(held)


@pytest.mark.usefixtures("one_place", "others_leave")
async def test_without_a_process_that_stays_a_waiting_question_is_paused_at_once_and_held(
    another_web: Callable[..., Web], people: People, rehearsal: Rehearsal
) -> None:
    leaving, rosa = another_web(), people.rosa
    async with (
        hold_the_place(leaving, people, rehearsal, words=60) as (holder, held),
        Page(leaving.socket_url, rosa.sign_in(leaving.url)) as page,
    ):
        await page.say("May I come in?")
        turn = (await page.until("waiting"))["turn"]
        leaving.signal(signal.SIGTERM)
        assert (await page.ending(turn, within_s=4))["type"] == "paused"
        assert (await holder.ending(held))["type"] == "complete"
    [row] = rosa.turns()
    assert (row.reason, row.held_until is not None) == ("drained", True)


@dataclass(kw_only=True)
class Visitor:
    """A person's page, which opens again by itself, as ours does."""

    person: Person
    proxy: Proxy
    cookie: str = ""
    shown: dict[int, str] = field(default_factory=dict)
    ends: dict[int, str] = field(default_factory=dict)
    longest_away_s: float = 0.0
    times_away: int = 0

    async def come_in(self) -> None:
        """Type the card's code."""
        async with httpx.AsyncClient(
            base_url=self.proxy.url, verify=self.proxy.tls, trust_env=False
        ) as browser:
            form = {"code": self.person.card.code}
            answer = await browser.post("/card/", data=form, headers={"Origin": self.proxy.url})
            assert answer.status_code == 302, answer.status_code
            self.cookie = answer.cookies["__Host-companion"]

    async def talk(self, is_over: asyncio.Event) -> None:
        """Ask, read the whole reply, and ask again, until `is_over`; opens the page again whenever it is sent away."""
        question: tuple[str, int | None] | None = None
        away_since: float | None = None
        while True:
            with contextlib.suppress(websockets.ConnectionClosed, websockets.InvalidStatus, OSError):
                async with self._open() as page:
                    hello = await page.until("hello")
                    if away_since is not None:
                        self.longest_away_s = max(self.longest_away_s, time.monotonic() - away_since)
                        away_since = None
                    for snapshot in hello["conversation"]["turns"]:
                        self._note(snapshot)
                        if question and snapshot["key"] == question[0]:
                            question = (question[0], snapshot["id"])
                    while True:
                        if question is not None and question[1] in self.ends:
                            question = None
                        if question is None:
                            if is_over.is_set():
                                return
                            question = (await page.say("What helps against fear?"), None)
                        elif question[1] is None:
                            # As a page does: the same key again, which is stored once.
                            await page.say("What helps against fear?", question[0])
                        turn = question[1] or (await page.until("accepted"))["turn"]
                        question = (question[0], turn)
                        await self._read(page, turn)
            away_since = away_since or time.monotonic()
            self.times_away += 1
            await asyncio.sleep(random.random() * PAGE_WAITS_S)

    def _open(self) -> Page:
        return Page(
            self.proxy.socket_url,
            self.cookie,
            origin=self.proxy.url,
            name="__Host-companion",
            tls=self.proxy.tls,
        )

    def _note(self, snapshot: dict[str, object]) -> None:
        turn, state = int(str(snapshot["id"])), str(snapshot["state"])
        self.shown[turn] = str(snapshot["reply"])
        if state not in {"waiting", "speaking"}:
            self.ends[turn] = state

    async def _read(self, page: Page, turn: int) -> None:
        while turn not in self.ends:
            frame = await page.next(within_s=60)
            if frame.get("turn") != turn:
                continue
            if frame["type"] == "words":
                self.shown[turn] = self.shown.get(turn, "") + frame["text"]
            elif frame["type"] in ENDINGS:
                self.ends[turn] = frame["type"]

    def assert_nothing_is_lost(self) -> None:
        """Assert that each turn is complete, and that exactly what is stored was shown."""
        stored = {turn.pk: (turn.state, turn.reply) for turn in self.person.turns()}
        assert stored == {turn: ("complete", self.shown[turn]) for turn in self.ends}


@asynccontextmanager
async def behind_nginx(
    folder: Path, rehearsal: Rehearsal, *, processes: int, **settings: str
) -> AsyncIterator[tuple[Fleet, Proxy]]:
    """Web processes behind the shipped nginx file."""
    port = find_free_port()
    behind = {
        "COMPANION_BEHIND_PROXY": "yes",
        "COMPANION_SECURE_COOKIES": "yes",
        "ALLOWED_HOSTS": "127.0.0.1",
        "TRUSTED_ORIGINS": f"https://127.0.0.1:{port}",
        "COMPANION_STATE_DIR": str(folder),
    }
    with contextlib.ExitStack() as stack:
        fleet = await asyncio.to_thread(
            stack.enter_context,
            start_fleet(processes, folder / "fleet", rehearsal, **behind, **settings),
        )
        proxy = stack.enter_context(start_proxy(folder / "nginx", fleet.ports, port=port))
        yield fleet, proxy
        await asyncio.to_thread(stack.close)


async def restart_all(fleet: Fleet) -> None:
    """Run the one command."""
    command = ["manage.py", "rolling_restart", *map(str, fleet.ports), "--with", fleet.restart_command]
    done = await asyncio.to_thread(prefork.run, command, timeout_s=280)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("serves again") == len(fleet.ports)


async def restart_while_people_talk(
    folder: Path, people: People, rehearsal: Rehearsal, *, crowd: int, processes: int, reply_s: int
) -> list[Visitor]:
    """Restart all processes while `crowd` people are in replies of `reply_s` seconds."""
    rehearsal.inject({"pace_ms": 100, "words": reply_s * 10})
    settings = {"COMPANION_GRACE_S": str(reply_s * 3), "COMPANION_CEILING": str(max(1, crowd * 3 // 4))}
    async with behind_nginx(
        folder, rehearsal, processes=processes, COMPANION_WAIT_CEILING_S="300", **settings
    ) as (fleet, proxy):
        visitors = [
            Visitor(person=people.add_participant(f"P{number}"), proxy=proxy) for number in range(crowd)
        ]
        for visitor in visitors:
            await visitor.come_in()
        is_over = asyncio.Event()
        talking = asyncio.gather(*(visitor.talk(is_over) for visitor in visitors))
        await until(
            lambda: all(any(visitor.shown.values()) or visitor.times_away for visitor in visitors[:1])
        )
        await restart_all(fleet)
        is_over.set()
        await talking
    return visitors


def assert_turns_went_on(visitors: list[Visitor]) -> None:
    assert sum(visitor.times_away for visitor in visitors) >= len(visitors)
    for visitor in visitors:
        visitor.assert_nothing_is_lost()
    assert max(visitor.longest_away_s for visitor in visitors) < BACK_WITHIN_S


async def test_two_processes_restart_behind_nginx_and_no_turn_pauses(
    tmp_path: Path, people: People, rehearsal: Rehearsal
) -> None:
    visitors = await restart_while_people_talk(tmp_path, people, rehearsal, crowd=4, processes=2, reply_s=2)
    assert_turns_went_on(visitors)


@pytest.mark.long
@pytest.mark.timeout(400)
async def test_three_processes_restart_while_sixty_people_read_replies_of_twenty_seconds(
    tmp_path: Path, people: People, rehearsal: Rehearsal
) -> None:
    visitors = await restart_while_people_talk(tmp_path, people, rehearsal, crowd=60, processes=3, reply_s=20)
    assert_turns_went_on(visitors)
