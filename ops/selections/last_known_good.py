"""The copy of the selection on local disk: written only after it was found valid, read before anything else."""

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
    """One file for all processes of a machine. Its version only rises, whichever of them writes."""

    def __init__(self, state_dir: Path, routing: Routing) -> None:
        self._folder = state_dir / "routing"
        self.path = self._folder / "last_known_good.json"
        self._routing = routing

    def read(self) -> Selection | None:
        """The copy; None where there is none. Raises SelectionInvalid; an unreadable file is one."""
        try:
            return selection.read(self.path.read_bytes(), self._routing)
        except FileNotFoundError:
            return None
        except OSError as failure:
            raise SelectionInvalid(f"the copy on disk: cannot be read ({type(failure).__name__}).") from None

    def write(self, chosen: Selection) -> bool:
        """Put it there unless the copy is as new. False: it was. Raises OSError."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            # Two processes that read, compare and write at once could leave the older one.
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self.version >= chosen.version:
                return False
            write_private(self.path, json.dumps(selection.to_document(chosen), indent=1))
            return True
        finally:
            os.close(lock)

    @property
    def version(self) -> int:
        """Of the copy; 0 where there is none that could be used."""
        try:
            copy = self.read()
        except SelectionInvalid:
            return 0
        return copy.version if copy else 0
