"""Questions that are held now, oldest first, of every site: each member of staff is shown those of their own."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from companion.turn_conditions import is_held

SHOWN = 10

# The held turns first, by the index over their time, and only then whose they are. The range has two ends because a
# planner without statistics takes an open one for a third of the table.
HELD = f"""
WITH held AS MATERIALIZED (
    SELECT t.id, t.conversation_id, t.created_at, t.held_until
    FROM companion_turn t
    WHERE {is_held("t")} AND t.held_until < statement_timestamp() + interval '1 year'
),
placed AS (
    SELECT h.id, s.id AS site, p.name AS person, s.name AS house, h.created_at, h.held_until,
           row_number() OVER (PARTITION BY s.id ORDER BY h.id) AS place
    FROM held h
    JOIN companion_conversation c ON c.id = h.conversation_id
    JOIN companion_participant p ON p.id = c.participant_id
    JOIN companion_site s ON s.id = p.site_id
)
SELECT id, site, person, house, created_at, held_until FROM placed WHERE place <= %(shown)s ORDER BY id
"""
FACTS = {"shown": SHOWN}


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """One question, without a word of it."""

    turn: int
    site: int
    person: str
    house: str
    asked_at: datetime
    held_until: datetime


def held(rows: Iterable[tuple[Any, ...]]) -> list[Held]:
    """What HELD found."""
    return [
        Held(turn=turn, site=site, person=person, house=house, asked_at=asked_at, held_until=held_until)
        for turn, site, person, house, asked_at, held_until in rows
    ]


def of_sites(found: Iterable[Held], sites: Collection[int]) -> list[Held]:
    """The oldest of these sites."""
    return [one for one in found if one.site in sites][:SHOWN]
