"""What a participant's page or an export may read of a conversation: one query decides for all.

A half answer is in no read: a paused turn shows its question and its drafted line, and nothing that was said.
A turn whose owner's heartbeat has stopped already reads as paused, even before any process has swept it.
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
from companion.live_turns import EARLIER_IS_LIVE
from companion.prompt_inputs import PromptInputs, ask_materials, materials
from companion.turn_policy import TurnPolicy

Row = tuple[Any, ...]
PAGE = 50
# A turn whose owner is silent reads as paused: whoever opens a page is not to wait for a dead process.
DERIVED = """CASE WHEN t.state IN ('waiting', 'speaking')
                 AND (p.id IS NULL OR p.beat_at < clock_timestamp() - make_interval(secs => %(lease_s)s))
                THEN 'paused' ELSE t.state END"""


def _visible(*, question: str, reply: str, cuts: str, said: str, state: str) -> str:
    """The visibility query: what may be seen of turns, with as much of their texts as these expressions give."""
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
       CASE WHEN seen.state = 'paused' THEN '{{}}' ELSE {cuts} END, t.owner,
       t.state = 'refused' OR t.state = 'stopped' AND t.admitted_at IS NULL
FROM companion_turn t
LEFT JOIN companion_process p ON p.id = t.owner
CROSS JOIN LATERAL (
    SELECT {state} AS state
) seen
LEFT JOIN LATERAL (
    SELECT {said} AS said, max(s.seq) AS seq
    FROM companion_spoken s WHERE s.turn_id = t.id AND t.state = 'speaking'
) w ON true
"""


VISIBLE = _visible(
    question="t.question",
    reply="t.reply",
    cuts="t.cuts",
    said="string_agg(s.text, '' ORDER BY s.seq)",
    state=DERIVED,
)
# The same without a text: who only watches how turns stand, many of them and often, would read all of them again. An
# open page believes no end before it is stored: an owner that was only late goes on.
STANDING = _visible(question="''", reply="''", cuts="'{}'::int[]", said="''::text", state="t.state")
STAND = f"{STANDING} WHERE t.id = ANY(%(turns)s) ORDER BY t.id"

LATEST = f"""
{VISIBLE} WHERE t.id IN (
    SELECT last.id FROM unnest(%(conversations)s::bigint[]) AS c(id)
    CROSS JOIN LATERAL (
        SELECT id FROM companion_turn WHERE conversation_id = c.id ORDER BY id DESC LIMIT %(limit)s) last
) ORDER BY t.id
"""
BEFORE = f"{VISIBLE} WHERE t.conversation_id = %(conversation)s AND t.id < %(turn)s ORDER BY t.id DESC LIMIT %(limit)s"
AFTER = (
    f"{VISIBLE} WHERE t.conversation_id = %(conversation)s AND t.id > %(turn)s ORDER BY t.id LIMIT %(limit)s"
)
NAMED = f"{VISIBLE} WHERE t.id = ANY(%(turns)s) ORDER BY t.id"

PIECES = """
SELECT s.turn_id, s.seq, s.text FROM companion_spoken s
JOIN unnest(%(turns)s::bigint[], %(after)s::int[]) AS c(id, seq) ON c.id = s.turn_id
WHERE s.seq > c.seq ORDER BY s.turn_id, s.seq
"""

# Whether this person has been told so under the same selection, and not longer ago than a visit lasts.
SAID_REDUCED = """
SELECT EXISTS (
    SELECT 1 FROM companion_turn t
    JOIN companion_turn e ON e.conversation_id = t.conversation_id AND e.id < t.id
    WHERE t.id = %(turn)s AND e.routing_version = %(version)s
      AND e.created_at > clock_timestamp() - interval '8 hours' AND e.openings @> '[{"kind": "reduced"}]')
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
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
    cuts: tuple[int, ...]
    owner: UUID
    is_unread: bool = False
    """It ended before anything had read the question: its words belong back in the box."""

    def snapshot(self) -> dict[str, Any]:
        """The shape in `hello` and on history pages: id, key, question, openings, reply, state, line, seq, unread."""
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

    def pieces_after(self, seq: int) -> list[tuple[int, str]]:
        """The pieces of an ended turn's reply after `seq`, cut exactly as they were first shown."""
        pieces, start = [], 0
        for number, length in enumerate(self.cuts, start=1):
            if number > seq:
                pieces.append((number, self.reply[start : start + length]))
            start += length
        return pieces


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """At most `PAGE` turns, oldest first."""

    views: tuple[View, ...]
    has_earlier: bool
    """Whether there are turns before them."""


