"""The language of a participant: the one recorded for them, or else that of their site.

Statements that show a drafted line are given it in every language, as JSON, and choose by the row they read.
"""

from psycopg import AsyncCursor

from companion.rows import Row
from companion.turn_policy import CharacterTexts, TurnPolicy

OF_PERSON = """coalesce((
    SELECT nullif(n.language, '') FROM companion_needs n WHERE n.participant_id = p.id), s.language)"""
"""The language of the participant `p` of the site `s`."""

FIND_LANGUAGE = f"""
SELECT {OF_PERSON}
FROM companion_conversation c
JOIN companion_participant p ON p.id = c.participant_id
JOIN companion_site s ON s.id = p.site_id
WHERE c.id = %(conversation)s
"""


def line_in(parameter: str, language: str) -> str:
    """Write the SQL that chooses from a parameter of `TurnPolicy.by_language`. `language` is an SQL expression."""
    texts = f"%({parameter})s::jsonb"
    return f"coalesce({texts} ->> {language}, {texts} ->> '')"


async def find_texts(cursor: AsyncCursor[Row], policy: TurnPolicy, conversation: int) -> CharacterTexts:
    """Return the character's texts in the language of the participant of a conversation."""
    await cursor.execute(FIND_LANGUAGE, {"conversation": conversation})
    row = await cursor.fetchone()
    return policy.in_language(row[0] if row else "")
