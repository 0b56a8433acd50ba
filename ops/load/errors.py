"""Why there is no load test.

CannotLoad     nothing was begun: no service, a lane that is not the rehearsal provider, a plan out of bounds
"""


class CannotLoad(Exception):
    """The load test cannot be made here. The text says why, and what mends it."""
