"""How the turns on an open page stand: enough to see that the page is outdated, and none of their text."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from companion.turn_conditions import is_unanswered
from ops.transcripts.records import build_state_key

# "Expired" as in `ops.transcripts.queries`. The newest chunk is the last one of its turn in the index of chunks.
SELECT_TURN_MARKS = f"""
SELECT t.id, p.site_id, t.state, t.answered_by_id,
       coalesce({is_unanswered("t")} AND t.held_until <= clock_timestamp(), false),
       t.settled, jsonb_array_length(t.openings),
       coalesce((SELECT max(s.seq) FROM companion_replychunk s WHERE s.turn_id = t.id), 0)
FROM companion_turn t
JOIN companion_conversation c ON c.id = t.conversation_id
JOIN companion_participant p ON p.id = c.participant_id
WHERE t.id = ANY(%(turns)s)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnMark:
    """How one turn stands. `seq`: of its newest chunk, while it is live."""

    site: int
    state_key: str
    seq: int


def parse_marks(rows: Iterable[tuple[Any, ...]]) -> dict[int, TurnMark]:
    """The rows that SELECT_TURN_MARKS gives, by turn."""
    return {
        turn: TurnMark(
            site=site, state_key=build_state_key(state, answered_by, is_expired, settled, openings), seq=seq
        )
        for turn, site, state, answered_by, is_expired, settled, openings, seq in rows
    }
