"""Who watches which conversation on this process, and how they hear of what happens to it.

A turn that another process drives is read from rows: all such turns in one query, every 250 ms and at each ring.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterable
from uuid import UUID

import psycopg

from companion.history import History, View
from companion.journal import StoredChunk
from companion.outbox import Accepted, KeptQuestions, Outbox
from companion.states import LIVE

log = logging.getLogger(__name__)

POLL_S = 0.25
_LIVE = frozenset(state.value for state in LIVE)


class Watchers:
    """The open sockets of this process, by conversation."""

    def __init__(self, history: History, *, process: UUID) -> None:
        self._history = history
        self._process = process
        self._outboxes: dict[int, set[Outbox]] = defaultdict(set)
        self._elsewhere: dict[int, int] = {}
        self._changed: set[int] = set()
        self._kept: set[int] = set()
        self._wake = asyncio.Event()

    def __len__(self) -> int:
        return sum(len(outboxes) for outboxes in self._outboxes.values())

    @property
    def conversations(self) -> list[int]:
        """The conversations with a page open here."""
        return list(self._outboxes)

    def watch(self, outbox: Outbox) -> None:
        """From now on `outbox` hears of its conversation. Subscribe first, then read."""
        self._outboxes[outbox.conversation].add(outbox)

    def leave(self, outbox: Outbox) -> None:
        """`outbox` hears no more."""
        outbox.close()
        outboxes = self._outboxes.get(outbox.conversation)
        if outboxes is not None:
            outboxes.discard(outbox)
            if not outboxes:
                del self._outboxes[outbox.conversation]

    def said(self, said: StoredChunk) -> None:
        """Words of a turn of this process are stored."""
        self._offer(said.conversation, said)

    def accepted(self, accepted: Accepted) -> None:
        """A message is stored as a turn of this process."""
        self._offer(accepted.conversation, accepted)

    def _offer(self, conversation: int, event: Accepted | StoredChunk | View | KeptQuestions) -> None:
        for outbox in tuple(self._outboxes.get(conversation, ())):
            outbox.offer(event)

    def changed(self, turns: Iterable[tuple[int, int]]) -> None:
        """These (turn, conversation) have changed, here or elsewhere; those that are watched are read again.

        So is what else is open in the same conversation: its own wait may begin where an earlier turn ends.
        """
        for turn, conversation in turns:
            if outboxes := self._outboxes.get(conversation):
                self._changed.update((turn,), *(outbox.unended() for outbox in outboxes))
                self._wake.set()

    def kept_changed(self, conversations: Iterable[int]) -> None:
        """The kept questions of these conversations may have changed: those that are watched are read again."""
        if mine := self._outboxes.keys() & set(conversations):
            self._kept |= mine
            self._wake.set()

    def saw(self, views: Iterable[View]) -> None:
        """A socket has just read these turns: follow the live ones that another process drives."""
        for view in views:
            if view.state in _LIVE and view.owner != self._process and view.turn not in self._elsewhere:
                self._elsewhere[view.turn] = view.conversation
                self._wake.set()

    def refresh(self) -> None:
        """Read every turn again whose end a socket still waits for: a bell may have been lost, or an owner died."""
        for outboxes in self._outboxes.values():
            for outbox in outboxes:
                outbox.nudge()
                self._changed.update(outbox.unended())
        self._wake.set()

    async def settle(self) -> None:
        """Show every socket the end of what has ended, and wait until that is on its way. Raises psycopg.Error."""
        self.refresh()
        changed, self._changed = self._changed, set()
        await self._read(changed)
        outboxes = [outbox for group in self._outboxes.values() for outbox in group]
        await asyncio.gather(*(outbox.settle() for outbox in outboxes))

    async def run(self) -> None:
        """Read what changed, and follow turns elsewhere, until cancelled."""
        while True:
            if not self._elsewhere:
                await self._wake.wait()
            else:
                try:
                    async with asyncio.timeout(POLL_S):
                        await self._wake.wait()
                except TimeoutError:
                    pass
            self._wake.clear()
            changed, self._changed = self._changed, set()
            kept, self._kept = self._kept, set()
            try:
                await self._read(changed)
                await self._read_kept(kept)
            except (psycopg.Error, TimeoutError) as failure:
                log.warning("watchers.cannot_read turns=%d cause=%s", len(changed), type(failure).__name__)
                self._changed |= changed
                self._kept |= kept
                await asyncio.sleep(POLL_S)
                self._wake.set()

    async def _read(self, changed: set[int]) -> None:
        self._elsewhere = {
            turn: conversation
            for turn, conversation in self._elsewhere.items()
            if conversation in self._outboxes
        }
        turns = changed | self._elsewhere.keys()
        if not turns:
            return
        views = await self._history.standing(sorted(turns))
        self.saw(views)
        for view in views:
            if view.state not in _LIVE:
                self._elsewhere.pop(view.turn, None)
            self._offer(view.conversation, view)
        await self._follow([view for view in views if view.turn in self._elsewhere])

    async def _read_kept(self, conversations: set[int]) -> None:
        """Tell each socket of the kept questions it was not told of, and of those that are kept no more."""
        if not conversations:
            return
        turns = await self._history.kept_turns(sorted(conversations))
        stale = [
            conversation
            for conversation in conversations
            if any(
                outbox.kept != turns.get(conversation, ()) for outbox in self._outboxes.get(conversation, ())
            )
        ]
        found = await asyncio.gather(*(self._history.kept(conversation) for conversation in stale))
        for conversation, questions in zip(stale, found, strict=True):
            self._offer(conversation, KeptQuestions(questions=questions))

    async def _follow(self, views: list[View]) -> None:
        """Pass on the new words of turns that another process drives."""
        floors: dict[int, int] = {}
        by_turn = {view.turn: view for view in views if view.state == "speaking"}
        for view in by_turn.values():
            seen = [outbox.floor(view.turn) for outbox in self._outboxes.get(view.conversation, ())]
            known = [floor for floor in seen if floor is not None]
            if known and min(known) < view.seq:
                floors[view.turn] = min(known)
        if not floors:
            return
        for turn, seq, text in await self._history.pieces(floors):
            view = by_turn[turn]
            self.said(
                StoredChunk(
                    turn=turn,
                    conversation=view.conversation,
                    seq=seq,
                    text=text,
                    openings=view.openings if seq == 1 else (),
                )
            )
