"""The guard of a private folder: outlives a command that was killed, ends what runs there, discards the folder."""

import contextlib
import sys
from pathlib import Path

from ops.stack import guard
from ops.stack.state import StateFolder
from ops.testbed import private_folder

PROGRAM = "ops.testbed.folder_guard"
KEEP_FOLDER = b"keep"
"""Written by a command that outlives its children: it still reads the folder, and discards it itself."""


def main() -> None:
    """Wait for the end of the measurement, then clear up behind it."""
    said = guard.wait_for_end()
    state = StateFolder(Path(sys.argv[1]))
    guard.clear_up(state)
    with contextlib.suppress(private_folder.NoPrivateFolder):
        if said != KEEP_FOLDER and private_folder.current() == state.path:
            private_folder.discard(state.path)


if __name__ == "__main__":
    main()
