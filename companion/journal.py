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

# Locks the live rows that it writes for, so that a stop, a take-over or a sweep either sees these words or prevents
# them. A turn that is missing from the result does not belong to this process any more. Openings are stored with the
# first chunk of a turn.
# `owner_alive`: a process whose lease has run out stores nothing, even before a sweep has ended its turns.
# `DO UPDATE` returns the row of a repeated chunk. `DO NOTHING` would return none, and its turn would count as lost.
STORE = """
WITH chunk AS (
    SELECT * FROM unnest(%(ids)s::bigint[], %(fences)s::int[], %(seqs)s::int[], %(texts)s::text[],
                         %(openings)s::text[])
                  AS c(id, fence, seq, text, openings)
),
live AS (
    SELECT t.id FROM companion_turn t JOIN chunk ON chunk.id = t.id AND chunk.fence = t.fence
    WHERE t.owner = %(owner)s AND t.state = 'speaking'
    ORDER BY t.id FOR SHARE OF t
),
owner_alive AS (
    SELECT 1 FROM companion_process
    WHERE id = %(owner)s AND beat_at >= clock_timestamp() - make_interval(secs => %(lease_s)s)
),
first_chunk AS (
    UPDATE companion_turn t SET openings = chunk.openings::jsonb, first_word_at = clock_timestamp()
    FROM chunk JOIN live ON live.id = chunk.id CROSS JOIN owner_alive
    WHERE t.id = chunk.id AND chunk.openings IS NOT NULL
)
INSERT INTO companion_replychunk (turn_id, seq, text)
SELECT chunk.id, chunk.seq, chunk.text FROM chunk JOIN live ON live.id = chunk.id CROSS JOIN owner_alive
ON CONFLICT (turn_id, seq) DO UPDATE SET text = companion_replychunk.text
RETURNING turn_id
"""

# Removes the chunk after the gap, so that a reply ends in the record where the gap begins.
FIND_INCOMPLETE = """
WITH incomplete AS (
    SELECT c.id, c.seq FROM unnest(%(ids)s::bigint[], %(seqs)s::int[]) AS c(id, seq)
    WHERE (SELECT count(*) FROM companion_replychunk s WHERE s.turn_id = c.id) < c.seq
),
removed AS (
    DELETE FROM companion_replychunk s USING incomplete i WHERE s.turn_id = i.id AND s.seq = i.seq
)
SELECT id FROM incomplete
"""

AFTER_TICK_S = 0.001
_GRAPHEME = regex.compile(r"\X")


@dataclass(slots=True, eq=False)
class TurnBuffer:
    """The words of one turn that are not stored yet. The task that drives the turn holds it."""

    turn: int
    conversation: int
    fence: int
    openings: list[dict[str, str]] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)
    seq: int = 0
    """Seq of the last chunk that is stored."""
    cut_seq: int = 0
    """Seq of the last chunk that was cut, stored or not."""
    chunk: str = ""
    moves: int = 0
    """How often the database had moved to another server when all chunks of this turn were known to be there."""
    is_finished: bool = False
    is_lost: bool = False
    flushed: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredChunk:
    """One chunk of a reply that is stored and may be shown. `openings` comes with the first chunk of a turn."""

    turn: int
    conversation: int
    seq: int
    text: str
    openings: tuple[dict[str, str], ...] = ()


