"""Words that are typed and not sent, stored for the same participant's next visit and shown to no one else.

There is one row for each conversation, so the table does not grow with use. Uses Django's connection.
"""

from typing import Any
from uuid import UUID

from django.db import connection

from companion.frames import clean_text
from companion.visits.ends import EndReason

MAX_DRAFT_CHARS = 16_000
"""Unicode code points. Pages send no more."""
LATE_S = 60
"""How long after an end that its participant did not ask for the page of a visit may save a last time."""
_LATE_ENDS = ", ".join(
    f"'{reason}'" for reason in (EndReason.EXPIRED, EndReason.IDLE, EndReason.MOVED, EndReason.STAFF)
)
RETENTION_S = 72 * 3_600
"""How long words are offered again; a job deletes older ones."""

# A visit that is locked or over may still save what was typed in its last moments; it reads nothing. A visit that its
# participant has ended may not, nor one that ended longer ago.
SAVE = f"""
INSERT INTO companion_draft (conversation_id, visit, text, saved_at)
SELECT c.id, v.id, %(text)s, clock_timestamp()
FROM companion_visit v
JOIN companion_participant p ON p.id = v.participant_id AND p.is_active
JOIN companion_conversation c ON c.participant_id = p.id
WHERE v.id = %(visit)s AND c.id = %(conversation)s
  AND (v.ended_at IS NULL OR v.end_reason = ANY(ARRAY[{_LATE_ENDS}])
       AND v.ended_at > clock_timestamp() - make_interval(secs => {LATE_S}))
ON CONFLICT (conversation_id)
DO UPDATE SET visit = excluded.visit, text = excluded.text, saved_at = excluded.saved_at
"""
DISCARD = """
DELETE FROM companion_draft d USING companion_visit v, companion_conversation c
WHERE v.id = %s AND c.participant_id = v.participant_id AND d.conversation_id = c.id
"""
# Words that were sent as the page was left are no draft any more.
FIND = """
SELECT d.text FROM companion_draft d
WHERE d.conversation_id = %(conversation)s AND (d.visit <> %(visit)s OR %(own)s)
  AND d.saved_at > clock_timestamp() - make_interval(secs => %(kept_s)s)
  AND btrim(d.text, E' \\n\\t') IS DISTINCT FROM (
      SELECT t.question FROM companion_turn t WHERE t.conversation_id = d.conversation_id ORDER BY t.id DESC LIMIT 1)
"""
DELETE_OLD = "DELETE FROM companion_draft WHERE saved_at < clock_timestamp() - make_interval(secs => %s)"


def save(visit: UUID, *, conversation: int, text: str) -> bool:
    """Store the words of a visit in place of earlier ones. False: the conversation is not the visit's, or the visit was
    ended."""
    with connection.cursor() as cursor:
        cursor.execute(SAVE, {"visit": visit, "conversation": conversation, "text": clean_text(text)})
        return bool(cursor.rowcount == 1)


def discard(visit: UUID) -> None:
    """Delete what the participant of this visit has typed."""
    with connection.cursor() as cursor:
        cursor.execute(DISCARD, [visit])


def find_earlier(conversation: int, visit: UUID, *, own: bool = False) -> str:
    """Return the words that an earlier visit of this participant left in the box; empty: none.

    `own`: this visit's words as well, for a page of it that was left and is there again.
    """
    facts: dict[str, Any] = {"conversation": conversation, "visit": visit, "own": own, "kept_s": RETENTION_S}
    with connection.cursor() as cursor:
        cursor.execute(FIND, facts)
        row = cursor.fetchone()
    return str(row[0]) if row else ""


def delete_old() -> int:
    """Delete words older than `RETENTION_S`; returns how many rows."""
    with connection.cursor() as cursor:
        cursor.execute(DELETE_OLD, [RETENTION_S])
        return int(cursor.rowcount)
