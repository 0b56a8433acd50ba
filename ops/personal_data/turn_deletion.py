"""Deletes the oldest turns of a conversation with everything that hangs on them."""

from datetime import datetime

from django.db import connection, transaction

# Statistics may be older than the rows, so for this transaction the planner may only walk the index in its order.
WALK_INDEX = """
SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
       set_config('enable_sort', 'off', true)
"""

# The first rows by the index `turn_by_conversation`, and only then the condition on their age: what is read does not
# grow with what is kept.
OLDEST = """
SELECT oldest.id FROM (
    SELECT id, closed_at FROM companion_turn WHERE conversation_id = %(conversation)s ORDER BY id LIMIT %(at_most)s
) oldest
WHERE %(before)s::timestamptz IS NULL OR oldest.closed_at < %(before)s
"""

# In this order, because the constraints of the database are checked by row.
DELETIONS = (
    "UPDATE companion_turn SET answered_by_id = NULL WHERE answered_by_id = ANY(%s)",
    "DELETE FROM companion_attempt WHERE turn_id = ANY(%s)",
    "DELETE FROM companion_replychunk WHERE turn_id = ANY(%s)",
    "DELETE FROM companion_turn WHERE id = ANY(%s)",
)


@transaction.atomic
def delete_oldest_turns(conversation: int, *, at_most: int, before: datetime | None = None) -> int:
    """Delete up to `at_most` turns, the oldest, and return how many. With `before`, only those that ended earlier."""
    with connection.cursor() as cursor:
        cursor.execute(WALK_INDEX)
        cursor.execute(OLDEST, {"conversation": conversation, "at_most": at_most, "before": before})
        turns = [turn for (turn,) in cursor.fetchall()]
        if turns:
            for statement in DELETIONS:
                cursor.execute(statement, [turns])
    return len(turns)
