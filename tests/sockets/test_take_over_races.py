"""Take-overs against streaming replies over two processes: no word is stored after the commit, none sent after (S4)."""

import asyncio
import random
from dataclasses import dataclass
from typing import Any

import pytest

from companion.models import ReplyChunk
from companion.supervision.take_overs import TookOver
from ops.stack.postgres import EmbeddedPostgres
from tests.page_socket import ENDINGS, Page
from tests.people import People, Person, in_database
from tests.processes import Rehearsal, Web
from tests.supervised import Supervisor

ROUNDS = 10
"""Races of one participant: one may send 20 messages in a minute."""
AT_ONCE = 10
READ_REPLY = (
    "SELECT state, reason, reply, seq FROM companion_turn WHERE conversation_id = %s ORDER BY id DESC LIMIT 1"
)
FAST_REPLY = {"pieces": ["Once", *[" upon"] * 200], "pace_ms": 4}


@dataclass
class Race:
    """A participant on one process, whose conversation a member of staff takes over again and again."""

    person: Person
    page: Page
    sam: Supervisor
    at_commit: list[tuple[Any, ...]]

    async def run(self) -> None:
        await self.page.next()
        for _ in range(ROUNDS):
            key = await self.page.say("Tell me a story.")
            await asyncio.sleep(random.uniform(0, 0.4))
            assert isinstance(await self.sam.take_over(), TookOver)
            cursor = await self.sam.connection.execute(READ_REPLY, (self.sam.conversation,))
            self.at_commit += await cursor.fetchall()
            await self._until("joins")
            await self.sam.hand_back()
            await self._until("leaves")
            await self._until_ended(key)

    async def _until(self, state: str) -> None:
        while (await self.page.until("person", within_s=60))["state"] != state:
            pass

    async def _until_ended(self, key: str) -> None:
        """Read on until the turn of this message has ended: it may have been opened after the hand-back."""
        while True:
            turns = {frame["turn"] for frame in self.page.frames if frame.get("key") == key}
            ended = {frame["turn"] for frame in self.page.frames if frame["type"] in ENDINGS}
            if turns and turns <= ended:
                return
            await self.page.next(within_s=60)

    def check(self) -> None:
        is_person_there = False
        for frame in self.page.frames:
            if frame["type"] == "person":
                is_person_there = frame["state"] == "joins"
            assert not (is_person_there and frame["type"] in {"words", "opening", "complete"}), frame
        turns = self.person.turns()
        assert len(turns) == ROUNDS
        for turn in turns:
            assert turn.state in {"handed_over", "complete"}
            assert self.page.words(turn.pk) == turn.reply
        rows = {(turn.state, turn.reason, turn.reply, turn.seq) for turn in turns}
        # What was stored at the commit is what is stored now; a message after it is read by the person.
        assert set(self.at_commit) <= rows
        chunks = ReplyChunk.objects.filter(turn_id__in=[turn.pk for turn in turns])
        assert not in_database(chunks.exists)


async def run_races(
    webs: list[Web], rehearsal: Rehearsal, people: People, url: str, *, participants: int
) -> int:
    rehearsal.inject(FAST_REPLY)
    turn_on = asyncio.Semaphore(AT_ONCE)

    async def race(number: int) -> Race:
        web = webs[number % len(webs)]
        person = people.add_participant(f"P{number}")
        cookie = await asyncio.to_thread(person.sign_in, web.url)
        async with turn_on, Page(web.socket_url, cookie) as page, Supervisor(url, person) as sam:
            running = Race(person=person, page=page, sam=sam, at_commit=[])
            await running.run()
            return running

    races = await asyncio.gather(*(race(number) for number in range(participants)))
    for one in races:
        one.check()
    return sum(
        turn.state == "handed_over" and bool(turn.reply) for one in races for turn in one.person.turns()
    )


async def test_no_word_is_stored_or_sent_once_a_person_has_taken_over(
    service: Web, neighbour: Web, rehearsal: Rehearsal, people: People, database: EmbeddedPostgres
) -> None:
    cut_short = await run_races([service, neighbour], rehearsal, people, database.url, participants=6)
    assert cut_short > 5, "too few of the races met a reply that was being spoken"


@pytest.mark.long
@pytest.mark.timeout(900)
async def test_a_thousand_take_overs_meet_streaming_replies(
    service: Web, neighbour: Web, rehearsal: Rehearsal, people: People, database: EmbeddedPostgres
) -> None:
    cut_short = await run_races([service, neighbour], rehearsal, people, database.url, participants=100)
    assert cut_short > 100
