"""The log file of each child under the state folder: kept small, private, readable after a failure."""

import os
from pathlib import Path
from typing import BinaryIO

LARGEST_BYTES = 5_000_000


def open_log(path: Path) -> BinaryIO:
    """Open for appending, mode 0600; a file above 5 MB becomes `.1` first."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > LARGEST_BYTES:
        path.replace(path.with_name(path.name + ".1"))
    return open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab")


def tail(path: Path, *, size: int = 1500, since: int = 0) -> str:
    """The end of a log as text, at most `size` bytes of it, nothing from before the offset `since`."""
    try:
        with path.open("rb") as log:
            end = log.seek(0, os.SEEK_END)
            log.seek(max(since, end - size))
            return log.read().decode("utf-8", "replace")
    except OSError:
        return ""
