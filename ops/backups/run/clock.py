"""PURE: dates that no clock can have shown yet."""

from datetime import datetime, timedelta

CLOCK_TOLERANCE = timedelta(minutes=5)
"""By how much the clocks of two machines may differ."""


def is_of_the_future(made_at: datetime, now: datetime) -> bool:
    """Whether a backup was dated by a clock that was wrong: when it was really made is unknown."""
    return made_at > now + CLOCK_TOLERANCE