class History:
    """Reads for sockets and turns, on the process's own pool."""

    def __init__(self, pool: AsyncConnectionPool[Any], policy: TurnPolicy) -> None:
        self._pool = pool
        self._policy = policy
        self._materials: Batch[int, PromptInputs] = Batch(self._material_of)
        # A page of fifty turns may be long, so not all at once.
        self._kept: Batch[int, tuple[KeptQuestion, ...]] = Batch(self._kept_of)
        self._latest: Batch[int, Page] = Batch(self._latest_of, at_most=32)

    async def latest(self, conversation: int) -> Page:
        """The last turns of a conversation."""
        return await self._latest.submit(conversation)

    async def _latest_of(self, conversations: Sequence[int]) -> list[Page]:
        """Pages that open together are read together."""
        found: dict[int, list[View]] = {conversation: [] for conversation in conversations}
        for row in await self._rows(LATEST, conversations=list(found), limit=PAGE + 1):
            view = _view(row)
            found[view.conversation].append(view)
        return [_page(found[conversation]) for conversation in conversations]

    async def kept_turns(self, conversations: Sequence[int]) -> dict[int, tuple[int, ...]]:
        """The ids of the kept questions of these conversations, oldest first; none: not listed."""
        rows = await self._rows(KEPT_TURNS, conversations=list(conversations), offered=MAX_OFFERED)
        return {conversation: tuple(turns) for conversation, turns in rows}

    async def kept(self, conversation: int) -> tuple[KeptQuestion, ...]:
        """The kept questions of a conversation, oldest first."""
        return await self._kept.submit(conversation)

    async def _kept_of(self, conversations: Sequence[int]) -> list[tuple[KeptQuestion, ...]]:
        kept = await self.kept_turns(list(set(conversations)))
        ids = [turn for turns in kept.values() for turn in turns]
        line = self._policy.lines.kept
        questions = {
            view.turn: KeptQuestion(turn=view.turn, question=view.question, line=line)
            for view in (await self.named(ids) if ids else ())
        }
        return [
            tuple(questions[turn] for turn in kept.get(conversation, ()) if turn in questions)
            for conversation in conversations
        ]

    async def named(self, turns: Sequence[int]) -> list[View]:
        """The turns of these ids. The caller checks whose they are."""
        return [_view(row) for row in await self._rows(NAMED, turns=list(turns))]

    async def standing(self, turns: Sequence[int]) -> list[View]:
        """How the turns of these ids stand, in views without question, reply and cuts."""
        return [_view(row) for row in await self._rows(STAND, turns=list(turns))]

    async def pieces(self, after: dict[int, int]) -> list[tuple[int, int, str]]:
        """(turn, seq, text) of turns still speaking, after the piece each names."""
        return await self._rows(PIECES, turns=list(after), after=list(after.values()))

    async def material(self, turn: int) -> PromptInputs:
        """Everything a prompt for `turn` may be made of."""
        return await self._materials.submit(turn)

    async def said_reduced(self, turn: int, version: int) -> bool:
        """Whether a turn of the last eight hours has said, under this selection, that replies are reduced."""
        [[said]] = await self._rows(SAID_REDUCED, turn=turn, version=version)
        return bool(said)

    async def _material_of(self, turns: Sequence[int]) -> list[PromptInputs]:
        """Turns that start together are read together."""
        async with self._pool.connection() as connection:
            found = await materials(await ask_materials(connection, turns))
        return [found[turn] for turn in turns]

    async def _rows(self, query: str, **facts: Any) -> list[Row]:
        async with self._pool.connection() as connection, connection.cursor() as cursor:
            return await _all(cursor, query, facts | reading(self._policy))


def reading(policy: TurnPolicy) -> dict[str, Any]:
    """The figures and drafted lines of the policy that the visibility query names."""
    return {
        "pause": policy.lines.pause,
        "queued": policy.lines.queued,
        "still_here": policy.lines.still_here,
        "still_here_s": policy.still_here_s,
        "keep_s": policy.keep_s,
        "lease_s": policy.lease_s,
    }


def earlier(policy: TurnPolicy, conversation: int, before: int) -> Page:
    """One page of turns before a turn. For pages: uses Django's connection."""
    rows = _page_rows(BEFORE, conversation=conversation, turn=before, limit=PAGE + 1, **reading(policy))
    return _page([_view(row) for row in reversed(rows)])


def since(policy: TurnPolicy, conversation: int, after: int) -> list[dict[str, Any]]:
    """Snapshots of the turns after a turn, oldest first. For pages: uses Django's connection."""
    rows = _page_rows(AFTER, conversation=conversation, turn=after, limit=PAGE, **reading(policy))
    return [_view(row).snapshot() for row in rows]


def _page(views: list[View]) -> Page:
    return Page(views=tuple(views[-PAGE:]), has_earlier=len(views) > PAGE)


def _page_rows(query: str, **facts: Any) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(query, facts)
        rows: list[Row] = cursor.fetchall()
        return rows


async def _all(cursor: AsyncCursor[Row], query: str, facts: dict[str, Any]) -> list[Row]:
    await cursor.execute(query, facts)
    return await cursor.fetchall()


def _view(row: Row) -> View:
    turn, key, conversation, question, openings, reply, state, line, seq, cuts, owner, is_unread = row
    if isinstance(openings, str):
        openings = _loads(openings)
    return View(
        turn=turn,
        key=key,
        conversation=conversation,
        question=question,
        openings=tuple(openings),
        reply=reply,
        state=state,
        line=line,
        seq=seq,
        cuts=tuple(cuts or ()),
        owner=owner,
        is_unread=is_unread,
    )


def _loads(text: str) -> list[dict[str, str]]:
    # Django's cursors hand JSON over as text; the native pool's hand over objects.
    loaded: list[dict[str, str]] = json.loads(text)
    return loaded
