"""The file of an export: it has its name only once it is whole, and never replaces another."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ops.changes import ChangeRefused


def check_target(path: Path) -> None:
    """Raises ChangeRefused where a file cannot be written newly under this name."""
    if path.exists() or path.is_symlink():
        raise ChangeRefused(f"{path} is there already.")
    if not path.parent.is_dir():
        raise ChangeRefused(f"There is no folder {path.parent}.")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise ChangeRefused(f"This account cannot write into {path.parent}.")


@contextlib.contextmanager
def write_export(path: Path) -> Iterator[IO[str]]:
    """A file for its owner alone, which gets its name at the end of the block. Raises ChangeRefused and OSError.

    A run that is killed leaves a hidden part, which the next run for the same name writes anew.
    """
    check_target(path)
    part = path.with_name(f".{path.name}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ChangeRefused(f"Another export writes {path} now.") from None
        if os.fstat(descriptor).st_uid != os.geteuid():
            raise ChangeRefused(f"{part} belongs to another account.")
        try:
            os.fchmod(descriptor, 0o600)
            os.ftruncate(descriptor, 0)
            yield file
            file.flush()
            os.fsync(descriptor)
            check_target(path)
            part.rename(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
