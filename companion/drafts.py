"""Words that are typed and not sent: kept on the service for the same person's next visit, and read by nobody else.

One row for each conversation, so that it never grows. Uses Django's connection: no page may hold a socket up.
"""

from uuid import UUID

from django.db import connection

from companion.frames import clean_text

MAX_DRAFT_CHARS = 16_000
"""Code points. Pages send no more."""
RETENTION_S = 72 * 3_600
"""How long words are offered again; older ones are dropped by a job."""

# A visit whose time is up may still hand over what was typed in its last moments, for as long as its session lives. It
# reads nothing. A visit that was ended may not: its person has decided.
KEEP = """
INSERT INTO companion_draft (conversation_id, visit, text, saved_at)
SELECT c.id, v.id, %(text)s, clock_timestamp()
FROM companion_visit v
JOIN companion_participant p ON p.id = v.participant_id AND p.is_active
JOIN companion_conversation c ON c.participant_id = p.id
WHERE v.id = %(visit)s AND v.ended_at IS NULL AND c.id = %(conversation)s
ON CONFLICT (conversation_id)
DO UPDATE SET visit = excluded.visit, text = excluded.text, saved_at = excluded.saved_at
"""
DISCARD = """
DELETE FROM companion_draft d USING companion_visit v, companion_conversation c
WHERE v.id = %s AND c.participant_id = v.participant_id AND d.conversation_id = c.id
"""
LEFT_BEFORE = """
SELECT text FROM companion_draft
WHERE conversation_id = %s AND visit <> %s AND saved_at > clock_timestamp() - make_interval(secs => %s)
"""
DROP_OLD = "DELETE FROM companion_draft WHERE saved_at < clock_timestamp() - make_interval(secs => %s)"


def save(visit: UUID, *, conversation: int, text: str) -> bool:
    """Keep the words of a visit in place of what was kept. False: this conversation is not that visit's, or it was
    ended."""
    with connection.cursor() as cursor:
        cursor.execute(KEEP, {"visit": visit, "conversation": conversation, "text": clean_text(text)})
        return bool(cursor.rowcount == 1)


def discard(visit: UUID) -> None:
    """Forget what the person of this visit has typed."""
    with connection.cursor() as cursor:
        cursor.execute(DISCARD, [visit])


def find_earlier(conversation: int, visit: UUID) -> str:
    """The words that an earlier visit of this person left in the box; empty: none."""
    with connection.cursor() as cursor:
        cursor.execute(LEFT_BEFORE, [conversation, visit, RETENTION_S])
        row = cursor.fetchone()
    return str(row[0]) if row else ""


def delete_old() -> int:
    """Drop words that nobody came back for; returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(DROP_OLD, [RETENTION_S])
        return int(cursor.rowcount)
