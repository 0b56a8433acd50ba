"""The questions that are held now, oldest first, of all sites. Each member of staff sees those of their own sites."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from companion.turn_conditions import is_held

MAX_PER_SITE = 10
MAX_READ = 1_000
"""Held questions that are looked at, those whose hold ends first: a long outage holds those of everyone."""

# The range has two ends: without statistics, the planner takes an open range for a third of the table.
IS_HELD = f"""{is_held("t")} AND t.held_until < statement_timestamp() + interval '1 year'"""

# Materialized, so that the index over `held_until` is read first and the joins follow for held turns alone.
SELECT_HELD = f"""
WITH held AS MATERIALIZED (
    SELECT t.id, t.conversation_id, t.created_at, t.held_until FROM companion_turn t WHERE {IS_HELD}
    ORDER BY t.held_until LIMIT {MAX_READ}
),
placed AS (
    SELECT h.id, s.id AS site, p.id AS participant, p.name AS person, s.name AS house, h.created_at, h.held_until,
           row_number() OVER (PARTITION BY s.id ORDER BY h.id) AS place
    FROM held h
    JOIN companion_conversation c ON c.id = h.conversation_id
    JOIN companion_participant p ON p.id = c.participant_id
    JOIN companion_site s ON s.id = p.site_id
)
SELECT id, site, participant, person, house, created_at, held_until
FROM placed WHERE place <= %(max_per_site)s ORDER BY id
"""
PARAMS = {"max_per_site": MAX_PER_SITE}


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldQuestion:
    """One held question, without its text."""

    turn: int
    site: int
    participant: int
    person: str
    house: str
    asked_at: datetime
    held_until: datetime


def parse_held(rows: Iterable[tuple[Any, ...]]) -> list[HeldQuestion]:
    """The rows that SELECT_HELD gives."""
    return [
        HeldQuestion(
            turn=turn,
            site=site,
            participant=participant,
            person=person,
            house=house,
            asked_at=asked_at,
            held_until=held_until,
        )
        for turn, site, participant, person, house, asked_at, held_until in rows
    ]


def filter_by_sites(questions: Iterable[HeldQuestion], sites: Collection[int]) -> list[HeldQuestion]:
    """The oldest MAX_PER_SITE of these sites together."""
    return [question for question in questions if question.site in sites][:MAX_PER_SITE]
