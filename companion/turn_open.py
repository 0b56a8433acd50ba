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
from companion.languages import OF_PERSON, line_in
from companion.prompt_inputs import PromptInputs, fetch_prompt_inputs, query_prompt_inputs
from companion.rows import Row
from companion.states import LIVE, Reason
from companion.supervision.control import IS_QUIET
from companion.supervision.disclosure import insert_disclosures
from companion.supervision.flags import notify_flags_changed, raise_flag
from companion.supervision.noticing import Notice
from companion.supervision.pauses import pause_in_force
from companion.supervision.states import FlagSource
from companion.turn_conditions import LIVE_BESIDE
from companion.turn_policy import TurnPolicy
from companion.visits.conditions import IS_LIVE, WITH_PERSON
from companion.waiting_room import Admission

# Only a live visit of an active person at an open site may open a turn; the same key again opens nothing. `beside`
# counts messages of the same person before it in the same batch. The rate limit reads one old turn by index, so its
# cost does not grow with the history.
#
# The control row is locked FOR SHARE: a turn is opened either before a take-over, which then ends it, or after it, and
# PostgreSQL reads a row again that it has waited for. While a person is there, or the companion is quiet or paused by
# staff, the turn ends as it is stored: it takes no slot. So does a farewell, which is answered by a drafted line.
INSERT_TURNS = f"""
WITH allowed AS MATERIALIZED (
    SELECT asked.key, asked.question, asked.farewell, asked.place, c.id AS conversation, p.id AS participant,
           s.id AS site, {OF_PERSON} AS language, head.lane, head.takes, coalesce(n.easy_words, false) AS easy_words,
           k.person, k.quiet_told, {IS_QUIET} AS is_quiet
    FROM unnest(%(visits)s::uuid[], %(keys)s::uuid[], %(questions)s::text[], %(farewells)s::bool[])
         WITH ORDINALITY AS asked(visit, key, question, farewell, place)
    JOIN companion_visit v ON v.id = asked.visit AND {IS_LIVE}
    {WITH_PERSON}
    JOIN companion_control k ON k.conversation_id = c.id
    LEFT JOIN companion_needs n ON n.participant_id = p.id
    LEFT JOIN LATERAL ({FIRST_LANE}) head ON true
    FOR SHARE OF k
),
asking AS (
    SELECT a.*, row_number() OVER (PARTITION BY a.conversation ORDER BY a.place) - 1 AS beside, pause.scope,
           CASE WHEN a.person IS NOT NULL THEN '{Reason.PERSON}' WHEN a.is_quiet THEN '{Reason.QUIET}'
                WHEN pause.scope IS NOT NULL THEN '{Reason.STAFF_PAUSE}'
                WHEN a.farewell THEN '{Reason.GOODBYE}' ELSE '' END AS reason
    FROM allowed a
    LEFT JOIN LATERAL ({pause_in_force("a.participant", "a.site")}) pause ON true
),
limited AS (
    SELECT a.*, CASE WHEN a.reason IN ('{Reason.PERSON}', '{Reason.QUIET}') THEN %(unanswered_per_minute)s
                     ELSE %(messages_per_minute)s END AS per_minute
    FROM asking a
),
opened AS (
    INSERT INTO companion_turn (conversation_id, key, question, state, reason, line, held_until, closed_at, owner,
                                persona_version, language, wait_until, lane, lane_takes, preset_ceiling, house_ceiling,
                                preset, routing_version, easy_words)
    SELECT a.conversation, a.key, a.question,
           CASE a.reason WHEN '' THEN 'waiting' WHEN '{Reason.STAFF_PAUSE}' THEN 'paused'
                         WHEN '{Reason.GOODBYE}' THEN 'complete' ELSE 'handed_over' END,
           a.reason,
           CASE WHEN a.reason = '{Reason.QUIET}' AND NOT a.quiet_told AND a.beside = 0
                THEN {line_in("held_quiet", "a.language")}
                WHEN a.scope = 'person' AND a.reason = '{Reason.STAFF_PAUSE}'
                THEN {line_in("staff_pause_person", "a.language")}
                WHEN a.reason = '{Reason.STAFF_PAUSE}' THEN {line_in("staff_pause_site", "a.language")}
                WHEN a.reason = '{Reason.GOODBYE}' THEN {line_in("goodbye", "a.language")} ELSE '' END,
           CASE WHEN a.reason = '{Reason.STAFF_PAUSE}'
                THEN clock_timestamp() + make_interval(secs => %(hold_s)s) END,
           CASE WHEN a.reason <> '' THEN clock_timestamp() END,
           %(owner)s, {line_in("persona", "a.language")}, a.language,
           clock_timestamp() + make_interval(secs => %(wait_s)s),
           coalesce(a.lane, ''), coalesce(a.takes, %(any)s), %(preset_ceiling)s, %(ceiling)s, %(preset)s,
           %(version)s, a.easy_words
    FROM limited a
    WHERE (a.reason <> '' OR %(live_turns_per_person)s - a.beside > {LIVE_BESIDE})
      AND a.per_minute > a.beside
      AND coalesce((SELECT t.created_at FROM companion_turn t WHERE t.conversation_id = a.conversation
                    ORDER BY t.id DESC OFFSET greatest(a.per_minute - a.beside - 1, 0) LIMIT 1), '-infinity')
          <= clock_timestamp() - interval '1 minute'
    ORDER BY a.place
    ON CONFLICT (conversation_id, key) DO NOTHING
    RETURNING id, conversation_id, state, reason, line, language
),
told AS (
    UPDATE companion_control k SET quiet_told = true FROM opened o
    WHERE k.conversation_id = o.conversation_id AND o.reason = '{Reason.QUIET}' AND o.line <> ''
)
SELECT id, state, language FROM opened
"""

