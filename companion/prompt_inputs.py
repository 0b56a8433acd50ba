"""Reads what a prompt is made from: earlier exchanges, held questions, and the regions it may be sent to.

Replies are read of complete turns, and of turns that were stopped after a lane had read the question. Of a paused turn
only the question is read, so a half answer never enters a prompt. Red messages are not read at all, nor those that were
written while the companion was quiet, nor farewells that the drafted goodbye answered. What was written with a person
is, if the site shares it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from psycopg import AsyncConnection, AsyncCursor

from companion.doubt import is_doubted
from companion.prompt import Exchange, PersonWords
from companion.rows import Row
from companion.states import Reason, TurnState
from companion.supervision.control import IS_CARE_DUE
from companion.supervision.states import EntryKind
from companion.turn_conditions import is_held

DIALOGUE_TURNS = 60
"""Most earlier turns in a prompt."""
PERSON_MESSAGES = 40
"""Most messages of a person, and as many of the participant to a person, in a prompt."""
MAX_TURNS_READ = 120
"""Turns that are searched for those, and for held questions, newest first. It bounds the cost of a long outage."""

# Takes many turns: those that start together share one query.
READ_INPUTS = f"""
SELECT t.id, t.question, t.openings, s.regions,
       said.ids, said.questions, said.replies, said.stopped, said.came_back, said.at,
       broken.ids, broken.questions, broken.answers, broken.until, broken.held, broken.tried, broken.failures,
       {IS_CARE_DUE}, t.easy_words, person.places, person.names, person.texts
FROM companion_turn t
JOIN companion_conversation c ON c.id = t.conversation_id
JOIN companion_control k ON k.conversation_id = c.id
JOIN companion_participant p ON p.id = c.participant_id
JOIN companion_site s ON s.id = p.site_id
CROSS JOIN LATERAL (
    SELECT array_agg(e.id ORDER BY e.id) AS ids, array_agg(e.question ORDER BY e.id) AS questions,
           array_agg(e.reply ORDER BY e.id) AS replies, array_agg(e.state = 'stopped' ORDER BY e.id) AS stopped,
           array_agg(e.openings @> '[{{"kind": "i_am_back"}}]' ORDER BY e.id) AS came_back,
           array_agg(e.created_at ORDER BY e.id) AS at
    FROM (
        SELECT recent.* FROM (
            SELECT id, question, reply, state, reason, created_at, openings, admitted_at FROM companion_turn
            WHERE conversation_id = t.conversation_id AND id < t.id
            ORDER BY id DESC LIMIT %(looks_back)s
        ) recent
        WHERE recent.state = 'complete' AND (recent.reason <> '{Reason.GOODBYE}' OR recent.reply <> '')
           OR recent.state = 'stopped' AND recent.admitted_at IS NOT NULL
        ORDER BY recent.id DESC LIMIT %(limit)s
    ) e
) said
CROSS JOIN LATERAL (
    SELECT array_agg(h.id ORDER BY h.id) AS ids, array_agg(h.question ORDER BY h.id) AS questions,
           array_agg(h.answered_by_id ORDER BY h.id) AS answers, array_agg(h.held_until ORDER BY h.id) AS until,
           array_agg({is_held("h")} ORDER BY h.id) AS held,
           array_agg(h.tried_along ORDER BY h.id) AS tried, array_agg(h.tried_along_failure ORDER BY h.id) AS failures
    FROM (
        SELECT id, question, answered_by_id, settled, held_until, state, tried_along, tried_along_failure
        FROM companion_turn
        WHERE conversation_id = t.conversation_id AND id < t.id AND held_until IS NOT NULL
        ORDER BY id DESC LIMIT %(looks_back)s
    ) h
    WHERE h.state = 'paused'
) broken
CROSS JOIN LATERAL (
    SELECT array_agg(w.place ORDER BY w.place, w.entry) AS places, array_agg(w.name ORDER BY w.place, w.entry) AS names,
           array_agg(w.text ORDER BY w.place, w.entry) AS texts
    FROM (
        (SELECT e.after_turn AS place, e.id AS entry, e.name, e.text FROM (
             SELECT id, kind, name, text, after_turn FROM companion_transcriptentry
             WHERE conversation_id = c.id AND after_turn < t.id
             ORDER BY conversation_id DESC, after_turn DESC, id DESC LIMIT %(looks_back)s
         ) e
         WHERE e.kind = '{EntryKind.SAID}' ORDER BY e.id DESC LIMIT {PERSON_MESSAGES})
        UNION ALL
        (SELECT h.id, 0, '', h.question FROM (
             SELECT id, question, state, reason FROM companion_turn
             WHERE conversation_id = t.conversation_id AND id < t.id ORDER BY id DESC LIMIT %(looks_back)s
         ) h
         WHERE h.state = '{TurnState.HANDED_OVER}' AND h.reason = '{Reason.PERSON}'
         ORDER BY h.id DESC LIMIT {PERSON_MESSAGES})
    ) w
    WHERE k.take_overs > 0 AND s.shares_person_words
) person
WHERE t.id = ANY(%(turns)s)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptInputs:
    """What a prompt is made from. `dialogue` is oldest first; `held` are (turn, question), oldest first."""

    question: str
    dialogue: tuple[Exchange, ...]
    held: tuple[tuple[int, str], ...]
    doubted: frozenset[int] = frozenset()
    """The held turns whose questions may be the reason that calls fail; see `doubt`."""
    person: tuple[PersonWords, ...] = ()
    """What a person and the participant wrote since the last exchange."""
    is_care_due: bool = False
    easy_words: bool = False
    """Whether the prompt asks for easy words."""
    regions: tuple[str, ...] = ()
    """The regions whose lanes may be sent the prompt; empty: all."""
    openings: tuple[dict[str, str], ...] = ()
    """Drafted lines that the turn was opened with. They stand before the first words, and are in no prompt."""


