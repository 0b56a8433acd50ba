"""The only writer of turns. Every change names the state and owner it expects and looks at what came back.

Opening and ending turns run the gate in the same transaction, so a freed slot is taken by the very commit
that frees it. Both gather: all openings of a moment are one transaction, and so are all endings.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any
from uuid import UUID

from psycopg import AsyncCursor
from psycopg_pool import AsyncConnectionPool

from companion.batch import Batch
from companion.doorbell import ring
from companion.folding import EndedTurn, Row, end_turns
from companion.heads import HEAD, REROUTE, where
from companion.house import House
from companion.record import Story, record
from companion.sweep import pause_away, pause_orphans
from companion.waiting_room import (
    ENTER_LANE,
    Admitted,
    GateResult,
    admitted_from,
    lock_gate,
    run_gate,
)
from routing.chain import Route
from routing.contracts import Lane

# Only a live visit of an active person at an open site may open a turn; the same key again opens nothing.
INSERT = f"""
INSERT INTO companion_turn (conversation_id, key, question, state, owner, persona_version, wait_until,
                            lane, lane_takes, preset_ceiling, house_ceiling, preset, routing_version)
SELECT c.id, asked.key, asked.question, 'waiting', %(owner)s, %(persona)s,
       clock_timestamp() + make_interval(secs => %(wait_s)s),
       coalesce(head.lane, ''), coalesce(head.takes, %(any)s), %(preset_ceiling)s, %(ceiling)s, %(preset)s,
       %(version)s
FROM unnest(%(visits)s::uuid[], %(keys)s::uuid[], %(questions)s::text[])
     WITH ORDINALITY AS asked(visit, key, question, place)
JOIN companion_visit v ON v.id = asked.visit AND v.ended_at IS NULL AND v.expires_at > clock_timestamp()
JOIN companion_participant p ON p.id = v.participant_id AND p.is_active
JOIN companion_site s ON s.id = p.site_id AND s.is_open
JOIN companion_conversation c ON c.participant_id = p.id
LEFT JOIN LATERAL ({HEAD}) head ON true
WHERE %(most_waiting)s > (SELECT count(*) FROM companion_turn t
                          WHERE t.conversation_id = c.id AND t.state IN ('waiting', 'speaking'))
  AND %(most_a_minute)s > (SELECT count(*) FROM companion_turn t
                           WHERE t.conversation_id = c.id
                             AND t.created_at > clock_timestamp() - interval '1 minute')
ORDER BY asked.place
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

WATCHED = """
UPDATE companion_conversation c SET watched_at = clock_timestamp()
WHERE c.id = ANY(%(conversations)s)
  AND EXISTS (SELECT 1 FROM companion_turn t WHERE t.conversation_id = c.id AND t.state = 'waiting')
"""

MINE_ADMITTED = """
SELECT t.id, t.conversation_id, t.owner, t.fence, t.lane FROM companion_turn t
WHERE t.owner = %(owner)s AND t.state = 'speaking' AND t.id = ANY(%(ids)s)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A message as it came from a page, already mended and within its length."""

    visit: UUID
    key: UUID
    question: str


class NotOpened(Enum):
    """Why a message was not stored: nothing of it is lost, the page still has it."""

    SIGNED_OUT = "the visit has ended"
    TOO_MANY = "this person has as many turns under way, or has sent as many messages, as one may"


@dataclass(frozen=True, kw_only=True, slots=True)
class Opened:
    """The turn of a key. `is_new` is false when the key had been seen before."""

    turn: int
    conversation: int
    is_new: bool


