"""No word is shown before it is stored, and none of a turn that is no longer this process's (T10, T11)."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.utils import timezone
from psycopg_pool import AsyncConnectionPool

from companion.journal import Journal, StoredChunk, TurnBuffer
from companion.models import Process, ReplyChunk, Turn
from companion.running_turn import RunningTurn
from companion.turn_close import close_turns
from companion.waiting_room import Admission
from ops.project.wiring.turns import build_turn_policy
from ops.stack.postgres import EmbeddedPostgres
from tests.people import People, in_database

Pool = AsyncConnectionPool[Any]
QUICK = replace(build_turn_policy(), store_within_s=0.5)


class Reader:
    """A reader of words: the moment it is shown some, it reads from outside what is stored."""

    def __init__(self, outside: psycopg.Connection[Any]) -> None:
        self._outside = outside
        self.shown: list[StoredChunk] = []
        self.stored: list[str] = []
        self.lost: list[int] = []

    def show(self, said: StoredChunk) -> None:
        self.shown.append(said)
        found = self._outside.execute(
            "SELECT string_agg(text, '' ORDER BY seq) FROM companion_replychunk WHERE turn_id = %s",
            [said.turn],
        ).fetchone()
        self.stored.append(found[0] if found else "")

    @property
    def text(self) -> str:
        return "".join(chunk.text for chunk in self.shown)


@pytest.fixture
def reader(database: EmbeddedPostgres) -> Iterator[Reader]:
    with psycopg.connect(database.url, autocommit=True) as outside:
        yield Reader(outside)


@pytest.fixture
def turn(people: People) -> Iterator[Turn]:
    """A turn that speaks, of a process that lives."""
    owner = uuid.uuid4()
    rosa = people.rosa
    in_database(lambda: Process.objects.create(id=owner, host="test", pid=1))
    row = in_database(
        lambda: Turn.objects.create(
            conversation=rosa.conversation,
            key=uuid.uuid4(),
            question="?",
            state="speaking",
            owner=owner,
            fence=1,
            persona_version="0",
            wait_until=timezone.now(),
        )
    )
    yield row
    in_database(lambda: ReplyChunk.objects.filter(turn_id=row.pk).delete())
    in_database(row.delete)
    in_database(lambda: Process.objects.filter(id=owner).delete())


@asynccontextmanager
async def journal_of(
    turn: Turn, pool: Any, reader: Reader, *, moves: Callable[[], int] = int
) -> AsyncIterator[tuple[Journal, TurnBuffer]]:
    """The journal of the turn's process, and the turn's buffer."""
    journal = Journal(
        pool, QUICK, process=turn.owner, on_stored=reader.show, on_lost=reader.lost.append, moves=moves
    )
    flusher = asyncio.create_task(journal.run())
    try:
        yield journal, TurnBuffer(turn=turn.pk, conversation=turn.conversation_id, fence=turn.fence)
    finally:
        flusher.cancel()
        with suppress(asyncio.CancelledError):
            await flusher


async def test_words_are_committed_at_the_moment_they_are_shown(
    pool: Pool, turn: Turn, reader: Reader
) -> None:
    async with journal_of(turn, pool, reader) as (journal, buffer):
        for word in ("One ", "two ", "three."):
            journal.append(buffer, word)
            await asyncio.sleep(QUICK.tick_s)
        assert await journal.finish(buffer)
    assert reader.text == "One two three."
    assert [chunk.seq for chunk in reader.shown] == list(range(1, len(reader.shown) + 1))
    so_far = ["".join(chunk.text for chunk in reader.shown[:number]) for number in range(1, buffer.seq + 1)]
    assert reader.stored == so_far


def fenced_off(turn: Turn) -> None:
    Turn.objects.filter(pk=turn.pk).update(fence=2)


def given_to_another(turn: Turn) -> None:
    Turn.objects.filter(pk=turn.pk).update(owner=uuid.uuid4())


def ended(turn: Turn) -> None:
    Turn.objects.filter(pk=turn.pk).update(state="paused", reason="lost", closed_at=timezone.now())


def out_of_breath(turn: Turn) -> None:
    late = timezone.now() - timedelta(seconds=QUICK.lease_s + 1)
    Process.objects.filter(id=turn.owner).update(beat_at=late)


@pytest.mark.parametrize("taken", [fenced_off, given_to_another, ended, out_of_breath])
async def test_of_a_turn_that_is_taken_away_nothing_more_is_stored_or_shown(
    pool: Pool, turn: Turn, reader: Reader, *, taken: Callable[[Turn], None]
) -> None:
    async with journal_of(turn, pool, reader) as (journal, buffer):
        journal.append(buffer, "One ")
        assert await journal.finish(buffer)
        in_database(lambda: taken(turn))
        buffer.is_finished = False
        journal.append(buffer, "two ")
        assert not await journal.finish(buffer)
    assert reader.text == "One "
    assert reader.lost == [turn.pk]
    assert in_database(lambda: stored_words(turn)) == "One "


@pytest.mark.parametrize("lost_chunks", [0, 1])
async def test_a_turn_goes_on_after_a_move_of_the_database_only_if_no_chunk_of_it_is_missing(
    pool: Pool, turn: Turn, reader: Reader, lost_chunks: int
) -> None:
    moves = 0
    async with journal_of(turn, pool, reader, moves=lambda: moves) as (journal, buffer):
        for word in ("One ", "two "):
            buffer.is_finished = False
            journal.append(buffer, word)
            assert await journal.finish(buffer)
        moves = 1
        # As an asynchronous standby that had not received it.
        in_database(lambda: ReplyChunk.objects.filter(turn_id=turn.pk, seq__gt=2 - lost_chunks).delete())
        buffer.is_finished = False
        journal.append(buffer, "three.")
        assert await journal.finish(buffer) is (lost_chunks == 0)
    assert reader.lost == [turn.pk] * lost_chunks
    assert reader.text == ("One two " if lost_chunks else "One two three.")
    # Without a gap: what follows the lost chunk is not stored either.
    assert in_database(lambda: stored_words(turn)) == ("One " if lost_chunks else "One two three.")


class Counted:
    """A pool that counts how often a connection is taken from it."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.taken = 0

    def connection(self) -> Any:
        self.taken += 1
        return self._pool.connection()


