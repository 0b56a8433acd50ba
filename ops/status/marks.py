"""How turns stand that a page shows: enough to see that the page is no longer right, and no word of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from companion.turn_conditions import is_unanswered
from ops.transcripts.shapes import standing

# The newest piece is the last of its turn in the index of pieces.
MARKS = f"""
SELECT t.id, p.site_id, t.state, t.answered_by_id,
       coalesce({is_unanswered("t")} AND t.held_until <= clock_timestamp(), false),
       t.settled, jsonb_array_length(t.openings),
       coalesce((SELECT max(s.seq) FROM companion_spoken s WHERE s.turn_id = t.id), 0)
FROM companion_turn t
JOIN companion_conversation c ON c.id = t.conversation_id
JOIN companion_participant p ON p.id = c.participant_id
WHERE t.id = ANY(%(turns)s)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """How one turn stands: `stands` as a page was served with it, `seq` of the newest piece while it is said."""

    site: int
    stands: str
    seq: int


def marks(rows: Iterable[tuple[Any, ...]]) -> dict[int, Mark]:
    """What MARKS found, by turn."""
    return {
        turn: Mark(site=site, stands=standing(state, answered_by, is_expired, settled, openings), seq=seq)
        for turn, site, state, answered_by, is_expired, settled, openings, seq in rows
    }
