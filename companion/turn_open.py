"""The statements that open turns.

They are sent without waiting and read after the gate has run, so that an opening costs one round trip and its commit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection, AsyncCursor

from companion.lane_order import FIRST_LANE
from companion.prompt_inputs import PromptInputs, fetch_prompt_inputs, query_prompt_inputs
from companion.turn_close import Row
from companion.turn_conditions import LIVE_BESIDE
from companion.waiting_room import Admission

# Only a live visit of an active person at an open site may open a turn; the same key again opens nothing. `beside`
# counts messages of the same person before it in the same batch. The rate limit reads one old turn by index, so its
# cost does not grow with the history.
INSERT_TURNS = f"""
WITH asking AS (
    SELECT asked.key, asked.question, asked.place, c.id AS conversation, head.lane, head.takes,
           row_number() OVER (PARTITION BY c.id ORDER BY asked.place) - 1 AS beside
    FROM unnest(%(visits)s::uuid[], %(keys)s::uuid[], %(questions)s::text[])
         WITH ORDINALITY AS asked(visit, key, question, place)
    JOIN companion_visit v ON v.id = asked.visit AND v.ended_at IS NULL AND v.expires_at > clock_timestamp()
    JOIN companion_participant p ON p.id = v.participant_id AND p.is_active
    JOIN companion_site s ON s.id = p.site_id AND s.is_open
    JOIN companion_conversation c ON c.participant_id = p.id
    LEFT JOIN LATERAL ({FIRST_LANE}) head ON true
)
INSERT INTO companion_turn (conversation_id, key, question, state, owner, persona_version, wait_until,
                            lane, lane_takes, preset_ceiling, house_ceiling, preset, routing_version)
SELECT a.conversation, a.key, a.question, 'waiting', %(owner)s, %(persona)s,
       clock_timestamp() + make_interval(secs => %(wait_s)s),
       coalesce(a.lane, ''), coalesce(a.takes, %(any)s), %(preset_ceiling)s, %(ceiling)s, %(preset)s,
       %(version)s
FROM asking a
WHERE %(live_turns_per_person)s - a.beside > {LIVE_BESIDE}
  AND %(messages_per_minute)s > a.beside
  AND coalesce((SELECT t.created_at FROM companion_turn t WHERE t.conversation_id = a.conversation
                ORDER BY t.id DESC OFFSET greatest(%(messages_per_minute)s - a.beside - 1, 0) LIMIT 1), '-infinity')
      <= clock_timestamp() - interval '1 minute'
ORDER BY a.place
ON CONFLICT (conversation_id, key) DO NOTHING
RETURNING id
"""

FIND_BY_KEY = """
SELECT asked.place, t.id, t.conversation_id
FROM unnest(%(visits)s::uuid[], %(keys)s::uuid[]) WITH ORDINALITY AS asked(visit, key, place)
JOIN companion_visit v ON v.id = asked.visit AND v.ended_at IS NULL AND v.expires_at > clock_timestamp()
JOIN companion_participant p ON p.id = v.participant_id AND p.is_active
JOIN companion_site s ON s.id = p.site_id AND s.is_open
JOIN companion_conversation c ON c.participant_id = p.id
LEFT JOIN companion_turn t ON t.conversation_id = c.id AND t.key = asked.key
"""

MAX_INPUTS_READ = 4
"""Reads the prompt inputs of new turns in the opening transaction up to this number: it holds the gate meanwhile."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SayRequest:
    """A message from a page: normalised text, within its maximum length."""

    visit: UUID
    key: UUID
    question: str


@dataclass(frozen=True, kw_only=True, slots=True)
class AskAgainRequest:
    """A kept question to ask again. `turn` is the turn that did not answer it."""

    visit: UUID
    key: UUID
    turn: int


class OpenRefusal(Enum):
    """Why a message was not stored. The page still has its text."""

    SIGNED_OUT = "the visit has ended"
    SETTLED = "the question that was asked again is not kept any more"
    TOO_MANY = "this person has as many turns under way, or has sent as many messages, as one may"


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenedTurn:
    """The turn of a key. `is_new` is false when the key had been seen before."""

    turn: int
    conversation: int
    is_new: bool
    inputs: PromptInputs | None = None
    """Its prompt inputs, if the transaction that opened it admitted it, and few others (`MAX_INPUTS_READ`)."""


async def find_opened(cursor: AsyncCursor[Row], request: AskAgainRequest) -> OpenedTurn | OpenRefusal:
    """The turn that this key opened before, when the question is not kept any more."""
    await cursor.execute(FIND_BY_KEY, {"visits": [request.visit], "keys": [request.key]})
    row = await cursor.fetchone()
    if row is None:
        return OpenRefusal.SIGNED_OUT
    _, turn, conversation = row
    return (
        OpenRefusal.SETTLED
        if turn is None
        else OpenedTurn(turn=turn, conversation=conversation, is_new=False)
    )


class OpenBatch:
    """Turns that one transaction opens: `insert`, run the gate, `read_new`; `read_answers` once it has committed."""

    def __init__(self, connection: AsyncConnection[Row], requests: Sequence[SayRequest]) -> None:
        self._connection = connection
        self._requests = requests
        self._new: set[int] = set()
        self._turns: dict[int, tuple[int | None, int]] = {}
        self._inputs: AsyncCursor[Row] | None = None

    async def insert(self, parameters: dict[str, Any]) -> None:
        """Insert the turns that the limits allow and find the turn of every key. `parameters`: columns of new turns."""
        parameters = {
            **parameters,
            "visits": [request.visit for request in self._requests],
            "keys": [request.key for request in self._requests],
            "questions": [request.question for request in self._requests],
        }
        self._inserted = await self._connection.execute(INSERT_TURNS, parameters)
        self._named = await self._connection.execute(FIND_BY_KEY, parameters)

    async def read_new(self, admitted: Sequence[Admission]) -> list[tuple[int, int]]:
        """The new turns as (turn, conversation).

        Queries the prompt inputs of those that were admitted, if they are few; the result travels with the commit.
        """
        self._new = {row[0] for row in await self._inserted.fetchall()}
        self._turns = {
            place: (turn, conversation) for place, turn, conversation in await self._named.fetchall()
        }
        new = [admission.turn for admission in admitted if admission.turn in self._new]
        if 0 < len(new) <= MAX_INPUTS_READ:
            self._inputs = await query_prompt_inputs(self._connection, new)
        return [(turn, conversation) for turn, conversation in self._turns.values() if turn in self._new]

    async def read_answers(self) -> list[OpenedTurn | OpenRefusal]:
        """One answer for each request, in their order."""
        inputs = await fetch_prompt_inputs(self._inputs) if self._inputs else {}
        return [self._answer(place, inputs) for place in range(1, len(self._requests) + 1)]

    def _answer(self, place: int, inputs: dict[int, PromptInputs]) -> OpenedTurn | OpenRefusal:
        if place not in self._turns:
            return OpenRefusal.SIGNED_OUT
        turn, conversation = self._turns[place]
        if turn is None:
            return OpenRefusal.TOO_MANY
        is_new = turn in self._new
        # Of two requests with the same key in one batch, the first opened the turn.
        self._new.discard(turn)
        return OpenedTurn(turn=turn, conversation=conversation, is_new=is_new, inputs=inputs.get(turn))
