"""Reads a conversation as its participant may see it: one query serves pages, sockets and exports.

No read returns a half answer: a paused turn shows its question and its drafted line, and no chunk of its reply.
A turn whose owner's heartbeat has stopped reads as paused even before a sweep has paused it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection
from psycopg import AsyncCursor
from psycopg_pool import AsyncConnectionPool

from companion.batch import Batch
from companion.kept_questions import KEPT_TURNS, MAX_OFFERED, KeptQuestion
from companion.prompt_inputs import PromptInputs, fetch_prompt_inputs, query_prompt_inputs
from companion.turn_conditions import EARLIER_IS_LIVE, is_live
from companion.turn_policy import TurnPolicy

Row = tuple[Any, ...]
PAGE_TURNS = 50
# A turn whose owner's lease has run out reads as paused, so that a page does not wait for a dead process.
EFFECTIVE_STATE = f"""CASE WHEN {is_live("t")}
                 AND (p.id IS NULL OR p.beat_at < clock_timestamp() - make_interval(secs => %(lease_s)s))
                THEN 'paused' ELSE t.state END"""


def _build_query(*, question: str, reply: str, chunk_lengths: str, said: str, state: str) -> str:
    """Build the visibility query. The arguments are SQL expressions for the texts to read and for the state."""
    return f"""
SELECT t.id, t.key, t.conversation_id, {question},
       CASE WHEN seen.state = 'paused' THEN '[]'::jsonb ELSE t.openings END,
       CASE WHEN seen.state = 'paused' THEN ''
            WHEN seen.state = 'speaking' THEN coalesce(w.said, '')
            ELSE {reply} END,
       seen.state,
       CASE WHEN seen.state = 'paused' THEN coalesce(nullif(t.line, ''), %(pause)s)
            WHEN seen.state = 'waiting' AND {EARLIER_IS_LIVE} THEN ''
            WHEN seen.state = 'waiting' THEN %(queued)s
            WHEN seen.state = 'speaking' AND t.first_word_at IS NULL
                 AND t.admitted_at <= clock_timestamp() - make_interval(secs => %(still_here_s)s)
            THEN %(still_here)s
            ELSE t.line END,
       CASE WHEN t.state = 'speaking' THEN coalesce(w.seq, 0) ELSE t.seq END,
       CASE WHEN seen.state = 'paused' THEN '{{}}' ELSE {chunk_lengths} END, t.owner,
       t.state = 'refused' OR t.state = 'stopped' AND t.admitted_at IS NULL