class Ledger:
    """Writes turns on behalf of one process. `told` hears, after each commit, what it changed."""

    def __init__(
        self,
        pool: AsyncConnectionPool[Any],
        house: House,
        *,
        process: UUID,
        told: Callable[[GateResult, list[EndedTurn]], None],
        route: Callable[[], Route],
    ) -> None:
        self._pool = pool
        self._house = house
        self._process = process
        self._told = told
        self._route = route
        self._openings: Batch[Asked, Opened | NotOpened] = Batch(self._open_all)
        self._endings: Batch[Story, EndedTurn | None] = Batch(self._close_all)

    async def open(self, asked: Asked) -> Opened | NotOpened:
        """Store the question, waiting or admitted."""
        return await self._openings.submit(asked)

    async def close(self, story: Story) -> EndedTurn | None:
        """End a turn and free its slot. None: it had ended already, or is no longer this process's."""
        return await self._endings.submit(story)

    async def gate(self) -> GateResult:
        """Run the gate by itself: on a bell, and every second in case a bell was lost."""
        async with self._transaction() as cursor:
            await lock_gate(cursor)
            result = await run_gate(cursor, self._house)
            await ring(cursor, by=self._process, result=result)
        self._told(result, [])
        return result

    async def enter_lane(self, admitted: Admitted, lane: Lane) -> bool:
        """Move a turn on to a lane further down its chain. False: that lane takes no more, or the turn is lost."""
        facts = {
            "turn": admitted.turn,
            "owner": admitted.owner,
            "fence": admitted.fence,
            "lane": lane.name,
            "takes": lane.max_in_flight,
        }
        async with self._transaction() as cursor:
            await lock_gate(cursor)
            await cursor.execute(ENTER_LANE, facts)
            return await cursor.fetchone() is not None

    async def reroute(self) -> None:
        """Let the waiting turns of this process wait for the head of the chain that is in force now."""
        async with self._transaction() as cursor:
            # Rows first, then the gate, as those do who end turns.
            await cursor.execute(REROUTE, {"owner": self._process, **where(self._route())})
            await lock_gate(cursor)
            result = await run_gate(cursor, self._house)
            await ring(cursor, by=self._process, result=result)
        self._told(result, [])

    async def sweep(self, *, driven: list[int], watched: list[int]) -> None:
        """Pause turns of this process that no task drives, and waiting turns whose person has left.

        `watched` are the conversations with a page open here.
        """
        async with self._transaction() as cursor:
            await cursor.execute(WATCHED, {"conversations": watched})
            lost = await pause_orphans(cursor, self._house, process=self._process, driven=driven)
            lost += await pause_away(cursor, self._house)
            result = GateResult(admitted=[], lost=lost)
            await ring(cursor, by=self._process, result=result)
        self._told(result, [])

    async def admitted_among(self, turns: list[int]) -> list[Admitted]:
        """Which of this process's waiting turns have been admitted, in case the bell was lost."""
        async with self._pool.connection() as connection, connection.cursor() as cursor:
            await cursor.execute(MINE_ADMITTED, {"owner": self._process, "ids": turns})
            return [admitted_from(row) for row in await cursor.fetchall()]

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[AsyncCursor[Row]]:
        # The pool's connections commit each statement by itself; what belongs together says so. In a pipeline
        # statements travel together until somebody asks for a result.
        async with (
            self._pool.connection() as connection,
            connection.pipeline(),
            connection.transaction(),
            connection.cursor() as cursor,
        ):
            yield cursor

    async def _open_all(self, asked: Sequence[Asked]) -> list[Opened | NotOpened]:
        facts = {
            **where(self._route()),
            "visits": [one.visit for one in asked],
            "keys": [one.key for one in asked],
            "questions": [one.question for one in asked],
            "owner": self._process,
            "persona": self._house.persona_version,
            "wait_s": self._house.wait_ceiling_s,
            "ceiling": self._house.ceiling,
            "most_waiting": self._house.most_waiting,
            "most_a_minute": self._house.most_a_minute,
        }
        async with self._transaction() as cursor:
            await lock_gate(cursor)
            inserted = await cursor.connection.execute(INSERT, facts)
            named = await cursor.connection.execute(FIND, facts)
            # The gate is the first to ask for a result: until then everything travels together.
            result = await run_gate(cursor, self._house)
            new = {row[0] for row in await inserted.fetchall()}
            found = {place: (turn, conversation) for place, turn, conversation in await named.fetchall()}
            opened = [(turn, conversation) for turn, conversation in found.values() if turn in new]
            await ring(cursor, by=self._process, result=result, opened=opened)
        answers: list[Opened | NotOpened] = []
        for place in range(1, len(asked) + 1):
            if place not in found:
                answers.append(NotOpened.SIGNED_OUT)
                continue
            turn, conversation = found[place]
            if turn is None:
                answers.append(NotOpened.TOO_MANY)
                continue
            answers.append(Opened(turn=turn, conversation=conversation, is_new=turn in new))
            # The same key twice in one batch is new once.
            new.discard(turn)
        self._told(result, [])
        return answers

    async def _close_all(self, stories: Sequence[Story]) -> list[EndedTurn | None]:
        async with self._transaction() as cursor:
            ended = await end_turns(cursor, [story.ending for story in stories])
            by_turn = {one.turn: one for one in ended}
            told = [story for story in stories if story.ending.turn in by_turn]
            await record(cursor, told, by_turn)
            await lock_gate(cursor)
            result = await run_gate(cursor, self._house)
            await ring(cursor, by=self._process, result=result, ended=ended)
        self._told(result, ended)
        return [by_turn.pop(story.ending.turn, None) for story in stories]
