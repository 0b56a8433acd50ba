"""The visibility query in its forms, and the statements that read turns with it.

No read for a participant returns a half answer: a paused turn shows its question and its drafted line, and no chunk of
its reply. Nor does a reply that a red message ended: none of it is shown again. Staff who watch are shown both.
"""

from companion.languages import line_in
from companion.states import Reason
from companion.turn_conditions import EARLIER_IS_LIVE, is_live

# The wording of a safety line is decided within a second; until then the turn reads as waiting.
STORED_STATE = (
    """CASE WHEN t.state = 'safety' AND t.show_at > clock_timestamp() THEN 'waiting' ELSE t.state END"""
)
# A turn whose owner's lease has run out reads as paused, so that a page does not wait for a dead process.
EFFECTIVE_STATE = f"""CASE WHEN {is_live("t")}
                 AND (p.id IS NULL OR p.beat_at < clock_timestamp() - make_interval(secs => %(lease_s)s))
                THEN 'paused' ELSE {STORED_STATE} END"""
_HIDES_REPLY = f"(seen.state = 'paused' OR t.state = 'handed_over' AND t.reason = '{Reason.RED}')"


def _build_query(
    *, question: str, reply: str, chunk_lengths: str, said: str, state: str, hides_reply: str = _HIDES_REPLY
) -> str:
    """Build the visibility query. The arguments are SQL expressions for the texts to read and for the state."""
    return f"""
SELECT t.id, t.key, t.conversation_id, {question},
       CASE WHEN {hides_reply} THEN '[]'::jsonb ELSE t.openings END,
       CASE WHEN {hides_reply} THEN ''
            WHEN t.state = 'speaking' THEN coalesce(w.said, '')
            ELSE {reply} END,
       seen.state,
       CASE WHEN seen.state = 'paused' THEN coalesce(nullif(t.line, ''), {line_in("pause", "t.language")})
            WHEN seen.state = 'waiting' AND (t.state = 'safety' OR {EARLIER_IS_LIVE}) THEN ''
            WHEN seen.state = 'waiting' THEN {line_in("queued", "t.language")}
            WHEN seen.state = 'speaking' AND t.first_word_at IS NULL
                 AND t.admitted_at <= clock_timestamp() - make_interval(secs => %(still_here_s)s)
            THEN {line_in("still_here", "t.language")}
            ELSE t.line END,
       CASE WHEN t.state = 'speaking' THEN coalesce(w.seq, 0)
            WHEN t.state = 'handed_over' AND {hides_reply} THEN 0 ELSE t.seq END,
       CASE WHEN {hides_reply} THEN '{{}}' ELSE {chunk_lengths} END, t.owner,
       t.state = 'refused' OR t.state = 'stopped' AND t.admitted_at IS NULL, t.reason, t.language
FROM companion_turn t
LEFT JOIN companion_process p ON p.id = t.owner
CROSS JOIN LATERAL (
    SELECT {state} AS state
) seen
LEFT JOIN LATERAL (
    SELECT {said} AS said, max(s.seq) AS seq
    FROM companion_replychunk s WHERE s.turn_id = t.id AND t.state = 'speaking'
) w ON true
"""


VISIBLE = _build_query(
    question="t.question",
    reply="t.reply",
    chunk_lengths="t.chunk_lengths",
    said="string_agg(s.text, '' ORDER BY s.seq)",
    state=EFFECTIVE_STATE,
)
WHOLE = _build_query(
    question="t.question",
    reply="t.reply",
    chunk_lengths="t.chunk_lengths",
    said="string_agg(s.text, '' ORDER BY s.seq)",
    state=EFFECTIVE_STATE,
    hides_reply="false",
)
# Without texts: watchers poll the states of many turns several times a second. The stored state is read and not the
# effective one, because an owner whose heartbeat is only late goes on speaking.
STATES = _build_query(
    question="''", reply="''", chunk_lengths="'{}'::int[]", said="''::text", state=STORED_STATE
)
READ_STATES = f"{STATES} WHERE t.id = ANY(%(turns)s) ORDER BY t.id"

# The ids first, from the index, so that the texts of these turns are read and of no others.
_OF_LATEST = """
WHERE t.id IN (
    SELECT last.id FROM unnest(%(conversations)s::bigint[]) AS c(id)
    CROSS JOIN LATERAL (
        SELECT id FROM companion_turn WHERE conversation_id = c.id ORDER BY id DESC LIMIT %(limit)s) last
) ORDER BY t.id
"""
READ_LATEST = f"{VISIBLE} {_OF_LATEST}"
READ_LATEST_WHOLE = f"{WHOLE} {_OF_LATEST}"
READ_BEFORE = f"""
{VISIBLE} WHERE t.conversation_id = %(conversation)s AND t.id < %(turn)s ORDER BY t.id DESC LIMIT %(limit)s
"""
READ_AFTER = (
    f"{VISIBLE} WHERE t.conversation_id = %(conversation)s AND t.id > %(turn)s ORDER BY t.id LIMIT %(limit)s"
)
READ_TURNS = f"{VISIBLE} WHERE t.id = ANY(%(turns)s) ORDER BY t.id"

# The row comparison follows the index, whatever the statistics say.
FIND_NEWER = """
SELECT c.id, newer.id FROM unnest(%(conversations)s::bigint[], %(after)s::bigint[]) AS c(id, after)
CROSS JOIN LATERAL (
    SELECT t.id FROM companion_turn t
    WHERE t.conversation_id = c.id AND (t.conversation_id, t.id) > (c.id, c.after)
    ORDER BY t.conversation_id, t.id LIMIT %(limit)s
) newer
"""

READ_CHUNKS = """
SELECT s.turn_id, s.seq, s.text FROM companion_replychunk s
JOIN unnest(%(turns)s::bigint[], %(after)s::int[]) AS c(id, seq) ON c.id = s.turn_id
WHERE s.seq > c.seq ORDER BY s.turn_id, s.seq
"""

# Whether an earlier turn showed the line under the same selection, within the time that a visit lasts.
SAID_REDUCED = """
SELECT EXISTS (
    SELECT 1 FROM companion_turn t
    JOIN companion_turn e ON e.conversation_id = t.conversation_id AND e.id < t.id
    WHERE t.id = %(turn)s AND e.routing_version = %(version)s
      AND e.created_at > clock_timestamp() - interval '8 hours' AND e.openings @> '[{"kind": "reduced"}]')
"""
