"""The language of a participant: the one recorded for them, or else that of their site.

Statements that show a drafted line are given it in every language, as JSON, and choose by the row they read.
"""

from collections.abc import Sequence

from psycopg import AsyncCursor

from companion.rows import Row
from companion.turn_policy import TurnPolicy

OF_PERSON = """coalesce((
    SELECT nullif(n.language, '') FROM companion_needs n WHERE n.participant_id = p.id), s.language)"""
"""The language of the participant `p` of the site `s`."""

FIND_LANGUAGES = f"""
SELECT c.id, {OF_PERSON}
FROM companion_conversation c
JOIN companion_participant p ON p.id = c.participant_id
JOIN companion_site s ON s.id = p.site_id
WHERE c.id = ANY(%(conversations)s)
"""


def line_in(parameter: str, language: str) -> str:
    """Write the SQL that chooses from a parameter of `TurnPolicy.by_language`. `language` is an SQL expression."""
    texts = f"%({parameter})s::jsonb"
    return f"coalesce({texts} ->> {language}, {texts} ->> '')"


async def find_languages(cursor: AsyncCursor[Row], conversations: Sequence[int]) -> dict[int, str]:
    """Return the language of the participant of each of these conversations."""
    await cursor.execute(FIND_LANGUAGES, {"conversations": list(conversations)})
    return dict(await cursor.fetchall())


async def speak_to(cursor: AsyncCursor[Row], policy: TurnPolicy, conversation: int) -> TurnPolicy:
    """Return the policy with the texts in the language of the participant of a conversation."""
    found = await find_languages(cursor, [conversation])
    return policy.in_language(found.get(conversation, ""))