class _Replied(NamedTuple):
    """A complete or stopped turn."""

    turn: int
    question: str
    reply: str
    stopped: bool
    came_back: bool
    """It opened with *I am back*: its words began with the answers to held questions."""
    at: datetime


class _Paused(NamedTuple):
    """A paused turn whose question was held, or still is."""

    turn: int
    question: str
    answer: int | None
    until: datetime
    held: bool
    tried_along: int
    tried_along_failure: str

    def was_asked_with(self, reply: _Replied) -> bool:
        """Whether it was answered by this turn, or was being answered when this turn was stopped and is held on."""
        if not reply.stopped:
            return self.answer == reply.turn
        unanswered = self.answer is None or self.answer > reply.turn
        return reply.came_back and self.turn < reply.turn and unanswered and self.until > reply.at


async def query_prompt_inputs(connection: AsyncConnection[Row], turns: Sequence[int]) -> AsyncCursor[Row]:
    """Send the query for the inputs of these turns. In a pipeline this does not wait for the result."""
    parameters = {"turns": list(turns), "limit": DIALOGUE_TURNS, "looks_back": MAX_TURNS_READ}
    return await connection.execute(READ_INPUTS, parameters)


async def fetch_prompt_inputs(cursor: AsyncCursor[Row]) -> dict[int, PromptInputs]:
    """The result of `query_prompt_inputs`, by turn."""
    return {row[0]: _inputs_from(row) for row in await cursor.fetchall()}


def _inputs_from(row: Row) -> PromptInputs:
    _, question, openings, regions, *columns = row
    said = [_Replied(*facts) for facts in _zip_columns(columns[:6])]
    broken = [_Paused(*facts) for facts in _zip_columns(columns[6:13])]
    is_care_due, easy_words = columns[13:15]
    person = [(place, PersonWords(name=name, text=text)) for place, name, text in _zip_columns(columns[15:])]
    # What was written before the first of so many exchanges is as long past as what was asked before it.
    first = said[0].turn if len(said) == DIALOGUE_TURNS else 0
    starts = [first, *(turn.turn for turn in said)]
    return PromptInputs(
        question=question,
        dialogue=tuple(
            Exchange(
                questions=(
                    *(paused.question for paused in broken if paused.was_asked_with(turn)),
                    turn.question,
                ),
                reply=turn.reply,
                stopped=turn.stopped,
                person=tuple(words for place, words in person if before <= place < turn.turn),
            )
            for before, turn in zip(starts, said, strict=False)
        ),
        person=tuple(words for place, words in person if place >= starts[-1]),
        is_care_due=bool(is_care_due),
        easy_words=bool(easy_words),
        held=tuple((paused.turn, paused.question) for paused in broken if paused.held),
        doubted=frozenset(
            paused.turn
            for paused in broken
            if paused.held and is_doubted(paused.tried_along, paused.tried_along_failure)
        ),
        regions=tuple(regions),
        openings=tuple(openings),
    )


def _zip_columns(columns: Sequence[Sequence[Any] | None]) -> "zip[Row]":
    return zip(*(column or () for column in columns), strict=True)
