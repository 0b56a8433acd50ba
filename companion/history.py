"""Reads a conversation as its participant may see it: one query serves pages, sockets and exports.

A turn whose owner's heartbeat has stopped reads as paused even before a sweep has paused it. `history_queries` has the
statements.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db import connection
from psycopg import AsyncCursor
from psycopg_pool import AsyncConnectionPool

from companion.batch import Batch
from companion.history_queries import (
    FIND_NEWER,
    READ_AFTER,
    READ_BEFORE,
    READ_CHUNKS,
    READ_LATEST,
    READ_LATEST_WHOLE,
    READ_STATES,
    READ_TURNS,
    SAID_REDUCED,
)
from companion.ids import LARGEST_ID
from companion.kept_questions import KEPT_TURNS, MAX_OFFERED, KeptQuestion
from companion.needs.look import Look
from companion.needs.store import LOOKS, read_look
from companion.prompt_inputs import PromptInputs, fetch_prompt_inputs, query_prompt_inputs
from companion.rows import Row
from companion.states import Reason
from companion.supervision.control import READ_CONTROL, ControlView, make_control
from companion.supervision.entries import READ_PAGE_ENTRIES, make_entry, read_entries
from companion.supervision.entry_view import EntryView, entries_to_show
from companion.turn_policy import TurnPolicy

PAGE_TURNS = 50


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
    reason: str = ""
    language: str = ""
    """Of its drafted lines; empty: the first of the character."""
    is_unread: bool = False
    """The turn ended before a provider read the question, so the page puts the words back into the box."""

    @property
    def line_kind(self) -> str:
        """`goodbye` where the line takes leave; empty where the state says what the line is."""
        return Reason.GOODBYE.value if self.reason == Reason.GOODBYE else ""

    def to_snapshot(self) -> dict[str, Any]:
        """The shape in `hello` and history pages.

        id, key, question, openings, reply, state, line, kind, seq, unread.
        """
        return {
            "id": self.turn,
            "key": str(self.key),
            "question": self.question,
            "openings": list(self.openings),
            "reply": self.reply,
            "state": self.state,
            "line": self.line,
            "kind": self.line_kind,
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
    """At most `PAGE_TURNS` turns and the entries beside them, oldest first."""

    views: tuple[TurnView, ...]
    has_earlier: bool
    """Whether there are turns before them."""
    entries: tuple[EntryView, ...] = ()
    entry_before: int = 0
    """The last entry before the page; 0: none."""

    def to_items(self) -> list[dict[str, Any]]:
        """Return the snapshots of turns and entries in one order: an entry stands after the turn it follows."""
        items = [
            *((view.turn, 0, view.to_snapshot()) for view in self.views),
            *((entry.after_turn, entry.entry, entry.to_snapshot()) for entry in self.entries),
        ]
        return [snapshot for _, _, snapshot in sorted(items, key=lambda item: item[:2])]

    @property
    def last_entry(self) -> int:
        """The last entry of the page, or before it; 0: none."""
        return max((entry.entry for entry in self.entries), default=self.entry_before)


class History:
    """Reads for sockets and turns, on the process's own pool. Concurrent reads of one kind share a query."""

    def __init__(self, pool: AsyncConnectionPool[Any], policy: TurnPolicy) -> None:
        self._pool = pool
        self._policy = policy
        self._parameters = query_parameters(policy)
        self._prompt_inputs: Batch[int, PromptInputs] = Batch(self._read_prompt_inputs_of)
        # A page has up to 50 turns with their texts, so a batch of pages is kept small.
        self._kept: Batch[int, tuple[KeptQuestion, ...]] = Batch(self._read_kept_of)
        self._latest: Batch[int, HistoryPage] = Batch(self._read_latest_of, max_items=32)
        self._looks: Batch[int, Look] = Batch(self._read_looks)
        self._controls: Batch[int, ControlView] = Batch(self._read_controls)

    async def read_latest(self, conversation: int) -> HistoryPage:
        """Return the last turns of a conversation, and the entries beside them."""
        return await self._latest.submit(conversation)

    async def read_latest_whole(self, conversation: int) -> HistoryPage:
        """Return the same for staff: with the half answers that no participant is shown again."""
        [page] = await self._read_latest_of([conversation], query=READ_LATEST_WHOLE)
        return page

    async def _read_latest_of(
        self, conversations: Sequence[int], *, query: str = READ_LATEST
    ) -> list[HistoryPage]:
        views: dict[int, list[TurnView]] = {conversation: [] for conversation in conversations}
        # One more than a page shows whether there are earlier ones.
        for row in await self._rows(query, conversations=list(views), limit=PAGE_TURNS + 1):
            view = _make_view(row)
            views[view.conversation].append(view)
        pages = {conversation: _make_page(views[conversation]) for conversation in views}
        # Entries behind a newer turn come later, with that turn.
        facts = page_entries_parameters(pages)
        entries = [make_entry(row) for row in await self._rows(READ_PAGE_ENTRIES, **facts)]
        return [
            _add_entries(conversation, pages[conversation], entries, first=_first_turn(pages[conversation]))
            for conversation in conversations
        ]

    async def read_entries(self, after: dict[int, int]) -> list[EntryView]:
        """Return the next entries by conversation. `after` maps a conversation to its last known entry."""
        async with self._pool.connection() as connection, connection.cursor() as cursor:
            return await read_entries(cursor, after)

    async def read_control(self, conversation: int) -> ControlView:
        """Return who may speak in a conversation."""
        return await self._controls.submit(conversation)

    async def read_controls(self, conversations: Sequence[int]) -> list[ControlView]:
        """Return the same for each of these conversations."""
        return await self._read_controls(conversations)

    async def _read_controls(self, conversations: Sequence[int]) -> list[ControlView]:
        rows = await self._rows(READ_CONTROL, conversations=list(set(conversations)))
        views = {row[0]: make_control(row) for row in rows}
        return [
            views.get(conversation, ControlView(conversation=conversation)) for conversation in conversations
        ]

    async def read_look(self, participant: int) -> Look:
        """Return the attributes that the pages of a participant carry; empty: nothing is recorded."""
        return await self._looks.submit(participant)

    async def _read_looks(self, participants: Sequence[int]) -> list[Look]:
        rows = await self._rows(LOOKS, participants=list(set(participants)))
        looks = {participant: read_look(fields) for participant, *fields in rows}
        return [looks.get(participant, {}) for participant in participants]

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
        questions = {
            view.turn: KeptQuestion(
                turn=view.turn,
                question=view.question,
                line=self._policy.in_language(view.language).lines.kept,
            )
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

    async def find_newer(self, after: dict[int, int]) -> list[tuple[int, int]]:
        """Return (conversation, turn) of the next turns. `after` maps a conversation to its last known turn."""
        return await self._rows(
            FIND_NEWER, conversations=list(after), after=list(after.values()), limit=PAGE_TURNS
        )

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
            return await _fetch_all(cursor, query, facts | self._parameters)


def query_parameters(policy: TurnPolicy) -> dict[str, Any]:
    """The figures and drafted lines of the policy that the visibility query names."""
    return {
        "pause": policy.by_language("pause"),
        "queued": policy.by_language("queued"),
        "still_here": policy.by_language("still_here"),
        "still_here_s": policy.still_here_s,
        "keep_s": policy.keep_s,
        "lease_s": policy.lease_s,
    }


def read_earlier(policy: TurnPolicy, conversation: int, before: int) -> HistoryPage:
    """Return the page of turns before a turn, with the entries beside them. For views: uses Django's connection."""
    rows = _fetch_rows(
        READ_BEFORE, conversation=conversation, turn=before, limit=PAGE_TURNS + 1, **query_parameters(policy)
    )
    page = _make_page([_make_view(row) for row in reversed(rows)])
    facts = page_entries_parameters({conversation: page}, before=before)
    entries = [make_entry(row) for row in _fetch_rows(READ_PAGE_ENTRIES, **facts)]
    return _add_entries(conversation, page, entries, first=_first_turn(page))


def read_since(policy: TurnPolicy, conversation: int, after: int) -> list[dict[str, Any]]:
    """Return snapshots of the next `PAGE_TURNS` turns, oldest first, and of the entries after turn `after` and beside
    them. For views: uses Django's connection."""
    rows = _fetch_rows(
        READ_AFTER, conversation=conversation, turn=after, limit=PAGE_TURNS, **query_parameters(policy)
    )
    page = _make_page([_make_view(row) for row in rows])
    before = page.views[-1].turn + 1 if len(rows) == PAGE_TURNS else LARGEST_ID
    facts = {"conversations": [conversation], "first": [after], "before": [before]}
    entries = [make_entry(row) for row in _fetch_rows(READ_PAGE_ENTRIES, **facts)]
    return _add_entries(conversation, page, entries, first=after).to_items()


def page_entries_parameters(
    pages: Mapping[int, HistoryPage], *, before: int | None = None
) -> dict[str, list[int]]:
    """The parameters of `READ_PAGE_ENTRIES` for these pages. `before`: the turn before which a page ends."""
    return {
        "conversations": list(pages),
        "first": [_first_turn(page) for page in pages.values()],
        "before": [before or (page.views[-1].turn + 1 if page.views else 1) for page in pages.values()],
    }


def _first_turn(page: HistoryPage) -> int:
    return page.views[0].turn if page.has_earlier else 0


def _add_entries(
    conversation: int, page: HistoryPage, entries: Sequence[EntryView], *, first: int
) -> HistoryPage:
    own = [entry for entry in entries if entry.conversation == conversation]
    beside = entries_to_show([entry for entry in own if entry.after_turn >= first])
    before = max((entry.entry for entry in own if entry.after_turn < first), default=0)
    return replace(page, entries=tuple(beside), entry_before=before)


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
    (
        turn,
        key,
        conversation,
        question,
        openings,
        reply,
        state,
        line,
        seq,
        lengths,
        owner,
        is_unread,
        reason,
        language,
    ) = row
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
        reason=reason,
        language=language,
        is_unread=is_unread,
    )


def _loads(text: str) -> list[dict[str, str]]:
    # Django's cursors return JSON as text; psycopg's own return objects.
    loaded: list[dict[str, str]] = json.loads(text)
    return loaded
