"""The quiet after a red message: the companion says nothing until staff release it, or its time is over."""

from collections.abc import Sequence

from psycopg import AsyncCursor

from companion.rows import Row
from companion.states import Reason
from companion.supervision.control import CARE_S, IS_QUIET
from companion.supervision.seizure import seize
from companion.turn_close import ClosedTurn

MAX_ENDED = 50
"""Quiet spells that one statement ends."""

# A person who is there answers the message, so the companion need not be quiet.
CLAIM_QUIET = f"""
UPDATE companion_control k
SET quiet_since = CASE WHEN k.person IS NOT NULL OR {IS_QUIET} THEN k.quiet_since ELSE clock_timestamp() END,
    quiet_until = CASE WHEN k.person IS NOT NULL THEN k.quiet_until
                       ELSE clock_timestamp() + make_interval(secs => %(quiet_s)s) END,
    quiet_told = k.quiet_told AND {IS_QUIET}
WHERE k.conversation_id = %(conversation)s
RETURNING k.person
"""

RELEASE = f"""
UPDATE companion_control k
SET care_until = clock_timestamp() + make_interval(secs => {CARE_S}),
    quiet_since = NULL, quiet_until = NULL, quiet_told = false
FROM companion_conversation c JOIN companion_participant p ON p.id = c.participant_id
WHERE k.conversation_id = %(conversation)s AND c.id = k.conversation_id AND p.site_id = ANY(%(sites)s)
  AND k.quiet_since IS NOT NULL
RETURNING k.conversation_id
"""

END_QUIET = f"""
WITH over AS (
    SELECT conversation_id FROM companion_control
    WHERE quiet_since IS NOT NULL AND quiet_until <= clock_timestamp()
    ORDER BY quiet_until LIMIT {MAX_ENDED} FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE companion_control k
SET care_until = k.quiet_until + make_interval(secs => {CARE_S}),
    quiet_since = NULL, quiet_until = NULL, quiet_told = false
FROM over WHERE k.conversation_id = over.conversation_id
RETURNING k.conversation_id
"""


async def claim_quiet(
    cursor: AsyncCursor[Row], conversation: int, *, quiet_s: int | None
) -> tuple[int | None, list[ClosedTurn]] | None:
    """Make the companion quiet after a red message, unless a person is there: returns their id, and the turns closed.

    None: the conversation is erased. Raises LiveTurnsBusy.
    """

    async def claim() -> Row | None:
        await cursor.execute(CLAIM_QUIET, {"conversation": conversation, "quiet_s": quiet_s})
        return await cursor.fetchone()

    seized = await seize(cursor, conversation, claim=claim, reason=Reason.RED)
    if seized is None:
        return None
    [person], closed = seized
    return person, closed


async def release(cursor: AsyncCursor[Row], *, conversation: int, sites: Sequence[int]) -> bool:
    """Let the companion speak again after a red message. False: it was not quiet, or is not of these sites."""
    await cursor.execute(RELEASE, {"conversation": conversation, "sites": list(sites)})
    return await cursor.fetchone() is not None


async def end_quiet(cursor: AsyncCursor[Row]) -> list[int]:
    """Note the conversations whose quiet time is over. It is over without this, too: every reader compares the time."""
    await cursor.execute(END_QUIET)
    return [row[0] for row in await cursor.fetchall()]
