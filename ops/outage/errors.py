"""Errors of an outage rehearsal.

CannotRehearse     it did not start: no site, no running service; says the mend
RehearsalBroke     it started, and the service did something that it never should
"""


class CannotRehearse(Exception):
    """The rehearsal cannot start. The text says why, and the mend."""


class RehearsalBroke(Exception):
    """The rehearsal stopped in the middle. The text says where."""