@pytest.mark.parametrize("moves", [0, 1])
async def test_while_the_database_does_not_move_a_chunk_costs_one_trip(
    pool: Pool, turn: Turn, reader: Reader, moves: int
) -> None:
    counted = Counted(pool)
    async with journal_of(turn, counted, reader, moves=lambda: moves) as (journal, buffer):
        for word in ("One ", "two ", "three."):
            buffer.is_finished = False
            journal.append(buffer, word)
            assert await journal.finish(buffer)
    assert (len(reader.shown), counted.taken) == (3, 3)


def stored_words(turn: Turn) -> str:
    # A web process of another test may sweep a turn whose owner is out of breath: it folds the chunks into the turn.
    chunks = ReplyChunk.objects.filter(turn_id=turn.pk).values_list("text", flat=True)
    return "".join(chunks) or Turn.objects.get(pk=turn.pk).reply


async def test_words_that_cannot_be_stored_in_time_are_not_shown(turn: Turn, reader: Reader) -> None:
    nowhere: Pool = AsyncConnectionPool(
        "postgresql://companion@127.0.0.1:9/nothing", min_size=0, max_size=2, timeout=0.02, open=False
    )
    async with nowhere, journal_of(turn, nowhere, reader) as (journal, buffer):
        journal.append(buffer, "One ")
        assert not await journal.finish(buffer)
    assert (reader.shown, reader.lost) == ([], [turn.pk])


class Shaky:
    """A pool whose first connections break just after the commit: it is unknown whether the words are stored."""

    def __init__(self, pool: Pool, *, times: float = 1) -> None:
        self._pool = pool
        self._times = times
        self.broke = 0

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Any]:
        async with self._pool.connection() as connection:
            yield connection
        if self.broke < self._times:
            self.broke += 1
            raise psycopg.OperationalError

    async def check(self) -> None:
        await self._pool.check()


async def test_words_whose_commit_was_not_heard_of_are_stored_and_shown_once(
    pool: Pool, turn: Turn, reader: Reader
) -> None:
    shaky = Shaky(pool)
    async with journal_of(turn, shaky, reader) as (journal, buffer):
        journal.append(buffer, "One ")
        assert await journal.finish(buffer)
    assert (shaky.broke, reader.text, reader.stored) == (1, "One ", ["One "])


async def test_words_whose_storing_is_never_confirmed_stay_in_the_record(
    pool: Pool, turn: Turn, reader: Reader
) -> None:
    """Another process may have read them from their rows, and shown them."""
    async with journal_of(turn, Shaky(pool, times=float("inf")), reader) as (journal, buffer):
        journal.append(buffer, "One ")
        assert not await journal.finish(buffer)
        admission: asyncio.Future[Admission] = asyncio.get_running_loop().create_future()
        running = RunningTurn(
            wait_s=60,
            turn=turn.pk,
            conversation=turn.conversation_id,
            visit=uuid.uuid4(),
            admission=admission,
            buffer=buffer,
        )
        end = running.to_end(QUICK, owner=turn.owner, is_stored=False)
    async with pool.connection() as connection, connection.transaction(), connection.cursor() as cursor:
        await close_turns(cursor, [end])

    closed = in_database(lambda: Turn.objects.get(pk=turn.pk))
    assert (reader.text, closed.state, closed.reason, closed.reply) == ("", "paused", "unstored", "One ")
