"""What one socket is sent: every word once and in order, whatever comes twice, late or not at all (T6, T12)."""

import uuid
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from companion.history import TurnView
from companion.journal import StoredChunk
from companion.outbox import MAX_REWINDS, MAX_UNREAD_CHUNKS, Outbox

TURN, CONVERSATION = 7, 3
SPEAKING = TurnView(
    turn=TURN,
    key=uuid.UUID(int=1),
    conversation=CONVERSATION,
    question="?",
    openings=(),
    reply="",
    state="speaking",
    line="",
    seq=0,
    chunk_lengths=(),
    owner=uuid.UUID(int=2),
)


class Rows:
    """What is stored of the turn: its chunks so far, and how it stands. `away`: it cannot be read."""

    def __init__(self) -> None:
        self.stored_chunks: list[str] = []
        self.state = "speaking"
        self.line = ""
        self.away = False
        self.erased = False

    @property
    def view(self) -> TurnView:
        ended = self.state != "speaking"
        return replace(
            SPEAKING,
            state=self.state,
            line=self.line,
            seq=len(self.stored_chunks),
            reply="" if self.state == "paused" else "".join(self.stored_chunks),
            chunk_lengths=tuple(map(len, self.stored_chunks)) if ended and self.state != "paused" else (),
        )

    async def read_turns(self, turns: list[int]) -> list[TurnView]:
        if self.away:
            raise psycopg.OperationalError
        return [] if self.erased else [self.view]

    async def read_chunks(self, after: dict[int, int]) -> list[tuple[int, int, str]]:
        stored = enumerate(self.stored_chunks, start=1)
        return [(TURN, seq, text) for seq, text in stored if seq > after[TURN]]


class Socket:
    """An outbox and what it has sent."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.sent: list[dict[str, Any]] = []
        history: Any = rows
        self.outbox = Outbox(self._take, history, conversation=CONVERSATION)

    async def _take(self, frame: dict[str, Any]) -> None:
        self.sent.append(frame)

    def says(self, seq: int, text: str) -> None:
        self.outbox.enqueue(StoredChunk(turn=TURN, conversation=CONVERSATION, seq=seq, text=text))

    async def told(self) -> list[tuple[str, int]]:
        await self.outbox.flush()
        return [(frame["type"], frame.get("seq", 0)) for frame in self.sent]


@pytest.fixture
def socket() -> Socket:
    return Socket(Rows())


async def test_what_is_said_while_the_page_is_given_its_hello_comes_after_it_and_once(socket: Socket) -> None:
    for seq in (1, 2, 3):
        socket.says(seq, f"{seq} ")
    assert await socket.told() == []
    socket.outbox.start([replace(SPEAKING, seq=2, reply="1 2 ")])
    assert await socket.told() == [("words", 3)]


async def test_a_chunk_that_comes_twice_is_sent_once(socket: Socket) -> None:
    socket.outbox.start([SPEAKING])
    for seq in (1, 1, 2, 1, 2):
        socket.says(seq, f"{seq} ")
    assert await socket.told() == [("words", 1), ("words", 2)]


async def test_a_gap_is_filled_from_rows_before_anything_that_follows(socket: Socket) -> None:
    socket.rows.stored_chunks = ["1 ", "2 ", "3 "]
    socket.outbox.start([SPEAKING])
    socket.says(1, "1 ")
    socket.says(3, "3 ")
    assert await socket.told() == [("words", 1), ("words", 2), ("words", 3)]
    assert "".join(frame["text"] for frame in socket.sent) == "1 2 3 "


async def test_while_rows_cannot_be_read_nothing_is_skipped_and_a_nudge_tries_again(socket: Socket) -> None:
    socket.rows.stored_chunks, socket.rows.away = ["1 ", "2 "], True
    socket.outbox.start([SPEAKING])
    socket.says(2, "2 ")
    assert await socket.told() == []
    socket.rows.away = False
    socket.outbox.retry()
    assert await socket.told() == [("words", 1), ("words", 2)]


async def test_the_last_words_come_before_the_end_of_a_whole_reply(socket: Socket) -> None:
    socket.rows.stored_chunks, socket.rows.state = ["1 ", "2 "], "complete"
    socket.outbox.start([SPEAKING])
    socket.says(1, "1 ")
    socket.outbox.enqueue(socket.rows.view)
    socket.outbox.enqueue(socket.rows.view)
    assert await socket.told() == [("words", 1), ("words", 2), ("complete", 2)]


async def test_after_a_pause_the_closing_frame_stands_alone_and_nothing_follows_it(socket: Socket) -> None:
    socket.rows.stored_chunks, socket.rows.state, socket.rows.line = ["1 ", "2 ", "3 "], "paused", "A pause."
    socket.outbox.start([SPEAKING])
    socket.says(1, "1 ")
    socket.outbox.enqueue(socket.rows.view)
    socket.says(2, "2 ")
    assert await socket.told() == [("words", 1), ("paused", 3)]
    assert socket.sent[-1]["line"] == "A pause."


async def test_a_page_that_asks_again_and_again_and_reads_nothing_is_too_far_behind(socket: Socket) -> None:
    socket.rows.stored_chunks = ["1 ", "2 "]
    socket.outbox.start([SPEAKING])
    socket.says(1, "1 ")
    await socket.told()
    answers = []
    for _ in range(MAX_REWINDS + 1):
        answers.append(socket.outbox.rewind(socket.rows.view, 0))
        await socket.told()
    assert answers == [True] * MAX_REWINDS + [False]


async def test_a_page_that_acknowledges_may_ask_again_as_often_as_it_likes(socket: Socket) -> None:
    socket.rows.stored_chunks = ["1 ", "2 "]
    socket.outbox.start([SPEAKING])
    socket.says(1, "1 ")
    for _ in range(3 * MAX_REWINDS):
        await socket.told()
        socket.outbox.acknowledge(TURN, 1)
        assert socket.outbox.rewind(socket.rows.view, 0)


async def test_a_page_that_reads_nothing_costs_no_more_than_its_two_hundred_chunks(socket: Socket) -> None:
    socket.outbox.start([SPEAKING])
    for seq in range(1, MAX_UNREAD_CHUNKS + 51):
        socket.rows.stored_chunks.append(f"{seq} ")
        socket.says(seq, f"{seq} ")
        await socket.outbox.flush()
    assert len(await socket.told()) == MAX_UNREAD_CHUNKS
    socket.outbox.acknowledge(TURN, MAX_UNREAD_CHUNKS)
    assert await socket.told() == [("words", seq) for seq in range(1, MAX_UNREAD_CHUNKS + 51)]