FROM companion_turn t
LEFT JOIN companion_process p ON p.id = t.owner
CROSS JOIN LATERAL (
    SELECT {state} AS state
) seen
LEFT JOIN LATERAL (
    SELECT {said} AS said, max(s.seq) AS seq
    FROM companion_replychunk s WHERE s.turn_id = t.id AND t.state = 'speaking'
) w ON true
"""


VISIBLE = _build_query(
    question="t.question",
    reply="t.reply",
    chunk_lengths="t.chunk_lengths",
    said="string_agg(s.text, '' ORDER BY s.seq)",
    state=EFFECTIVE_STATE,
)
# Without texts: watchers poll the states of many turns several times a second. The stored state is read and not the
# effective one, because an owner whose heartbeat is only late goes on speaking.
STATES = _build_query(
    question="''", reply="''", chunk_lengths="'{}'::int[]", said="''::text", state="t.state"
)
READ_STATES = f"{STATES} WHERE t.id = ANY(%(turns)s) ORDER BY t.id"

READ_LATEST = f"""
{VISIBLE} WHERE t.id IN (
    SELECT last.id FROM unnest(%(conversations)s::bigint[]) AS c(id)
    CROSS JOIN LATERAL (
        SELECT id FROM companion_turn WHERE conversation_id = c.id ORDER BY id DESC LIMIT %(limit)s) last
) ORDER BY t.id
"""
READ_BEFORE = f"""
{VISIBLE} WHERE t.conversation_id = %(conversation)s AND t.id < %(turn)s ORDER BY t.id DESC LIMIT %(limit)s
"""
READ_AFTER = (
    f"{VISIBLE} WHERE t.conversation_id = %(conversation)s AND t.id > %(turn)s ORDER BY t.id LIMIT %(limit)s"
)
READ_TURNS = f"{VISIBLE} WHERE t.id = ANY(%(turns)s) ORDER BY t.id"

READ_CHUNKS = """
SELECT s.turn_id, s.seq, s.text FROM companion_replychunk s
JOIN unnest(%(turns)s::bigint[], %(after)s::int[]) AS c(id, seq) ON c.id = s.turn_id
WHERE s.seq > c.seq ORDER BY s.turn_id, s.seq
"""

# Whether an earlier turn showed the line under the same selection, within the time that a visit lasts.
SAID_REDUCED = """
SELECT EXISTS (
    SELECT 1 FROM companion_turn t
    JOIN companion_turn e ON e.conversation_id = t.conversation_id AND e.id < t.id
    WHERE t.id = %(turn)s AND e.routing_version = %(version)s
      AND e.created_at > clock_timestamp() - interval '8 hours' AND e.openings @> '[{"kind": "reduced"}]')
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnView:
    """One turn as its participant may see it."""

    turn: int
    key: UUID
    conversation: int
    question: str
    openings: tuple[dict[str, str], ...]
    reply: str
    state: str
    line: str
    seq: int
    chunk_lengths: tuple[int, ...]
    owner: UUID
    is_unread: bool = False
    """The turn ended before a provider read the question, so the page puts the words back into the box."""

    def to_snapshot(self) -> dict[str, Any]:
        """The shape in `hello` and history pages: id, key, question, openings, reply, state, line, seq, unread."""
        return {
            "id": self.turn,
            "key": str(self.key),
            "question": self.question,
            "openings": list(self.openings),
            "reply": self.reply,
            "state": self.state,
            "line": self.line,
            "seq": self.seq,
            "unread": self.is_unread,
        }

    def chunks_after(self, seq: int) -> list[tuple[int, str]]:
        """Return (seq, text) of an ended turn's chunks after `seq`, cut as they were first shown."""
        chunks, start = [], 0
        for number, length in enumerate(self.chunk_lengths, start=1):
            if number > seq:
                chunks.append((number, self.reply[start : start + length]))
            start += length
        return chunks


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryPage:
    """At most `PAGE_TURNS` turns, oldest first."""

    views: tuple[TurnView, ...]
    has_earlier: bool
    """Whether there are turns before them."""


class History:
    """Reads for sockets and turns, on the process's own pool. Concurrent reads of one kind share a query."""

    def __init__(self, pool: AsyncConnectionPool[Any], policy: TurnPolicy) -> None:
        self._pool = pool
        self._policy = policy
        self._prompt_inputs: Batch[int, PromptInputs] = Batch(self._read_prompt_inputs_of)
        # A page has up to 50 turns with their texts, so a batch of pages is kept small.
        self._kept: Batch[int, tuple[KeptQuestion, ...]] = Batch(self._read_kept_of)
        self._latest: Batch[int, HistoryPage] = Batch(self._read_latest_of, max_items=32)

    async def read_latest(self, conversation: int) -> HistoryPage:
        """Return the last turns of a conversation."""
        return await self._latest.submit(conversation)

    async def _read_latest_of(self, conversations: Sequence[int]) -> list[HistoryPage]:
        views: dict[int, list[TurnView]] = {conversation: [] for conversation in conversations}
        for row in await self._rows(READ_LATEST, conversations=list(views), limit=PAGE_TURNS + 1):
            view = _make_view(row)
            views[view.conversation].append(view)
        return [_make_page(views[conversation]) for conversation in conversations]

    async def read_kept_turns(self, conversations: Sequence[int]) -> dict[int, tuple[int, ...]]:
        """Return the ids of kept questions by conversation, oldest first; conversations without any are left out."""
        rows = await self._rows(KEPT_TURNS, conversations=list(conversations), offered=MAX_OFFERED)
        return {conversation: tuple(turns) for conversation, turns in rows}

    async def read_kept(self, conversation: int) -> tuple[KeptQuestion, ...]:
        """Return the kept questions of a conversation, oldest first."""
        return await self._kept.submit(conversation)

    async def _read_kept_of(self, conversations: Sequence[int]) -> list[tuple[KeptQuestion, ...]]:
        kept = await self.read_kept_turns(list(set(conversations)))
        ids = [turn for turns in kept.values() for turn in turns]
        line = self._policy.lines.kept
        questions = {
            view.turn: KeptQuestion(turn=view.turn, question=view.question, line=line)
            for view in (await self.read_turns(ids) if ids else ())
        }
        return [
            tuple(questions[turn] for turn in kept.get(conversation, ()) if turn in questions)
            for conversation in conversations
        ]

    async def read_turns(self, turns: Sequence[int]) -> list[TurnView]:
        """Return the turns of these ids. The caller checks whose they are."""
        return [_make_view(row) for row in await self._rows(READ_TURNS, turns=list(turns))]

    async def read_states(self, turns: Sequence[int]) -> list[TurnView]:
        """Return the turns of these ids without question, reply and chunk lengths."""
        return [_make_view(row) for row in await self._rows(READ_STATES, turns=list(turns))]

    async def read_chunks(self, after: dict[int, int]) -> list[tuple[int, int, str]]:
        """Return (turn, seq, text) of turns still speaking. `after` maps a turn to the last chunk not to return."""
        return await self._rows(READ_CHUNKS, turns=list(after), after=list(after.values()))

    async def read_prompt_inputs(self, turn: int) -> PromptInputs:
        """Return everything that the prompt of `turn` may contain."""
        return await self._prompt_inputs.submit(turn)

    async def has_said_reduced(self, turn: int, version: int) -> bool:
        """Whether a turn of the last eight hours showed the *reduced* line under this selection."""
        [[said]] = await self._rows(SAID_REDUCED, turn=turn, version=version)
        return bool(said)

    async def _read_prompt_inputs_of(self, turns: Sequence[int]) -> list[PromptInputs]:
        async with self._pool.connection() as connection:
            found = await fetch_prompt_inputs(await query_prompt_inputs(connection, turns))
        return [found[turn] for turn in turns]

    async def _rows(self, query: str, **facts: Any) -> list[Row]:
        async with self._pool.connection() as connection, connection.cursor() as cursor:
            return await _fetch_all(cursor, query, facts | query_parameters(self._policy))


