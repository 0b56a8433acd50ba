"""The log file of each child under the state folder: kept small, private, readable after a failure."""

import contextlib
import os
import shutil
from pathlib import Path
from typing import BinaryIO

LARGEST_BYTES = 5_000_000


def open_log(path: Path) -> BinaryIO:
    """Open for appending, mode 0600; a file above 5 MB becomes `.1` first. A link is refused with an OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > LARGEST_BYTES:
        path.replace(path.with_name(path.name + ".1"))
    return open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600), "ab")


def keep_small(folder: Path) -> None:
    """Put the text of each log above 5 MB aside as `.1`, and go on with an empty one, while its writers write on.

    What is written in between is lost: moments, once in weeks. Every log here is opened for appending, so that the
    next line goes to its new beginning.
    """
    for path in folder.glob("*.log"):
        # A full disk has a sentence of its own; here the log is the last thing that matters.
        with contextlib.suppress(OSError):
            if path.stat().st_size > LARGEST_BYTES:
                aside = path.with_name(path.name + ".1")
                with (
                    path.open("rb") as long,
                    open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as kept,
                ):
                    shutil.copyfileobj(long, kept)
                os.truncate(path, 0)


def tail(path: Path, *, size: int = 1500, since: int = 0) -> str:
    """The end of a log as text, at most `size` bytes of it, nothing from before the offset `since`.

    A log that is shorter than `since` has begun anew meanwhile.
    """
    try:
        with path.open("rb") as log:
            end = log.seek(0, os.SEEK_END)
            log.seek(max(since if since <= end else 0, end - size))
            return log.read().decode("utf-8", "replace")
    except OSError:
        return ""