# Tells the three answers apart: no row, the visit is over; a row without a turn, a limit; a row with one, it is stored.
FIND_BY_KEY = f"""
SELECT asked.place, t.id, t.conversation_id
FROM unnest(%(visits)s::uuid[], %(keys)s::uuid[]) WITH ORDINALITY AS asked(visit, key, place)
JOIN companion_visit v ON v.id = asked.visit AND {IS_LIVE}
{WITH_PERSON}
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
    language: str = ""
    """Of the participant; empty: the first of the character."""
    notice: Notice | None = None
    """What the rules noticed in it: its flag is raised in the transaction that stores it."""
    asks_if_human: bool = False
    """It asks whether this is a person, and is answered by the drafted line as well."""
    is_farewell: bool = False
    """It takes leave and says nothing else: it is answered by the drafted goodbye alone."""
    ends_with_farewell: bool = False
    """It takes leave at its end: the drafted goodbye follows the reply."""


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
    is_ended: bool = False
    """It ended as it was stored: a person reads it, the companion is quiet or paused by staff, or it took leave."""
    language: str = ""
    """The language of its drafted lines, if it is new; empty: the first of the character."""
    inputs: PromptInputs | None = None
    """Its prompt inputs, if the transaction that opened it admitted it, and few others (`MAX_INPUTS_READ`)."""


def open_parameters(policy: TurnPolicy, process: UUID) -> dict[str, Any]:
    """The columns of turns that a process opens, and the limits under which it opens them, without their lane."""
    return {
        "owner": process,
        "persona": policy.versions_by_language(),
        "wait_s": policy.wait_ceiling_s,
        "ceiling": policy.ceiling,
        "live_turns_per_person": policy.live_turns_per_person,
        "messages_per_minute": policy.messages_per_minute,
        "unanswered_per_minute": policy.unanswered_per_minute,
        "hold_s": policy.hold_s,
        "held_quiet": policy.by_language("held_quiet"),
        "staff_pause_person": policy.by_language("staff_pause_person"),
        "staff_pause_site": policy.by_language("staff_pause_site"),
        "goodbye": policy.by_language("goodbye"),
    }


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
        self._new: dict[int, str] = {}
        self._languages: dict[int, str] = {}
        self._turns: dict[int, tuple[int | None, int]] = {}
        self._inputs: AsyncCursor[Row] | None = None

    async def insert(self, parameters: dict[str, Any]) -> None:
        """Insert the turns that the limits allow and find the turn of every key. `parameters`: columns of new turns."""
        parameters = {
            **parameters,
            "visits": [request.visit for request in self._requests],
            "keys": [request.key for request in self._requests],
            "questions": [request.question for request in self._requests],
            "farewells": [request.is_farewell for request in self._requests],
        }
        self._inserted = await self._connection.execute(INSERT_TURNS, parameters)
        self._named = await self._connection.execute(FIND_BY_KEY, parameters)

    async def read_new(self, admitted: Sequence[Admission], policy: TurnPolicy) -> list[tuple[int, int]]:
        """The new turns as (turn, conversation).

        Queries the prompt inputs of those that were admitted, if they are few; the result travels with the commit.
        """
        inserted = await self._inserted.fetchall()
        self._new = {turn: state for turn, state, _ in inserted}
        self._languages = {turn: language for turn, _, language in inserted}
        self._turns = {
            place: (turn, conversation) for place, turn, conversation in await self._named.fetchall()
        }
        # Before the prompt inputs are read: they carry the openings of the turn.
        await self._disclose(policy)
        new = [admission.turn for admission in admitted if admission.turn in self._new]
        if 0 < len(new) <= MAX_INPUTS_READ:
            self._inputs = await query_prompt_inputs(self._connection, new)
        return [(turn, conversation) for turn, conversation in self._turns.values() if turn in self._new]

    async def raise_flags(self, cursor: AsyncCursor[Row]) -> None:
        """Raise the flags of the new turns, and notify. The gate is held, so no other opening waits for them."""
        raised = []
        for place, request in enumerate(self._requests, start=1):
            turn, conversation = self._turns.get(place, (None, 0))
            if request.notice is None or turn is None or turn not in self._new:
                continue
            cause = request.notice.to_cause(FlagSource.MESSAGE, conversation=conversation, turn=turn)
            if flag := await raise_flag(cursor, cause):
                raised.append(flag)
        await notify_flags_changed(cursor, raised)

    async def _disclose(self, policy: TurnPolicy) -> None:
        """Say where it is due, and where it is asked for, that this is a computer program."""
        opened = [
            (turn, request.asks_if_human)
            for place, request in enumerate(self._requests, start=1)
            if (turn := self._turns.get(place, (None, 0))[0]) is not None and self._new.get(turn) in LIVE
        ]
        await insert_disclosures(self._connection, opened, policy)

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
        # Of two requests with the same key in one batch, the first opened the turn.
        state = self._new.pop(turn, None)
        return OpenedTurn(
            turn=turn,
            conversation=conversation,
            is_new=state is not None,
            is_ended=state is not None and state not in LIVE,
            language=self._languages.get(turn, ""),
            inputs=inputs.get(turn),
        )
