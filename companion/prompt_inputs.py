"""What a prompt may be made of: what was said before, which questions are held, and where it may go.

Complete turns alone are read with their words, and those that were stopped after their question had been read. Of a
paused turn only the question is read, so no half answer can enter a prompt.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from psycopg import AsyncConnection, AsyncCursor

from companion.doubt import is_doubted
from companion.prompt import Exchange

Row = tuple[Any, ...]
DIALOGUE_TURNS = 60
"""Earlier turns a prompt may look back on."""
LOOKS_BACK_TURNS = 120
"""How many turns are looked through for them, and for held questions: a long row of failures is not read to its end."""

# For many turns at once.
MATERIAL = """
SELECT t.id, t.question, s.regions,
       said.ids, said.questions, said.replies, said.stopped, said.came_back, said.at,
       broken.ids, broken.questions, broken.answers, broken.until, broken.held, broken.tried, broken.failures
FROM companion_turn t
JOIN companion_conversation c ON c.id = t.conversation_id
JOIN companion_participant p ON p.id = c.participant_id
JOIN companion_site s ON s.id = p.site_id
CROSS JOIN LATERAL (
    SELECT array_agg(e.id ORDER BY e.id) AS ids, array_agg(e.question ORDER BY e.id) AS questions,
           array_agg(e.reply ORDER BY e.id) AS replies, array_agg(e.state = 'stopped' ORDER BY e.id) AS stopped,
           array_agg(e.openings @> '[{"kind": "i_am_back"}]' ORDER BY e.id) AS came_back,
           array_agg(e.created_at ORDER BY e.id) AS at
    FROM (
        SELECT recent.* FROM (
            SELECT id, question, reply, state, created_at, openings, admitted_at FROM companion_turn
            WHERE conversation_id = t.conversation_id AND id < t.id
            ORDER BY id DESC LIMIT %(looks_back)s
        ) recent
        WHERE recent.state = 'complete' OR recent.state = 'stopped' AND recent.admitted_at IS NOT NULL
        ORDER BY recent.id DESC LIMIT %(limit)s
    ) e
) said
CROSS JOIN LATERAL (
    SELECT array_agg(h.id ORDER BY h.id) AS ids, array_agg(h.question ORDER BY h.id) AS questions,
           array_agg(h.answered_by_id ORDER BY h.id) AS answers, array_agg(h.held_until ORDER BY h.id) AS until,
           array_agg(h.answered_by_id IS NULL AND h.held_until > clock_timestamp() ORDER BY h.id) AS held,
           array_agg(h.tried_along ORDER BY h.id) AS tried, array_agg(h.tried_along_failure ORDER BY h.id) AS failures
    FROM (
        SELECT id, question, answered_by_id, held_until, state, tried_along, tried_along_failure FROM companion_turn
        WHERE conversation_id = t.conversation_id AND id < t.id AND held_until IS NOT NULL
        ORDER BY id DESC LIMIT %(looks_back)s
    ) h
    WHERE h.state = 'paused'
) broken
WHERE t.id = ANY(%(turns)s)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptInputs:
    """What a prompt is made of. `dialogue` is oldest first; `held` are (turn, question), oldest first."""

    question: str
    dialogue: tuple[Exchange, ...]
    held: tuple[tuple[int, str], ...]
    doubted: frozenset[int] = frozenset()
    """The held turns whose questions may be what makes calls fail; see `doubt`."""
    regions: tuple[str, ...] = ()
    """The only regions whose lanes may see it; empty: any."""


class _Said(NamedTuple):
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

    def was_asked_with(self, said: _Said) -> bool:
        """Whether it was answered by this turn, or was being answered when this turn was stopped and is held on."""
        if not said.stopped:
            return self.answer == said.turn
        unanswered = self.answer is None or self.answer > said.turn
        return said.came_back and self.turn < said.turn and unanswered and self.until > said.at


async def ask_materials(connection: AsyncConnection[Row], turns: Sequence[int]) -> AsyncCursor[Row]:
    """Ask what prompts for these turns may be made of; in a pipeline the answer is not waited for."""
    facts = {"turns": list(turns), "limit": DIALOGUE_TURNS, "looks_back": LOOKS_BACK_TURNS}
    return await connection.execute(MATERIAL, facts)


async def materials(asked: AsyncCursor[Row]) -> dict[int, PromptInputs]:
    """The answer, by turn."""
    return {row[0]: _material(row) for row in await asked.fetchall()}


def _material(row: Row) -> PromptInputs:
    _, question, regions, *columns = row
    said = [_Said(*facts) for facts in zip(*(column or () for column in columns[:6]), strict=True)]
    broken = [_Paused(*facts) for facts in zip(*(column or () for column in columns[6:]), strict=True)]
    return PromptInputs(
        question=question,
        dialogue=tuple(
            Exchange(
                questions=(*(one.question for one in broken if one.was_asked_with(turn)), turn.question),
                reply=turn.reply,
                stopped=turn.stopped,
            )
            for turn in said
        ),
        held=tuple((one.turn, one.question) for one in broken if one.held),
        doubted=frozenset(
            one.turn for one in broken if one.held and is_doubted(one.tried_along, one.tried_along_failure)
        ),
        regions=tuple(regions),
    )