def query_parameters(policy: TurnPolicy) -> dict[str, Any]:
    """The figures and drafted lines of the policy that the visibility query names."""
    return {
        "pause": policy.lines.pause,
        "queued": policy.lines.queued,
        "still_here": policy.lines.still_here,
        "still_here_s": policy.still_here_s,
        "keep_s": policy.keep_s,
        "lease_s": policy.lease_s,
    }


def read_earlier(policy: TurnPolicy, conversation: int, before: int) -> HistoryPage:
    """Return the page of turns before a turn. For views: uses Django's connection."""
    rows = _fetch_rows(
        READ_BEFORE, conversation=conversation, turn=before, limit=PAGE_TURNS + 1, **query_parameters(policy)
    )
    return _make_page([_make_view(row) for row in reversed(rows)])


def read_since(policy: TurnPolicy, conversation: int, after: int) -> list[dict[str, Any]]:
    """Return snapshots of the next `PAGE_TURNS` turns, oldest first. For views: uses Django's connection."""
    rows = _fetch_rows(
        READ_AFTER, conversation=conversation, turn=after, limit=PAGE_TURNS, **query_parameters(policy)
    )
    return [_make_view(row).to_snapshot() for row in rows]


def _make_page(views: list[TurnView]) -> HistoryPage:
    return HistoryPage(views=tuple(views[-PAGE_TURNS:]), has_earlier=len(views) > PAGE_TURNS)


def _fetch_rows(query: str, **facts: Any) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(query, facts)
        rows: list[Row] = cursor.fetchall()
        return rows


async def _fetch_all(cursor: AsyncCursor[Row], query: str, facts: dict[str, Any]) -> list[Row]:
    await cursor.execute(query, facts)
    return await cursor.fetchall()


def _make_view(row: Row) -> TurnView:
    turn, key, conversation, question, openings, reply, state, line, seq, lengths, owner, is_unread = row
    if isinstance(openings, str):
        openings = _loads(openings)
    return TurnView(
        turn=turn,
        key=key,
        conversation=conversation,
        question=question,
        openings=tuple(openings),
        reply=reply,
        state=state,
        line=line,
        seq=seq,
        chunk_lengths=tuple(lengths or ()),
        owner=owner,
        is_unread=is_unread,
    )


def _loads(text: str) -> list[dict[str, str]]:
    # Django's cursors return JSON as text; psycopg's own return objects.
    loaded: list[dict[str, str]] = json.loads(text)
    return loaded
