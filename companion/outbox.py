"""Sends each socket every chunk once and in order, and no more than the page acknowledges.

Chunks arrive from the journal of this process or from rows. A socket keeps a cursor for each turn: a chunk that
arrives twice is dropped, and a gap is filled from rows. While a page does not acknowledge, its chunks stay in rows
and not in memory.
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
from companion.history import History, TurnView
from companion.journal import StoredChunk
from companion.kept_questions import KeptQuestion
from companion.outbox_events import Event, KeptQuestionsRead, StaffPauseRead, TurnAccepted, WritingSeen
from companion.states import ENDED, Reason
from companion.supervision.entry_view import EntryView
from companion.supervision.states import EntryKind

log = logging.getLogger(__name__)

MAX_UNREAD_CHUNKS = 200
MAX_UNREAD_BYTES = 262_144
"""Limits of what is sent and not yet acknowledged."""
MAX_REWINDS = 20
"""Catch-ups that a page may ask for without acknowledging a chunk in between."""
_ENDED = frozenset(state.value for state in ENDED)


@dataclass(slots=True)
class TurnCursor:
    """How much of one turn a socket has been sent."""

    seq: int = 0
    openings: int = 0
    waiting: bool = False
    still_here: bool = False
    ended: bool = False


class Outbox:
    """Sends the frames of one socket. `send` takes one frame and is called by one task at a time.

    `is_page`: it is a page of the participant. A screen of staff that watches the conversation is none: it keeps no
    place in line, acknowledges nothing, and is not offered kept questions.
    """

    def __init__(
        self,
        send: Callable[[dict[str, Any]], Awaitable[None]],
        history: History,
        *,
        conversation: int,
        is_page: bool = True,
    ) -> None:
        self._send = send
        self._history = history
        self.conversation = conversation
        self.is_page = is_page
        self._cursors: dict[int, TurnCursor] = {}
        self.last_turn: int | None = None
        """All turns up to this one are known here. None before the start."""
        self._events: deque[Event] = deque()
        self.last_entry: int | None = None
        """The last entry that was sent or waits here; None before the start."""
        self._entries: deque[EntryView] = deque()
        # Turns whose next chunks are read from rows: something is missing, or the page has not acknowledged enough.
        self._behind: set[int] = set()
        self._pause_line = ""
        """The line about a pause by staff that the page shows."""
        self.kept_turns: tuple[int, ...] = ()
        """The turns whose kept questions the page has been sent."""
        # (turn, seq, bytes) of each chunk that is sent and not acknowledged, in the order of sending.
        self._unread: deque[tuple[int, int, int]] = deque()
        self._unread_bytes = 0
        self._rewinds = 0
        self._is_started = False
        self._is_closed = False
        self._task: asyncio.Task[None] | None = None

    def start(
        self,
        turns: Iterable[TurnView],
        kept: tuple[KeptQuestion, ...] = (),
        *,
        last_entry: int = 0,
        pause_line: str = "",
    ) -> None:
        """Start sending changes. The arguments are what the page has received in its `hello`."""
        self.last_entry = last_entry
        self._pause_line = pause_line
        self.kept_turns = tuple(question.turn for question in kept)
        self.last_turn = 0
        for view in turns:
            self.last_turn = max(self.last_turn, view.turn)
            self._cursors[view.turn] = TurnCursor(
                seq=view.seq,
                openings=len(view.openings),
                waiting=view.state == "waiting",
                still_here=view.state == "speaking" and bool(view.line),
                ended=view.state in _ENDED,
            )
        self._is_started = True
        self._start_sending()

    def enqueue(self, event: Event) -> None:
        """Add an event of this socket's conversation. Chunks beyond the limits are dropped and read from rows later."""
        if isinstance(event, EntryView):
            if self.last_entry is None or event.entry <= self.last_entry:
                return
            self.last_entry = event.entry
        # Read before `hello` was, perhaps. It is published again.
        if isinstance(event, StaffPauseRead) and not self._is_started:
            return
        if isinstance(event, StoredChunk) and (self._is_full() or event.turn in self._behind):
            self._behind.add(event.turn)
            return
        self._events.append(event)
        self._start_sending()

    def acknowledge(self, turn: int, seq: int) -> None:
        """Note that the page has shown everything up to this chunk, which makes room for more."""
        if not any(sent == turn and sent_seq <= seq for sent, sent_seq, _ in self._unread):
            return
        # Frames arrive in order: what was sent before this chunk, of any turn, has arrived too.
        self._rewinds = 0
        while self._unread:
            sent, sent_seq, size = self._unread[0]
            if sent == turn and sent_seq > seq:
                break
            self._unread.popleft()
            self._unread_bytes -= size
            if sent == turn and sent_seq == seq:
                break
        self._start_sending()

    def rewind(self, view: TurnView, after: int) -> bool:
        """Send a turn again from chunk `after` on. False: the page has asked too often without acknowledging."""
        # Counted while its chunks are unacknowledged: each catch-up sends them again, and needs a limit.
        self._rewinds += any(sent == view.turn for sent, _, _ in self._unread)
        if self._rewinds > MAX_REWINDS:
            return False
        cursor = self._cursors.setdefault(view.turn, TurnCursor())
        # A page may name any number.
        cursor.seq = min(after, view.seq)
        cursor.openings = 0 if cursor.seq == 0 else len(view.openings)
        cursor.ended = cursor.waiting = cursor.still_here = False
        self._unread = deque(entry for entry in self._unread if entry[0] != view.turn)
        self._unread_bytes = sum(size for _, _, size in self._unread)
        self._behind.add(view.turn)
        self._start_sending()
        return True

    def rewind_entries(self, after: int) -> None:
        """Send the entries after this one again, once they are read."""
        self.last_entry = after
        self._entries.clear()
        self._events = deque(event for event in self._events if not isinstance(event, EntryView))

    def retry(self) -> None:
        """Continue after rows could not be read."""
        if self._entries:
            self._behind.update(self._turns_before(self._entries[0]))
        self._start_sending()

    async def flush(self) -> None:
        """Wait until every event that was added is sent."""
        while self._task is not None and not self._task.done():
            await asyncio.wait([self._task])

    def close(self) -> None:
        """Send nothing more."""
        self._is_closed = True
        self._events.clear()
        self._entries.clear()
        self._behind.clear()

    def last_shown(self, turn: int) -> int | None:
        """Return the last chunk of a turn that was sent; None if it has ended or is to be read from rows."""
        cursor = self._cursors.get(turn)
        if cursor is None:
            return 0
        return None if cursor.ended or turn in self._behind else cursor.seq

    def open_turns(self) -> list[int]:
        """Return the turns of which this socket has not been sent the end."""
        return [turn for turn, cursor in self._cursors.items() if not cursor.ended]

    def _is_full(self) -> bool:
        return len(self._unread) >= MAX_UNREAD_CHUNKS or self._unread_bytes >= MAX_UNREAD_BYTES

    def _start_sending(self) -> None:
        # One task sends, so frames keep their order. A full outbox is started again by the next acknowledgement.
        has_work = self._events or (self._behind and not self._is_full())
        if (
            self._is_started
            and not self._is_closed
            and has_work
            and (self._task is None or self._task.done())
        ):
            self._task = asyncio.create_task(self._drain())

    async def _drain(self) -> None:
        while not self._is_closed:
            if self._events:
                event = self._events.popleft()
                match event:
                    case TurnAccepted():
                        await self._send_accepted(event.turn, event.key)
                    case StoredChunk():
                        await self._send_stored(event)
                    case TurnView():
                        await self._send_state(event)
                    case KeptQuestionsRead():
                        await self._send_kept(event)
                    case WritingSeen():
                        await self._send_writing(event)
                    case StaffPauseRead():
                        await self._send_pause(event)
                    case EntryView():
                        self._entries.append(event)
                        if len(self._entries) == 1:
                            self._behind.update(self._turns_before(event))
                await self._send_entries()
            elif self._behind and not self._is_full():
                if not await self._refill():
                    return
            else:
                return

    async def _send_accepted(self, turn: int, key: UUID) -> None:
        if turn not in self._cursors:
            self._cursors[turn] = TurnCursor()
            await self._send(frames.accepted(key, turn))

    async def _send_stored(self, chunk: StoredChunk) -> None:
        cursor = self._cursors.setdefault(chunk.turn, TurnCursor())
        if cursor.ended or chunk.seq <= cursor.seq:
            return
        if chunk.seq != cursor.seq + 1 or chunk.turn in self._behind or self._is_full():
            self._behind.add(chunk.turn)
            return
        await self._send_openings(chunk.turn, chunk.openings)
        await self._send_chunk(chunk.turn, chunk.seq, chunk.text)

    async def _send_state(self, view: TurnView) -> None:
        # A turn of another tab or process may be known here by its state first.
        await self._send_accepted(view.turn, view.key)
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
            await self._send_ending(view, cursor)

    async def _send_entries(self) -> None:
        """Send the entries in their order, each once the turns before it are."""
        while self._entries and not self._turns_before(self._entries[0]):
            entry = self._entries.popleft()
            await self._send(frames.entry(entry))
            if self._entries:
                self._behind.update(self._turns_before(self._entries[0]))

    def _turns_before(self, entry: EntryView) -> set[int]:
        """Return the turns that must be sent before this entry, and are not yet.

        That is the turn after which it stands. No turn is live when a person joins, so `person` comes after the end of
        every turn before it: no words follow it.
        """
        turns = {entry.after_turn} - self._cursors.keys() - {0}
        if entry.kind == EntryKind.JOINS:
            turns.update(turn for turn in self.open_turns() if turn <= entry.after_turn)
        return turns

    async def _send_writing(self, event: WritingSeen) -> None:
        if event.line and self.is_page:
            await self._send(frames.person_writing(event.line))
        elif not event.line and not self.is_page:
            await self._send(frames.writing())

    async def _send_pause(self, event: StaffPauseRead) -> None:
        line = event.line if event.is_paused else ""
        if self.is_page and line != self._pause_line:
            self._pause_line = line
            await self._send(frames.staff_pause(event.line, is_paused=event.is_paused))

    async def _send_kept(self, event: KeptQuestionsRead) -> None:
        turns = tuple(question.turn for question in event.questions)
        if not self.is_page:
            return
        if event.asked or turns != self.kept_turns:
            self.kept_turns = turns
            await self._send(frames.kept([question.to_offer() for question in event.questions]))

    async def _send_ending(self, view: TurnView, cursor: TurnCursor) -> None:
        # A paused turn is closed by its last frame alone: a half answer is never sent again.
        shows_reply = view.state in {"complete", "stopped"} or (
            view.state == "handed_over" and view.reason == Reason.PERSON
        )
        if shows_reply and (cursor.seq < view.seq or view.turn in self._behind):
            self._behind.add(view.turn)
            return
        self._behind.discard(view.turn)
        cursor.ended = True
        await self._send(_ending_frame(view))

    async def _refill(self) -> bool:
        """Send from rows what is missing of every turn that fell behind. False: the rows cannot be read now."""
        # Emptied before the reads: a turn that falls behind during them is read again.
        turns, self._behind = sorted(self._behind), set()
        try:
            views = [
                view
                for view in await self._history.read_turns(turns)
                if view.conversation == self.conversation
            ]
            for view in views:
                await self._send_accepted(view.turn, view.key)
            live = {view.turn: self._cursors[view.turn].seq for view in views}
            # A turn that closes before its chunks are read has none left. Its ending finds the gap and fills it.
            spoken = [view.turn for view in views if view.state == "speaking"]
            chunks = await self._history.read_chunks({turn: live[turn] for turn in spoken}) if spoken else []
        except (psycopg.Error, TimeoutError) as failure:
            log.warning("outbox.cannot_refill turns=%d cause=%s", len(turns), type(failure).__name__)
            self._behind.update(turns)
            return False
        for erased in set(turns) - live.keys():
            self._cursors.setdefault(erased, TurnCursor()).ended = True
        for view in views:
            if view.state == "speaking":
                missing = [(seq, text) for turn, seq, text in chunks if turn == view.turn]
            else:
                missing = view.chunks_after(live[view.turn])
            await self._send_missing(view, missing)
        await self._send_entries()
        return True

    async def _send_missing(self, view: TurnView, missing: list[tuple[int, str]]) -> None:
        cursor = self._cursors[view.turn]
        if missing:
            await self._send_openings(view.turn, view.openings)
        for seq, text in missing:
            if self._is_full():
                self._behind.add(view.turn)
                return
            # A rewind during a send moves the cursor. The turn is behind then, and its rows are read again.
            if seq == cursor.seq + 1:
                await self._send_chunk(view.turn, seq, text)
        if view.state != "speaking":
            await self._send_state(view)

    async def _send_openings(self, turn: int, openings: tuple[dict[str, str], ...]) -> None:
        cursor = self._cursors[turn]
        if cursor.seq == 0:
            for opening in openings[cursor.openings :]:
                await self._send(frames.opening(turn, opening))
            cursor.openings = len(openings)

    async def _send_chunk(self, turn: int, seq: int, text: str) -> None:
        # Counted before the send, which may wait for the network: its acknowledgement must find it.
        self._cursors[turn].seq = seq
        if self.is_page:
            size = len(text.encode())
            self._unread.append((turn, seq, size))
            self._unread_bytes += size
        await self._send(frames.words(turn, seq, text))


def _ending_frame(view: TurnView) -> dict[str, Any]:
    match view.state:
        case "safety":
            return frames.safety(view.turn, view.line)
        case "handed_over" if view.reason == Reason.QUIET:
            return frames.held(view.turn, view.line)
        case "handed_over":
            return frames.handed_over(view.turn, view.seq)
    return frames.ending(
        view.turn, view.state, view.seq, view.line, is_unread=view.is_unread, kind=view.line_kind
    )
