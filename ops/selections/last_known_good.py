"""The copy of the selection on local disk: written only after validation, read before anything else at a start."""

import fcntl
import json
import os
from pathlib import Path

from ops.stack.state import write_private
from routing import selection
from routing.errors import SelectionInvalid
from routing.lanes import Routing
from routing.selection import Selection


class LastKnownGood:
    """One file, shared by all processes of a machine. Its version only rises."""

    def __init__(self, state_dir: Path, routing: Routing) -> None:
        self._folder = state_dir / "routing"
        self.path = self._folder / "last_known_good.json"
        self._routing = routing

    def read(self) -> Selection | None:
        """The copy, if there is one. Raises SelectionInvalid, also for an unreadable file."""
        try:
            return selection.read(self.path.read_bytes(), self._routing)
        except FileNotFoundError:
            return None
        except OSError as failure:
            raise SelectionInvalid(f"the copy on disk: cannot be read ({type(failure).__name__}).") from None

    def write(self, chosen: Selection) -> bool:
        """Write the copy. Returns False, and writes nothing, if the copy is as new. Raises OSError."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            # Without the lock, two processes that compare and write at once could leave the older selection.
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self.version >= chosen.version:
                return False
            write_private(self.path, json.dumps(selection.to_document(chosen), indent=1))
            return True
        finally:
            os.close(lock)

    @property
    def version(self) -> int:
        """The version of the copy; 0 without a usable copy."""
        try:
            copy = self.read()
        except SelectionInvalid:
            return 0
        return copy.version if copy else 0
