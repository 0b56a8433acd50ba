"""The statements that close turns: lock the rows, fold the stored words into them, delete the chunks.

They are three statements: one that waits for a row lock reads the words as they stood before the wait, so it would lose
a flush that committed meanwhile.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg import AsyncCursor

from companion.rows import Row
from companion.turn_conditions import EARLIER_IS_LIVE, is_live
from companion.turn_end import TurnEnd

# In the order of ids, as everywhere, so that two transactions cannot deadlock. Without an owner or a fence any counts.
#
# `only_in_line` refuses a turn after its wait: it must still wait, and the time that it stood behind an earlier turn of
# the same person does not count. Eight turns back are enough, because a person has only a few live ones.
LOCK_TURNS = f"""
SELECT t.id
FROM companion_turn t
JOIN unnest(%(ids)s::bigint[], %(owners)s::uuid[], %(fences)s::int[], %(only_in_line)s::bool[])
     AS c(id, owner, fence, only_in_line) ON c.id = t.id
WHERE (NOT c.only_in_line AND {is_live("t")}
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

CLOSE_TURNS = """
UPDATE companion_turn t
SET state = c.state,
    reason = c.reason,
    line = CASE WHEN t.state = 'waiting' AND c.line_unread <> '' THEN c.line_unread ELSE c.line END,
    shortened = c.shortened,
    reply = coalesce(w.said, ''),
    seq = coalesce(w.seq, 0),
    chunk_lengths = coalesce(w.chunk_lengths, '{}'),
    held_until = CASE WHEN c.hold_s IS NOT NULL
                      THEN clock_timestamp() + make_interval(secs => c.hold_s) END,
    closed_at = clock_timestamp()
FROM unnest(%(ids)s::bigint[], %(states)s::text[], %(reasons)s::text[], %(lines)s::text[],
            %(shortened)s::bool[], %(hold_s)s::float8[], %(lines_unread)s::text[])
     AS c(id, state, reason, line, shortened, hold_s, line_unread)
LEFT JOIN LATERAL (
    SELECT string_agg(s.text, '' ORDER BY s.seq) AS said,
           max(s.seq) AS seq,
           array_agg(char_length(s.text) ORDER BY s.seq) AS chunk_lengths
    FROM companion_replychunk s WHERE s.turn_id = c.id
) w ON true
WHERE t.id = c.id
RETURNING t.id, t.conversation_id, t.state, t.seq, t.line, t.owner
"""

DELETE_CHUNKS = "DELETE FROM companion_replychunk WHERE turn_id = ANY(%(ids)s)"


@dataclass(frozen=True, kw_only=True, slots=True)
class ClosedTurn:
    """A turn that this transaction closed. `owner` is the process that ran it."""

    turn: int
    conversation: int
    state: str
    seq: int
    line: str
    owner: UUID


async def close_turns(cursor: AsyncCursor[Row], ends: Sequence[TurnEnd]) -> list[ClosedTurn]:
    """Close the turns that are still live, and whose owner and fence are those of their end. Skip the others."""
    if not ends:
        return []
    await cursor.execute(
        LOCK_TURNS,
        {
            "ids": [end.turn for end in ends],
            "owners": [end.owner for end in ends],
            "fences": [end.fence for end in ends],
            "only_in_line": [end.only_in_line for end in ends],
        },
    )
    locked = {row[0] for row in await cursor.fetchall()}
    return await close_locked(cursor, [end for end in ends if end.turn in locked])


async def close_locked(cursor: AsyncCursor[Row], ends: Sequence[TurnEnd]) -> list[ClosedTurn]:
    """Close live turns whose rows this transaction has locked."""
    if not ends:
        return []
    ids = [end.turn for end in ends]
    await cursor.execute(
        CLOSE_TURNS,
        {
            "ids": ids,
            "states": [end.state.value for end in ends],
            "reasons": [end.reason.value for end in ends],
            "lines": [end.line for end in ends],
            "shortened": [end.shortened for end in ends],
            "hold_s": [end.hold_s for end in ends],
            "lines_unread": [end.line_unread for end in ends],
        },
    )
    closed = [
        ClosedTurn(turn=turn, conversation=conversation, state=state, seq=seq, line=line, owner=owner)
        for turn, conversation, state, seq, line, owner in await cursor.fetchall()
    ]
    await cursor.execute(DELETE_CHUNKS, {"ids": ids})
    return closed
