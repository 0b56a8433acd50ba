"""Stored, then shown: one flusher per process puts all turns' new words into one statement per tick.

A turn's first words do not wait for the tick. Words are handed to the watchers only after the commit.
"""

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg
import regex
from psycopg_pool import AsyncConnectionPool

from companion.turn_policy import TurnPolicy

log = logging.getLogger(__name__)

# Locks the live rows it writes for, so that a stop, a take-over or a sweep either sees these words or prevents
# them. A turn missing from what comes back is no longer this process's to speak for. Openings are given with a
# turn's first piece alone, and stored with it.
STORE = """
WITH piece AS (
    SELECT * FROM unnest(%(ids)s::bigint[], %(fences)s::int[], %(seqs)s::int[], %(texts)s::text[],
                         %(openings)s::text[])
                  AS p(id, fence, seq, text, openings)
),
live AS (
    SELECT t.id FROM companion_turn t JOIN piece ON piece.id = t.id AND piece.fence = t.fence
    WHERE t.owner = %(owner)s AND t.state = 'speaking'
    ORDER BY t.id FOR SHARE OF t
),
breathing AS (
    SELECT 1 FROM companion_process
    WHERE id = %(owner)s AND beat_at >= clock_timestamp() - make_interval(secs => %(lease_s)s)
),
begun AS (
    UPDATE companion_turn t SET openings = piece.openings::jsonb, first_word_at = clock_timestamp()
    FROM piece JOIN live ON live.id = piece.id CROSS JOIN breathing
    WHERE t.id = piece.id AND piece.openings IS NOT NULL
)
INSERT INTO companion_spoken (turn_id, seq, text)
SELECT piece.id, piece.seq, piece.text FROM piece JOIN live ON live.id = piece.id CROSS JOIN breathing
ON CONFLICT (turn_id, seq) DO UPDATE SET text = companion_spoken.text
RETURNING turn_id
"""

AFTER_TICK_S = 0.001
_LAST_GRAPHEMES = regex.compile(r"\X")


@dataclass(slots=True, eq=False)
class TurnBuffer:
    """One turn's way into the journal. Held by the task that drives the turn."""

    turn: int
    conversation: int
    fence: int
    openings: list[dict[str, str]] = field(default_factory=list)
    gathered: list[str] = field(default_factory=list)
    seq: int = 0
    """The last piece that is stored."""
    pieces: int = 0
    """The last piece that was cut, stored or not."""
    in_flight: str = ""
    ended: bool = False
    lost: bool = False
    settled: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredChunk:
    """Words that are stored and may be shown. `openings` is given with a turn's first piece."""

    turn: int
    conversation: int
    seq: int
    text: str
    openings: tuple[dict[str, str], ...] = ()


