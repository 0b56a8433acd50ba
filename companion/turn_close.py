"""The statements that end turns: lock the rows, fold their words into them, drop the pieces.

Three statements, not one: a fold that runs in the statement that waited for the row lock would read the
words as they stood before the wait, and lose a flush that committed meanwhile.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg import AsyncCursor

from companion.live_turns import EARLIER_IS_LIVE
from companion.states import Reason, TurnState
from routing.errors import FailureClass

Row = tuple[Any, ...]

LOCK_NAMED = f"""
SELECT t.id
FROM companion_turn t
JOIN unnest(%(ids)s::bigint[], %(owners)s::uuid[], %(fences)s::int[], %(only_in_line)s::bool[])
     AS c(id, owner, fence, only_in_line) ON c.id = t.id
WHERE (NOT c.only_in_line AND t.state IN ('waiting', 'speaking')
       OR c.only_in_line AND t.state = 'waiting' AND clock_timestamp() >= t.wait_until + (
           SELECT coalesce(greatest(max(before.closed_at) - t.created_at, interval '0'), interval '0')
           FROM (SELECT closed_at FROM companion_turn
                 WHERE conversation_id = t.conversation_id AND id < t.id ORDER BY id DESC LIMIT 8) before)
       AND NOT {EARLIER_IS_LIVE})
  AND (c.owner IS NULL OR c.owner = t.owner)
  AND (c.fence IS NULL OR c.fence = t.fence)
ORDER BY t.id
FOR NO KEY UPDATE OF t
"""

FOLD = """
UPDATE companion_turn t
SET state = c.state,
    reason = c.reason,
    line = CASE WHEN t.state = 'waiting' AND c.line_unread <> '' THEN c.line_unread ELSE c.line END,
    shortened = c.shortened,
    reply = coalesce(w.said, ''),
    seq = coalesce(w.seq, 0),
    cuts = coalesce(w.cuts, '{}'),
    held_until = CASE WHEN c.hold_s IS NOT NULL
                      THEN clock_timestamp() + make_interval(secs => c.hold_s) END,
    closed_at = clock_timestamp()
FROM unnest(%(ids)s::bigint[], %(states)s::text[], %(reasons)s::text[], %(lines)s::text[],
            %(shortened)s::bool[], %(hold_s)s::float8[], %(shown)s::int[], %(lines_unread)s::text[])
     AS c(id, state, reason, line, shortened, hold_s, shown, line_unread)
LEFT JOIN LATERAL (
    SELECT string_agg(s.text, '' ORDER BY s.seq) AS said,
           max(s.seq) AS seq,
           array_agg(char_length(s.text) ORDER BY s.seq) AS cuts
    FROM companion_spoken s WHERE s.turn_id = c.id AND (c.shown IS NULL OR s.seq <= c.shown)
) w ON true
WHERE t.id = c.id
RETURNING t.id, t.conversation_id, t.state, t.seq, t.line, t.owner
"""

DROP_PIECES = "DELETE FROM companion_spoken WHERE turn_id = ANY(%(ids)s)"


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending:
    """How one turn is to end. `hold_s` keeps the question for a later turn; None lets it go."""

    turn: int
    state: TurnState
    reason: Reason | FailureClass
    line: str = ""
    line_unread: str = ""
    """Shown in its place where the turn had not been admitted: the question has not been read by anything."""
    shortened: bool = False
    hold_s: float | None = None
    shown: int | None = None
    """The last piece anyone was shown, when the owner knows that a later one may be stored; None: all of them."""
    owner: UUID | None = None
    """Only if this process still owns the turn; None: whoever owns it."""
    fence: int | None = None
    only_in_line: bool = False
    """Only while it stands in the waiting room, and has stood there for the whole wait: not admitted meanwhile, and the
    time behind an earlier turn of its own person, which is no crowd, does not count."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClosedTurn:
    """A turn that this transaction ended."""

    turn: int
    conversation: int
    state: str
    seq: int
    line: str
    owner: UUID


async def end_turns(cursor: AsyncCursor[Row], endings: Sequence[Ending]) -> list[ClosedTurn]:
    """End those of the turns that are still live and still owned as named; the others are left as they are."""
    if not endings:
        return []
    await cursor.execute(
        LOCK_NAMED,
        {
            "ids": [ending.turn for ending in endings],
            "owners": [ending.owner for ending in endings],
            "fences": [ending.fence for ending in endings],
            "only_in_line": [ending.only_in_line for ending in endings],
        },
    )
    locked = {row[0] for row in await cursor.fetchall()}
    return await fold(cursor, [ending for ending in endings if ending.turn in locked])


async def fold(cursor: AsyncCursor[Row], endings: Sequence[Ending]) -> list[ClosedTurn]:
    """Fold turns whose rows this transaction has locked."""
    if not endings:
        return []
    ids = [ending.turn for ending in endings]
    await cursor.execute(
        FOLD,
        {
            "ids": ids,
            "states": [ending.state.value for ending in endings],
            "reasons": [ending.reason.value for ending in endings],
            "lines": [ending.line for ending in endings],
            "shortened": [ending.shortened for ending in endings],
            "hold_s": [ending.hold_s for ending in endings],
            "shown": [ending.shown for ending in endings],
            "lines_unread": [ending.line_unread for ending in endings],
        },
    )
    ended = [
        ClosedTurn(turn=turn, conversation=conversation, state=state, seq=seq, line=line, owner=owner)
        for turn, conversation, state, seq, line, owner in await cursor.fetchall()
    ]
    await cursor.execute(DROP_PIECES, {"ids": ids})
    return ended
