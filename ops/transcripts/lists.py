"""Finds the turns of a page of a list by index, however many turns are stored and however few of them are in the list.

Who sees all sites reads the newest rows of the list. For others the newest of each person of their sites is looked up,
and then the rows of the people with the newest ones: a page of N turns is of N people at most.

Uses Django's connection.
"""

from collections.abc import Collection
from dataclasses import dataclass

from django.db import connection

from companion.turn_conditions import is_held, is_live, is_unanswered
from ops.transcripts.records import TurnList

NEAR = 1_000
"""Questions without an answer whose holds end next to each other, among which a page is in the order of ids."""

# The indexes: `turn_ended_apart` and `turn_of_person_apart` for states that few turns end in; `turn_held_until`,
# `turn_unanswered_of_person` and `turn_unsettled` for questions without an answer; `turn_live` and `turn_beside`.
# `t.id + 0` and `t.conversation_id + 0` keep the planner from walking the primary key. The lateral read of a person's
# conversation keeps it from reading all of them.
_EVERYWHERE = """
SELECT t.id FROM companion_turn t
WHERE {condition} AND t.id {compare} %(after)s ORDER BY {order} LIMIT %(size)s
"""
_EVERYWHERE_NEAR = f"""
SELECT near.id FROM (
    SELECT t.id FROM companion_turn t
    WHERE {{condition}} AND t.id {{compare}} %(after)s ORDER BY t.held_until {{direction}} LIMIT {NEAR}
) near ORDER BY near.id {{direction}} LIMIT %(size)s
"""
_OF_SITES = """
WITH person AS MATERIALIZED (
    SELECT c.id FROM companion_participant p
    CROSS JOIN LATERAL (SELECT id FROM companion_conversation WHERE participant_id = p.id LIMIT 1) c
    WHERE p.site_id = ANY(%(sites)s)
),
front AS MATERIALIZED (
    SELECT person.id, first.place FROM person CROSS JOIN LATERAL (
        SELECT {place} AS place FROM companion_turn t
        WHERE {conversation} = person.id AND {condition} AND {place} {compare} %(after)s
        ORDER BY {order} LIMIT 1) first
    ORDER BY first.place {direction} LIMIT %(size)s
)
SELECT next.place FROM front CROSS JOIN LATERAL (
    SELECT {place} AS place FROM companion_turn t
    WHERE {conversation} = front.id AND {condition} AND {place} {compare} %(after)s
    ORDER BY {order} LIMIT %(size)s) next
ORDER BY next.place {direction} LIMIT %(size)s
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Shape:
    """How a list is read. `order_of_person`, and `order` over all turns, match an index."""

    condition: str
    order: str = ""
    """Empty: the list has questions without an answer, and follows the end of their holds."""
    order_of_person: str
    place: str = "t.id"
    """The id, as the index of a person has it."""
    conversation: str = "t.conversation_id"
    oldest_first: bool = False

    def write(self, *, everywhere: bool) -> str:
        template = (_EVERYWHERE if self.order else _EVERYWHERE_NEAR) if everywhere else _OF_SITES
        return template.format(
            condition=self.condition,
            place=self.place,
            order=self.order if everywhere else self.order_of_person,
            conversation=self.conversation,
            compare=">" if self.oldest_first else "<",
            direction="" if self.oldest_first else "DESC",
        )


def _ended(state: str) -> _Shape:
    return _Shape(
        condition=f"t.state = '{state}'",
        order="t.state DESC, t.id DESC",
        order_of_person="t.conversation_id DESC, t.state DESC, t.id DESC",
    )


_SHAPES = {
    TurnList.NOW: _Shape(
        condition=is_live("t"),
        order="t.id",
        order_of_person="t.conversation_id + 0, t.id + 0",
        place="(t.id + 0)",
        conversation="t.conversation_id + 0",
        oldest_first=True,
    ),
    # Most turns are: the newest are soon found.
    TurnList.ANSWERED: _Shape(
        condition="t.state = 'complete'",
        order="t.id DESC",
        order_of_person="t.conversation_id DESC, t.id DESC",
    ),
    TurnList.PAUSED: _ended("paused"),
    TurnList.REFUSED: _ended("refused"),
    TurnList.STOPPED: _ended("stopped"),
    TurnList.HELD: _Shape(
        condition=is_held("t"),
        order_of_person="t.id + 0",
        place="(t.id + 0)",
        conversation="t.conversation_id + 0",
        oldest_first=True,
    ),
    TurnList.EXPIRED: _Shape(
        condition=f"{is_unanswered('t')} AND t.held_until <= statement_timestamp()",
        order_of_person="t.conversation_id + 0 DESC, t.id + 0 DESC",
        place="(t.id + 0)",
        conversation="t.conversation_id + 0",
    ),
}
_FIRST, _LAST = 0, 2**63 - 1


def find_turns(
    name: TurnList, *, sites: Collection[int], everywhere: bool, after: int | None, size: int
) -> list[int]:
    """The ids of the next `size` turns of a list, in its order. `everywhere`: of all sites, whatever `sites` names."""
    shape = _SHAPES[name]
    start = after if after is not None else _FIRST if shape.oldest_first else _LAST
    with connection.cursor() as cursor:
        cursor.execute(
            shape.write(everywhere=everywhere), {"sites": sorted(sites), "after": start, "size": size}
        )
        found = [turn for (turn,) in cursor.fetchall()]
    return sorted(found, reverse=not shape.oldest_first)
