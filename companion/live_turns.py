"""SQL about live turns: those that wait or speak, a few rows among millions that have ended.

A plan made while few turns were stored is kept when there are millions. So each condition here can be answered by one
small index only: `turn_beside` is ordered by `conversation_id + 0, id + 0`, no other is. `OFFSET 0` keeps the planner
from turning the question into a join, whose order it would choose by statistics.
"""

EARLIER_IS_LIVE = """EXISTS (
    SELECT 1 FROM companion_turn earlier
    WHERE earlier.conversation_id + 0 = t.conversation_id AND earlier.id + 0 < t.id
      AND earlier.state IN ('waiting', 'speaking')
    OFFSET 0
)"""
"""Whether turn `t` stands behind an earlier turn of its own person."""

LIVE_BESIDE = """(
    SELECT count(*) FROM companion_turn live
    WHERE live.conversation_id + 0 = a.conversation AND live.state IN ('waiting', 'speaking')
)"""
"""How many live turns the conversation `a.conversation` has."""
