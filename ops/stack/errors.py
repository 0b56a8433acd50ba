"""Why the stack cannot start or go on, in a sentence a person can act on.

CannotStart           the one to catch; its text says what is wrong and what mends it
  AlreadyRunning      another `up` holds this state folder
  PortInUse           another program listens on a requested port
  DiskFull            there is no room to write
  ServerFailed        an embedded server did not come up; carries the end of its log
"""

import errno


class CannotStart(Exception):
    """The stack cannot run here. The text is meant for the person at the keyboard."""


class AlreadyRunning(CannotStart):
    """Another `up` holds this state folder."""


class PortInUse(CannotStart):
    """Another program listens on a requested port."""


class DiskFull(CannotStart):
    """There is no room to write."""


class ServerFailed(CannotStart):
    """An embedded server did not come up."""


NO_SPACE = "No space left on device"


def is_disk_full(error: OSError) -> bool:
    """Whether an OSError means that the disk, or this account's share of it, is full."""
    return error.errno in {errno.ENOSPC, errno.EDQUOT}
