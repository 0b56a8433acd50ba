"""Errors of a load test.

CannotLoad     the test did not start: no service, a lane that is not the rehearsal provider, a plan out of bounds
"""


class CannotLoad(Exception):
    """The load test cannot start. The text says why, and the mend."""
