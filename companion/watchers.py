"""Publishes what happens in conversations to the sockets that watch them on this process.

Turns that another process drives are read from rows: all of them in one query, every 250 ms and at each notification.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from uuid import UUID

import psycopg

from companion.history import History, TurnView
from companion.journal import StoredChunk
from companion.outbox import Outbox
from companion.outbox_events import Event, KeptQuestionsRead, StaffPauseRead, TurnAccepted, WritingSeen
from companion.states import LIVE
from companion.supervision.entries import MAX_ENTRIES_READ
from companion.supervision.entry_view import EntryView, entries_to_show

log = logging.getLogger(__name__)

POLL_S = 0.25
CLOCK_SKEW_S = 0.05
"""Added to a timer of this process whose moment the database's clock decides."""
_LIVE = frozenset(state.value for state in LIVE)


@dataclass(slots=True)
class _Due:
    """What is to be read again: turns, and conversations of which something may have changed."""

    changed: set[int] = field(default_factory=set)
    """Turns."""
    opened: set[int] = field(default_factory=set)
    """Conversations of which another process may have opened a turn unheard."""
    entries: set[int] = field(default_factory=set)
    kept: set[int] = field(default_factory=set)

    def add(self, other: "_Due") -> None:
        self.changed |= other.changed
        self.opened |= other.opened
        self.entries |= other.entries
        self.kept |= other.kept


