"""The statements that open turns, and what is known of each turn once they have run.

They are asked without waiting and read after the gate has run, so that an opening is one trip to the database and
its commit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection, AsyncCursor

from companion.lane_order import HEAD
from companion.live_turns import LIVE_BESIDE
from companion.prompt_inputs import PromptInputs, ask_materials, materials
from companion.turn_close import Row
from companion.waiting_room import Admission

# Only a live visit of an active person at an open site may open a turn; the same key again opens nothing. `beside` are
# those of the same person that are asked in the same moment. Of a long history only the newest turns are looked at.
INSERT = f"""
WITH asking AS (
    SELECT asked.key, asked.question, asked.place, c.id AS conversation, head.lane, head.takes,
           row_number() OVER (PARTITION BY c.id ORDER BY asked.place) - 1 AS beside
    FROM unnest(%(visits)s::uuid[], %(keys)s::uuid[], %(questions)s::text[])
         WITH ORDINALITY AS asked(visit, key, question, place)
    JOIN companion_visit v ON v.id = asked.visit AND v.ended_at IS NULL AND v.expires_at > clock_timestamp()
    JOIN companion_participant p ON p.id = v.participant_id AND p.is_active
    JOIN companion_site s ON s.id = p.site_id AND s.is_open
    JOIN companion_conversation c ON c.participant_id = p.id
    LEFT JOIN LATERAL ({HEAD}) head ON true
)
INSERT INTO companion_turn (conversation_id, key, question, state, owner, persona_version, wait_until,
                            lane, lane_takes, preset_ceiling, house_ceiling, preset, routing_version)
SELECT a.conversation, a.key, a.question, 'waiting', %(owner)s, %(persona)s,
       clock_timestamp() + make_interval(secs => %(wait_s)s),
       coalesce(a.lane, ''), coalesce(a.takes, %(any)s), %(preset_ceiling)s, %(ceiling)s, %(preset)s,
       %(version)s
FROM asking a
WHERE %(most_waiting)s - a.beside > {LIVE_BESIDE}
  AND %(most_a_minute)s > a.beside
  AND coalesce((SELECT t.created_at FROM companion_turn t WHERE t.conversation_id = a.conversation
                ORDER BY t.id DESC OFFSET greatest(%(most_a_minute)s - a.beside - 1, 0) LIMIT 1), '-infinity')
      <= clock_timestamp() - interval '1 minute'
ORDER BY a.place
ON CONFLICT (conversation_id, key) DO NOTHING
RETURNING id
"""

FIND = """
SELECT asked.place, t.id, t.conversation_id
FROM unnest(%(visits)s::uuid[], %(keys)s::uuid[]) WITH ORDINALITY AS asked(visit, key, place)
JOIN companion_visit v ON v.id = asked.visit AND v.ended_at IS NULL AND v.expires_at > clock_timestamp()
JOIN companion_participant p ON p.id = v.participant_id AND p.is_active
JOIN companion_site s ON s.id = p.site_id AND s.is_open
JOIN companion_conversation c ON c.participant_id = p.id
LEFT JOIN companion_turn t ON t.conversation_id = c.id AND t.key = asked.key
"""

FEW = 4
"""Turns whose material is read by the transaction that lets them in. More of them would keep the gate closed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SayRequest:
    """A message as it came from a page, already mended and within its length."""

    visit: UUID
    key: UUID
    question: str


@dataclass(frozen=True, kw_only=True, slots=True)
class AskAgainRequest:
    """A kept question that its participant asks again. `turn` is the one that did not answer it."""

    visit: UUID
    key: UUID
    turn: int


class OpenRefusal(Enum):
    """Why a message was not stored: nothing of it is lost, the page still has it."""

    SIGNED_OUT = "the visit has ended"
    SETTLED = "the question that was asked again is not kept any more"
    TOO_MANY = "this person has as many turns under way, or has sent as many messages, as one may"


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenedTurn:
    """The turn of a key. `is_new` is false when the key had been seen before."""

    turn: int
    conversation: int
    is_new: bool
    material: PromptInputs | None = None
    """What its prompt may be made of, where it was let in at once and not in a crowd."""


async def find_opened(cursor: AsyncCursor[Row], asked: AskAgainRequest) -> OpenedTurn | OpenRefusal:
    """The turn that this key has opened before, where nothing may be opened any more."""
    await cursor.execute(FIND, {"visits": [asked.visit], "keys": [asked.key]})
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
    """Turns that one transaction opens together: `ask`, then the gate, then `read`; `answers` once it is committed."""

    def __init__(self, connection: AsyncConnection[Row], asked: Sequence[SayRequest]) -> None:
        self._connection = connection
        self._asked = asked
        self._new: set[int] = set()
        self._found: dict[int, tuple[int | None, int]] = {}
        self._materials: AsyncCursor[Row] | None = None

    async def ask(self, terms: dict[str, Any]) -> None:
        """Insert what may be inserted, and find the turn of every key. `terms` are those that new turns are given."""
        facts = {
            **terms,
            "visits": [one.visit for one in self._asked],
            "keys": [one.key for one in self._asked],
            "questions": [one.question for one in self._asked],
        }
        self._inserted = await self._connection.execute(INSERT, facts)
        self._named = await self._connection.execute(FIND, facts)

    async def read(self, admitted: Sequence[Admission]) -> list[tuple[int, int]]:
        """The new turns, each with its conversation. For the few of them that are among the admitted, ask for what
        their prompts may be made of; the answer travels with the commit."""
        self._new = {row[0] for row in await self._inserted.fetchall()}
        self._found = {place: (turn, of) for place, turn, of in await self._named.fetchall()}
        let_in = [one.turn for one in admitted if one.turn in self._new]
        if 0 < len(let_in) <= FEW:
            self._materials = await ask_materials(self._connection, let_in)
        return [(turn, of) for turn, of in self._found.values() if turn in self._new]

    async def answers(self) -> list[OpenedTurn | OpenRefusal]:
        """What each asker is told, in the order in which they asked."""
        read = await materials(self._materials) if self._materials else {}
        return [self._answer(place, read) for place in range(1, len(self._asked) + 1)]

    def _answer(self, place: int, read: dict[int, PromptInputs]) -> OpenedTurn | OpenRefusal:
        if place not in self._found:
            return OpenRefusal.SIGNED_OUT
        turn, conversation = self._found[place]
        if turn is None:
            return OpenRefusal.TOO_MANY
        is_new = turn in self._new
        # The same key twice in one moment is new once.
        self._new.discard(turn)
        return OpenedTurn(turn=turn, conversation=conversation, is_new=is_new, material=read.get(turn))
