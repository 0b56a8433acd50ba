"""SQL conditions on turns that several statements share.

Live turns, those that wait or speak, are a few rows among millions that have ended. A plan made while few turns were
stored is kept when there are millions. So each condition on neighbouring turns can be answered by one small index only:
`turn_beside` is ordered by `conversation_id + 0, id + 0`, no other is. `OFFSET 0` keeps the planner from turning the
subquery into a join, whose order it would choose by statistics.
"""

from companion.states import LIVE, Settlement, TurnState

_LIVE_STATES = ", ".join(f"'{state.value}'" for state in sorted(LIVE, reverse=True))


def is_live(turn: str) -> str:
    """The condition that the turn row with this alias is waiting or speaking: that of the partial indexes."""
    return f"{turn}.state IN ({_LIVE_STATES})"


def is_unanswered(turn: str) -> str:
    """The condition that the turn row with this alias is paused, and its question neither answered nor settled."""
    return (
        f"{turn}.state = '{TurnState.PAUSED}' AND {turn}.answered_by_id IS NULL"
        f" AND {turn}.settled = '{Settlement.NOT}'"
    )


def is_held(turn: str) -> str:
    """The condition that the question of the turn row with this alias is held for the next turn.

    The time is that of the statement, so that an index on `held_until` can bound the scan.
    """
    return f"{is_unanswered(turn)} AND {turn}.held_until > statement_timestamp()"


EARLIER_IS_LIVE = f"""EXISTS (
    SELECT 1 FROM companion_turn earlier
    WHERE earlier.conversation_id + 0 = t.conversation_id AND earlier.id + 0 < t.id
      AND {is_live("earlier")}
    OFFSET 0
)"""
"""Whether an earlier turn of the same conversation as `t` is live."""

LIVE_BESIDE = f"""(
    SELECT count(*) FROM companion_turn live
    WHERE live.conversation_id + 0 = a.conversation AND {is_live("live")}
)"""
"""How many live turns the conversation `a.conversation` has."""
