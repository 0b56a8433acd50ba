"""PURE: recognises times that a wrong clock has set."""

from datetime import datetime, timedelta

CLOCK_TOLERANCE = timedelta(minutes=5)
"""Allowed difference between the clocks of two machines."""


def is_in_the_future(made_at: datetime, now: datetime) -> bool:
    """Return whether a backup is dated in the future, so that its real time is unknown."""
    return made_at > now + CLOCK_TOLERANCE