class Watchers:
    """The open sockets of this process, by conversation."""

    def __init__(self, history: History, *, process: UUID) -> None:
        self._history = history
        self._process = process
        self._outboxes: dict[int, set[Outbox]] = defaultdict(set)
        # Turns that other processes drive, with their conversations.
        self._remote: dict[int, int] = {}
        self._due = _Due()
        self._wake = asyncio.Event()

    def __len__(self) -> int:
        return sum(len(outboxes) for outboxes in self._outboxes.values())

    @property
    def conversations(self) -> list[int]:
        """The conversations with a page of their participant open here."""
        return [
            conversation
            for conversation, outboxes in self._outboxes.items()
            if any(outbox.is_page for outbox in outboxes)
        ]

    def watch(self, outbox: Outbox) -> None:
        """Publish the conversation of `outbox` to it. Subscribe before reading, so that no change is missed."""
        self._outboxes[outbox.conversation].add(outbox)

    def unwatch(self, outbox: Outbox) -> None:
        """Stop publishing to `outbox` and close it."""
        outbox.close()
        outboxes = self._outboxes.get(outbox.conversation)
        if outboxes is not None:
            outboxes.discard(outbox)
            if not outboxes:
                del self._outboxes[outbox.conversation]

    def publish_chunk(self, chunk: StoredChunk) -> None:
        """Publish a stored chunk of a reply."""
        self._publish(chunk.conversation, chunk)

    def publish_accepted(self, accepted: TurnAccepted) -> None:
        """Publish that a message is stored as a turn."""
        self._publish(accepted.conversation, accepted)

    def publish_writing(self, writing: WritingSeen) -> None:
        """Publish that one of the two sides of a conversation is typing."""
        self._publish(writing.conversation, writing)

    def publish_pause(self, read: StaffPauseRead) -> None:
        """Publish whether staff have paused the companion in a conversation."""
        self._publish(read.conversation, read)

    def is_watched(self, conversation: int) -> bool:
        """Whether any socket here shows this conversation."""
        return conversation in self._outboxes

    def _publish(self, conversation: int, event: Event) -> None:
        for outbox in tuple(self._outboxes.get(conversation, ())):
            outbox.enqueue(event)

    def mark_changed(self, turns: Iterable[tuple[int, int]]) -> None:
        """Read these (turn, conversation) again, if they are watched.

        Other open turns of the same conversation are read too: one may start to wait when an earlier one ends.
        """
        for turn, conversation in turns:
            if outboxes := self._outboxes.get(conversation):
                self._due.changed.update((turn,), *(outbox.open_turns() for outbox in outboxes))
                self._wake.set()

    def mark_kept_changed(self, conversations: Iterable[int]) -> None:
        """Read the kept questions of these conversations again, if they are watched."""
        if watched := self._outboxes.keys() & set(conversations):
            self._due.kept |= watched
            self._wake.set()

    def mark_entries_changed(self, conversations: Iterable[int]) -> None:
        """Read the new entries of these conversations, if they are watched, and their open turns before them."""
        for conversation in conversations:
            if outboxes := self._outboxes.get(conversation):
                self._due.entries.add(conversation)
                self._due.changed.update(*(outbox.open_turns() for outbox in outboxes))
                self._wake.set()

    def mark_changed_later(self, delay_s: float, turns: Iterable[tuple[int, int]]) -> asyncio.TimerHandle:
        """Call `mark_changed` once the database's clock has gone on by `delay_s` seconds."""
        loop = asyncio.get_running_loop()
        return loop.call_later(delay_s + CLOCK_SKEW_S, self.mark_changed, list(turns))

    def follow(self, views: Iterable[TurnView]) -> None:
        """Poll those of these turns that are live and driven by another process."""
        for view in views:
            if view.state in _LIVE and view.owner != self._process and view.turn not in self._remote:
                self._remote[view.turn] = view.conversation
                self._wake.set()

    def refresh(self) -> None:
        """Read again what a lost notification would have said: new turns and entries, and the end of each open turn."""
        for outboxes in self._outboxes.values():
            for outbox in outboxes:
                outbox.retry()
                self._due.changed.update(outbox.open_turns())
        self._due.entries.update(self._outboxes)
        self._due.opened.update(self._outboxes)
        self._wake.set()

    async def flush(self) -> None:
        """Send every socket the ends of its turns, and wait until they are sent. Raises psycopg.Error."""
        self.refresh()
        due, self._due = self._due, _Due()
        await self._read(due)
        outboxes = [outbox for group in self._outboxes.values() for outbox in group]
        await asyncio.gather(*(outbox.flush() for outbox in outboxes))

    async def run(self) -> None:
        """Read changed turns, and poll those of other processes, until cancelled."""
        while True:
            if not self._remote:
                await self._wake.wait()
            else:
                try:
                    async with asyncio.timeout(POLL_S):
                        await self._wake.wait()
                except TimeoutError:
                    pass
            self._wake.clear()
            due, self._due = self._due, _Due()
            try:
                await self._read(due)
            except (psycopg.Error, TimeoutError) as failure:
                turns = len(due.changed)
                log.warning("watchers.cannot_read turns=%d cause=%s", turns, type(failure).__name__)
                # Read again after a pause: a page would otherwise miss an ending for good.
                self._due.add(due)
                await asyncio.sleep(POLL_S)
                self._wake.set()

    async def _read(self, due: _Due) -> None:
        await self._find_opened(due)
        await self._read_changed(due.changed)
        await self._read_entries(due.entries)
        await self._read_kept(due.kept)

    async def _find_opened(self, due: _Due) -> None:
        """Add the turns that a socket may not know to those that are to be read.

        Also if it knows a newer one: the notification of an earlier one may be lost.
        """
        after = self._find_last_known(due.opened, lambda outbox: outbox.last_turn)
        if not after:
            return
        for conversation, turn in await self._history.find_newer(after):
            due.changed.add(turn)
            for outbox in self._outboxes.get(conversation, ()):
                if outbox.last_turn is not None:
                    outbox.last_turn = max(outbox.last_turn, turn)

    def _find_last_known(
        self, conversations: Iterable[int], last_known: Callable[[Outbox], int | None]
    ) -> dict[int, int]:
        """From where to read for the socket that knows least: the others drop what they know.

        `last_known` is None for a socket that has not started.
        """
        known = {
            conversation: [
                last
                for outbox in self._outboxes.get(conversation, ())
                if (last := last_known(outbox)) is not None
            ]
            for conversation in conversations
        }
        return {conversation: min(lasts) for conversation, lasts in known.items() if lasts}

    async def _read_changed(self, changed: set[int]) -> None:
        self._remote = {
            turn: conversation
            for turn, conversation in self._remote.items()
            if conversation in self._outboxes
        }
        # One query for both, however many turns there are.
        turns = changed | self._remote.keys()
        if not turns:
            return
        views = await self._history.read_states(sorted(turns))
        self.follow(views)
        for view in views:
            if view.state not in _LIVE:
                self._remote.pop(view.turn, None)
            self._publish(view.conversation, view)
        await self._publish_remote_chunks([view for view in views if view.turn in self._remote])

    async def _read_entries(self, conversations: set[int]) -> None:
        """Publish the entries of these conversations that a socket was not sent."""
        after = self._find_last_known(conversations, lambda outbox: outbox.last_entry)
        if not after:
            return
        by_conversation: dict[int, list[EntryView]] = defaultdict(list)
        for entry in await self._history.read_entries(after):
            by_conversation[entry.conversation].append(entry)
        for conversation, entries in by_conversation.items():
            for entry in entries_to_show(entries):
                self._publish(conversation, entry)
            if wait_s := max(entry.wait_s for entry in entries):
                loop = asyncio.get_running_loop()
                loop.call_later(wait_s + CLOCK_SKEW_S, self.mark_entries_changed, [conversation])
            elif len(entries) == MAX_ENTRIES_READ:
                self.mark_entries_changed([conversation])

    async def _read_kept(self, conversations: set[int]) -> None:
        """Publish the kept questions of conversations in which a socket was sent other ones."""
        if not conversations:
            return
        turns = await self._history.read_kept_turns(sorted(conversations))
        stale = [
            conversation
            for conversation in conversations
            if any(
                outbox.kept_turns != turns.get(conversation, ())
                for outbox in self._outboxes.get(conversation, ())
            )
        ]
        questions_of = await asyncio.gather(
            *(self._history.read_kept(conversation) for conversation in stale)
        )
        for conversation, questions in zip(stale, questions_of, strict=True):
            self._publish(conversation, KeptQuestionsRead(questions=questions))

    async def _publish_remote_chunks(self, views: list[TurnView]) -> None:
        """Publish new chunks of turns that another process drives."""
        shown: dict[int, int] = {}
        by_turn = {view.turn: view for view in views if view.state == "speaking"}
        for view in by_turn.values():
            sent = [outbox.last_shown(view.turn) for outbox in self._outboxes.get(view.conversation, ())]
            known = [seq for seq in sent if seq is not None]
            # From the slowest socket on: the others drop what they have been sent.
            if known and min(known) < view.seq:
                shown[view.turn] = min(known)
        if not shown:
            return
        for turn, seq, text in await self._history.read_chunks(shown):
            view = by_turn[turn]
            self.publish_chunk(
                StoredChunk(
                    turn=turn,
                    conversation=view.conversation,
                    seq=seq,
                    text=text,
                    openings=view.openings if seq == 1 else (),
                )
            )
