"""What one socket has been shown, and what it is shown next: in order, exactly once, never more than it reads.

Words arrive live, from the journal of this process or from rows; each socket keeps a cursor per turn, so a
piece that comes twice is dropped and a gap is filled from rows. A page that does not acknowledge is not sent
more: what it misses stays in rows, not in memory.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg

from companion import frames
from companion.history import History, View
from companion.journal import StoredChunk
from companion.kept_questions import KeptQuestion
from companion.states import ENDED

log = logging.getLogger(__name__)

MOST_PIECES = 200
MOST_BYTES = 262_144
"""What may be on its way to a page that has not acknowledged it."""
MOST_REWINDS = 20
"""How often a page may ask again for what is on its way, and acknowledge nothing."""
_ENDED = frozenset(state.value for state in ENDED)


@dataclass(frozen=True, kw_only=True, slots=True)
class Accepted:
    """A message of this conversation is stored as a turn."""

    turn: int
    conversation: int
    key: UUID


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptQuestions:
    """The kept questions of this conversation as they are now, oldest first. `asked`: the page waits for them."""

    questions: tuple[KeptQuestion, ...]
    asked: bool = False


@dataclass(slots=True)
class Cursor:
    """How far a socket has been shown one turn."""

    seq: int = 0
    openings: int = 0
    waiting: bool = False
    still_here: bool = False
    ended: bool = False


class Outbox:
    """One socket's sender. `send` takes one frame; it is called by one task at a time."""

    def __init__(
        self, send: Callable[[dict[str, Any]], Awaitable[None]], history: History, *, conversation: int
    ) -> None:
        self._send = send
        self._history = history
        self.conversation = conversation
        self._cursors: dict[int, Cursor] = {}
        self._events: deque[Accepted | StoredChunk | View | KeptQuestions] = deque()
        self._behind: set[int] = set()
        self.kept: tuple[int, ...] = ()
        """The turns of the kept questions that this page was told of."""
        self._unread: deque[tuple[int, int, int]] = deque()
        self._unread_bytes = 0
        self._rewound = 0
        self._ready = False
        self._closed = False
        self._task: asyncio.Task[None] | None = None

    def begin(self, turns: Iterable[View], kept: tuple[KeptQuestion, ...] = ()) -> None:
        """The page has been given these in its `hello`; from here on it is sent what changes."""
        self.kept = tuple(one.turn for one in kept)
        for view in turns:
            self._cursors[view.turn] = Cursor(
                seq=view.seq,
                openings=len(view.openings),
                waiting=view.state == "waiting",
                still_here=view.state == "speaking" and bool(view.line),
                ended=view.state in _ENDED,
            )
        self._ready = True
        self._run()

    def offer(self, event: Accepted | StoredChunk | View | KeptQuestions) -> None:
        """Something happened in this socket's conversation."""
        if isinstance(event, StoredChunk) and (self._is_full() or event.turn in self._behind):
            self._behind.add(event.turn)
            return
        self._events.append(event)
        self._run()

    def acknowledge(self, turn: int, seq: int) -> None:
        """The page has shown everything up to this piece."""
        if not any(sent == turn and piece <= seq for sent, piece, _ in self._unread):
            return
        self._rewound = 0
        while self._unread:
            sent, piece, size = self._unread[0]
            if sent == turn and piece > seq:
                break
            self._unread.popleft()
            self._unread_bytes -= size
            if sent == turn and piece == seq:
                break
        self._run()

    def rewind(self, view: View, after: int) -> bool:
        """The page asked to catch up on a turn from this piece on. False: it asks and asks, and reads nothing."""
        self._rewound += any(sent == view.turn for sent, _, _ in self._unread)
        if self._rewound > MOST_REWINDS:
            return False
        cursor = self._cursors.setdefault(view.turn, Cursor())
        cursor.seq = min(after, view.seq)
        cursor.openings = 0 if cursor.seq == 0 else len(view.openings)
        cursor.ended = cursor.waiting = cursor.still_here = False
        self._unread = deque(entry for entry in self._unread if entry[0] != view.turn)
        self._unread_bytes = sum(size for _, _, size in self._unread)
        self._behind.add(view.turn)
        self._run()
        return True

    def nudge(self) -> None:
        """Try again what could not be read before."""
        self._run()

    async def settle(self) -> None:
        """Wait until everything that was offered is on its way."""
        while self._task is not None and not self._task.done():
            await asyncio.wait([self._task])

    def close(self) -> None:
        """Send nothing more."""
        self._closed = True
        self._events.clear()
        self._behind.clear()

    def floor(self, turn: int) -> int | None:
        """The last piece of a turn this socket was shown; None: it needs no more of it now."""
        cursor = self._cursors.get(turn)
        if cursor is None:
            return 0
        return None if cursor.ended or turn in self._behind else cursor.seq

    def unended(self) -> list[int]:
        """The turns this socket knows and has not seen the end of."""
        return [turn for turn, cursor in self._cursors.items() if not cursor.ended]

    def _is_full(self) -> bool:
        return len(self._unread) >= MOST_PIECES or self._unread_bytes >= MOST_BYTES

    def _run(self) -> None:
        has_work = self._events or (self._behind and not self._is_full())
        if self._ready and not self._closed and has_work and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._drain())

    async def _drain(self) -> None:
        while not self._closed:
            if self._events:
                event = self._events.popleft()
                match event:
                    case Accepted():
                        await self._accept(event.turn, event.key)
                    case StoredChunk():
                        await self._say(event)
                    case View():
                        await self._change(event)
                    case KeptQuestions():
                        await self._keep(event)
            elif self._behind and not self._is_full():
                if not await self._refill():
                    return
            else:
                return

    async def _accept(self, turn: int, key: UUID) -> None:
        if turn not in self._cursors:
            self._cursors[turn] = Cursor()
            await self._send(frames.accepted(key, turn))

    async def _say(self, said: StoredChunk) -> None:
        cursor = self._cursors.setdefault(said.turn, Cursor())
        if cursor.ended or said.seq <= cursor.seq:
            return
        if said.seq != cursor.seq + 1 or said.turn in self._behind or self._is_full():
            self._behind.add(said.turn)
            return
        await self._open(said.turn, said.openings)
        await self._words(said.turn, said.seq, said.text)

    async def _change(self, view: View) -> None:
        await self._accept(view.turn, view.key)
        cursor = self._cursors[view.turn]
        if cursor.ended:
            return
        if view.state == "waiting":
            if view.line and not cursor.waiting:
                cursor.waiting = True
                await self._send(frames.waiting(view.turn, view.line))
        elif view.state == "speaking":
            if view.line and not cursor.seq and not cursor.still_here:
                cursor.still_here = True
                await self._send(frames.still_here(view.turn, view.line))
        elif view.state in _ENDED:
            await self._end(view, cursor)

    async def _keep(self, event: KeptQuestions) -> None:
        turns = tuple(one.turn for one in event.questions)
        if event.asked or turns != self.kept:
            self.kept = turns
            await self._send(frames.kept([one.offer() for one in event.questions]))

    async def _end(self, view: View, cursor: Cursor) -> None:
        # After a pause the closing frame stands alone: a half answer is not sent again.
        shows_reply = view.state in {"complete", "stopped", "handed_over"}
        if shows_reply and (cursor.seq < view.seq or view.turn in self._behind):
            self._behind.add(view.turn)
            return
        self._behind.discard(view.turn)
        cursor.ended = True
        await self._send(_ending(view))

    async def _refill(self) -> bool:
        """Catch up from rows on every turn this socket fell behind in. False: the rows cannot be read now."""
        turns, self._behind = sorted(self._behind), set()
        try:
            views = [
                view for view in await self._history.named(turns) if view.conversation == self.conversation
            ]
            live = {view.turn: self._cursors.setdefault(view.turn, Cursor()).seq for view in views}
            spoken = [view.turn for view in views if view.state == "speaking"]
            pieces = await self._history.pieces({turn: live[turn] for turn in spoken}) if spoken else []
        except (psycopg.Error, TimeoutError) as failure:
            log.warning("outbox.cannot_refill turns=%d cause=%s", len(turns), type(failure).__name__)
            self._behind.update(turns)
            return False
        for view in views:
            if view.state == "speaking":
                missing = [(seq, text) for turn, seq, text in pieces if turn == view.turn]
            else:
                missing = view.pieces_after(live[view.turn])
            await self._catch_up(view, missing)
        return True

    async def _catch_up(self, view: View, missing: list[tuple[int, str]]) -> None:
        cursor = self._cursors[view.turn]
        if missing:
            await self._open(view.turn, view.openings)
        for seq, text in missing:
            if self._is_full():
                self._behind.add(view.turn)
                return
            if seq == cursor.seq + 1:
                await self._words(view.turn, seq, text)
        if view.state != "speaking":
            await self._change(view)

    async def _open(self, turn: int, openings: tuple[dict[str, str], ...]) -> None:
        cursor = self._cursors[turn]
        if cursor.seq == 0:
            for opening in openings[cursor.openings :]:
                await self._send(frames.opening(turn, opening))
            cursor.openings = len(openings)

    async def _words(self, turn: int, seq: int, text: str) -> None:
        self._cursors[turn].seq = seq
        size = len(text.encode())
        self._unread.append((turn, seq, size))
        self._unread_bytes += size
        await self._send(frames.words(turn, seq, text))


def _ending(view: View) -> dict[str, Any]:
    return frames.ending(view.turn, view.state, view.seq, view.line, is_unread=view.is_unread)