class Journal:
    """Stores what the turns of this process say, then passes it to `shown`; `lost` hears of turns taken away."""

    def __init__(
        self,
        pool: AsyncConnectionPool[Any],
        policy: TurnPolicy,
        *,
        process: UUID,
        shown: Callable[[StoredChunk], None],
        lost: Callable[[int], None],
    ) -> None:
        self._pool = pool
        self._policy = policy
        self._process = process
        self._shown = shown
        self._lost = lost
        self._fresh: dict[int, TurnBuffer] = {}
        self._wake = asyncio.Event()
        self._hurry = False

    def say(self, line: TurnBuffer, text: str) -> None:
        """Gather words; they are shown once stored."""
        if not line.lost:
            line.gathered.append(text)
            self._queue(line, hurry=line.pieces == 0)

    def drop(self, line: TurnBuffer) -> None:
        """The turn has been taken away: show nothing more of it."""
        line.lost = True
        line.gathered.clear()

    async def settle(self, line: TurnBuffer) -> bool:
        """Store everything gathered, the last grapheme too. False: the turn was lost or could not be stored."""
        line.ended = True
        if line.gathered and not line.lost:
            line.settled.clear()
            self._queue(line, hurry=True)
        elif not line.in_flight:
            line.settled.set()
        await line.settled.wait()
        return not line.lost

    def _queue(self, line: TurnBuffer, *, hurry: bool) -> None:
        self._fresh[line.turn] = line
        if hurry:
            self._hurry = True
        self._wake.set()

    async def run(self) -> None:
        """Flush until cancelled."""
        loop = asyncio.get_running_loop()
        due = 0.0
        while True:
            await self._wake.wait()
            while not self._hurry and (rest := due - loop.time()) > 0:
                self._wake.clear()
                try:
                    async with asyncio.timeout(rest):
                        await self._wake.wait()
                except TimeoutError:
                    break
            self._wake.clear()
            self._hurry = False
            due = _next_tick(loop.time(), self._policy.tick_s)
            lines, self._fresh = self._fresh, {}
            batch = [line for line in lines.values() if self._cut(line)]
            if batch:
                await self._flush(batch)

    def _cut(self, line: TurnBuffer) -> bool:
        if line.lost:
            line.settled.set()
            return False
        text = "".join(line.gathered)
        keep = 0 if line.ended else _open_end(text)
        if keep == len(text) and text:
            line.gathered = [text]
            return False
        line.gathered = [text[len(text) - keep :]] if keep else []
        line.in_flight = text[: len(text) - keep]
        if line.in_flight:
            line.pieces += 1
        return bool(line.in_flight)

    async def _flush(self, batch: list[TurnBuffer]) -> None:
        try:
            async with asyncio.timeout(self._policy.store_within_s):
                live = await self._store_with_patience(batch)
        except Exception as failure:
            # Whatever it was, nothing of it was shown; a turn that waited here for ever would be worse than a pause.
            log.warning("journal.unstored turns=%d cause=%s", len(batch), type(failure).__name__)
            live = set()
        for line in batch:
            text, line.in_flight = line.in_flight, ""
            if line.turn in live:
                first = line.seq == 0
                line.seq = line.pieces
                openings = tuple(line.openings) if first else ()
                self._shown(
                    StoredChunk(
                        turn=line.turn,
                        conversation=line.conversation,
                        seq=line.seq,
                        text=text,
                        openings=openings,
                    )
                )
            else:
                self.drop(line)
                self._lost(line.turn)
            if line.ended and not line.gathered:
                line.settled.set()

    async def _store_with_patience(self, batch: list[TurnBuffer]) -> set[int]:
        # Storing the same pieces again is harmless, so an unknown outcome is settled by asking again.
        wait_s = 0.05
        while True:
            try:
                return await self._store(batch)
            except psycopg.OperationalError:
                await self._pool.check()
                await asyncio.sleep(wait_s)
                wait_s = min(wait_s * 2, 0.5)

    async def _store(self, batch: list[TurnBuffer]) -> set[int]:
        facts = {
            "ids": [line.turn for line in batch],
            "fences": [line.fence for line in batch],
            "seqs": [line.pieces for line in batch],
            "texts": [line.in_flight for line in batch],
            "openings": [json.dumps(line.openings) if line.seq == 0 else None for line in batch],
            "owner": self._process,
            "lease_s": self._policy.lease_s,
        }
        async with self._pool.connection() as connection, connection.cursor() as cursor:
            await cursor.execute(STORE, facts)
            return {row[0] for row in await cursor.fetchall()}


def _next_tick(now: float, tick_s: float) -> float:
    """The turns read at the multiples of a tick; a moment later everything they have said is here."""
    return (now // tick_s + 1) * tick_s + AFTER_TICK_S


def _open_end(text: str) -> int:
    """How many code points at the end may still grow into another grapheme, and must wait for what follows."""
    # Nothing below U+0300 starts a cluster that the languages served here would continue: plain text never waits.
    if not text or ord(text[-1]) < 0x300:
        return 0
    clusters = _LAST_GRAPHEMES.findall(text[-64:])
    return len(clusters[-1]) if clusters else 0