class Journal:
    """Stores the words of the turns of this process, then calls `on_stored` with each chunk.

    `on_lost` is called with a turn whose words could not be stored, or that this process no longer owns. `moves` counts
    how often the database has moved to another server.
    """

    def __init__(
        self,
        pool: AsyncConnectionPool[Any],
        policy: TurnPolicy,
        *,
        process: UUID,
        on_stored: Callable[[StoredChunk], None],
        on_lost: Callable[[int], None],
        moves: Callable[[], int] = int,
    ) -> None:
        self._pool = pool
        self._policy = policy
        self._process = process
        self._on_stored = on_stored
        self._on_lost = on_lost
        self._moves = moves
        self._queued: dict[int, TurnBuffer] = {}
        self._wake = asyncio.Event()
        # The first and the last words of a turn do not wait for the tick.
        self._hurry = False

    def append(self, buffer: TurnBuffer, text: str) -> None:
        """Add words. They are shown once they are stored."""
        if not buffer.is_lost:
            buffer.pending.append(text)
            self._queue(buffer, hurry=buffer.cut_seq == 0)

    def discard(self, buffer: TurnBuffer) -> None:
        """Show nothing more of a turn that this process has lost."""
        buffer.is_lost = True
        buffer.pending.clear()

    async def finish(self, buffer: TurnBuffer) -> bool:
        """Store all pending words with the last grapheme. False: the turn was lost or its words could not be stored."""
        buffer.is_finished = True
        if buffer.pending and not buffer.is_lost:
            buffer.flushed.clear()
            self._queue(buffer, hurry=True)
        # With a chunk in the running flush, that flush sets the event.
        elif not buffer.chunk:
            buffer.flushed.set()
        await buffer.flushed.wait()
        return not buffer.is_lost

    def _queue(self, buffer: TurnBuffer, *, hurry: bool) -> None:
        self._queued[buffer.turn] = buffer
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
            # Words that arrive during the flush wait for the next one: one flush at a time keeps `seq` without gaps.
            buffers, self._queued = self._queued, {}
            batch = [buffer for buffer in buffers.values() if self._cut(buffer)]
            if batch:
                await self._flush(batch)

    def _cut(self, buffer: TurnBuffer) -> bool:
        if buffer.is_lost:
            buffer.flushed.set()
            return False
        text = "".join(buffer.pending)
        keep = 0 if buffer.is_finished else _count_open_end(text)
        # All of it may belong to a grapheme that the next words complete.
        if keep == len(text) and text:
            buffer.pending = [text]
            return False
        buffer.pending = [text[len(text) - keep :]] if keep else []
        buffer.chunk = text[: len(text) - keep]
        if buffer.chunk:
            buffer.cut_seq += 1
        return bool(buffer.chunk)

    async def _flush(self, batch: list[TurnBuffer]) -> None:
        try:
            async with asyncio.timeout(self._policy.store_within_s):
                live = await self._store_with_retry(batch)
        except Exception as failure:
            # Nothing of the batch was shown. After any error its turns pause: they must not wait for ever.
            log.warning("journal.unstored turns=%d cause=%s", len(batch), type(failure).__name__)
            live = set()
        for buffer in batch:
            text, buffer.chunk = buffer.chunk, ""
            if buffer.turn in live:
                first = buffer.seq == 0
                buffer.seq = buffer.cut_seq
                openings = tuple(buffer.openings) if first else ()
                self._on_stored(
                    StoredChunk(
                        turn=buffer.turn,
                        conversation=buffer.conversation,
                        seq=buffer.seq,
                        text=text,
                        openings=openings,
                    )
                )
            else:
                self.discard(buffer)
                self._on_lost(buffer.turn)
            if buffer.is_finished and not buffer.pending:
                buffer.flushed.set()

    async def _store_with_retry(self, batch: list[TurnBuffer]) -> set[int]:
        # Storing a chunk twice is harmless, so a commit of unknown outcome is simply repeated.
        wait_s = 0.05
        while True:
            try:
                live = await self._store(batch)
                # Read after the commit: it may have been the first statement on the other server.
                if moves := self._moves():
                    live -= await self._find_incomplete(batch, moves)
                return live
            except (psycopg.OperationalError, psycopg.errors.ReadOnlySqlTransaction):
                # Replaces the pool's connections to a server that has restarted, for the next try. One that has become
                # read-only is left for its successor.
                await self._pool.check()
                await asyncio.sleep(wait_s)
                wait_s = min(wait_s * 2, 0.5)

    async def _find_incomplete(self, batch: list[TurnBuffer], moves: int) -> set[int]:
        """The turns of which the server lacks a chunk, as an asynchronous standby may."""
        unsure = [buffer for buffer in batch if buffer.moves != moves and buffer.seq > 0]
        incomplete: set[int] = set()
        if unsure:
            parameters = {
                "ids": [buffer.turn for buffer in unsure],
                "seqs": [buffer.cut_seq for buffer in unsure],
            }
            async with self._pool.connection() as connection:
                found = await connection.execute(FIND_INCOMPLETE, parameters)
                incomplete = {row[0] for row in await found.fetchall()}
        for buffer in batch:
            buffer.moves = moves
        return incomplete

    async def _store(self, batch: list[TurnBuffer]) -> set[int]:
        parameters = {
            "ids": [buffer.turn for buffer in batch],
            "fences": [buffer.fence for buffer in batch],
            "seqs": [buffer.cut_seq for buffer in batch],
            "texts": [buffer.chunk for buffer in batch],
            "openings": [json.dumps(buffer.openings) if buffer.seq == 0 else None for buffer in batch],
            "owner": self._process,
            "lease_s": self._policy.lease_s,
        }
        async with self._pool.connection() as connection, connection.cursor() as cursor:
            await cursor.execute(STORE, parameters)
            return {row[0] for row in await cursor.fetchall()}


def _next_tick(now: float, tick_s: float) -> float:
    """Just after the next multiple of the tick: callers read their providers at the multiples."""
    return (now // tick_s + 1) * tick_s + AFTER_TICK_S


def _count_open_end(text: str) -> int:
    """Count the code points at the end that the next words may extend to another grapheme: they must wait."""
    # In the languages served here no grapheme that starts below U+0300 is extended, so plain text never waits.
    if not text or ord(text[-1]) < 0x300:
        return 0
    # Bounded: no grapheme of a language is this long, and a made-up one may be cut.
    clusters = _GRAPHEME.findall(text[-64:])
    return len(clusters[-1]) if clusters else 0
