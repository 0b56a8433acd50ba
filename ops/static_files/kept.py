"""Files of earlier and later releases, in a folder that the web processes of a machine share.

A page that was opened just before a release asks the new process for the old names, and the other way round.
Nothing here is needed for a page of this release, so a folder that cannot be used costs a page nothing.
"""

import contextlib
import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

HASHED = re.compile(r"(?P<stem>[a-z0-9_/-]+)\.(?P<hash>[0-9a-f]{12})(?P<kind>\.[a-z]+)")
MAX_FILES = 1_000
"""About thirty releases without a file in common, and 3 MB."""


class KeptFiles:
    """Files by the names that carry their hash, in one folder, those of the newest starts first."""

    def __init__(self, folder: Path, *, max_files: int = MAX_FILES) -> None:
        self._folder = folder
        self._max_files = max_files

    def keep(self, files: Mapping[str, bytes]) -> None:
        """Store missing files and remove the oldest beyond the maximum. Raises OSError."""
        for name, content in files.items():
            path = self._folder / name
            if _size(path) == len(content):
                os.utime(path)
            else:
                _write(path, content)
        self._remove_oldest()

    def find(self, name: str) -> bytes | None:
        """What is in a file, by its name; None when it is not there, or is not what its name says."""
        parts = HASHED.fullmatch(name)
        if parts is None:
            return None
        try:
            content = (self._folder / name).read_bytes()
        except OSError:
            return None
        # A disk that was full, or a machine that went dark, may have left half a file.
        whole = hashlib.md5(content, usedforsecurity=False).hexdigest().startswith(parts["hash"])
        return content if whole else None

    def _remove_oldest(self) -> None:
        ages = []
        for path in self._folder.rglob("*.*"):
            # Another process may be removing the same files.
            with contextlib.suppress(FileNotFoundError):
                ages.append((path.stat().st_mtime, path))
        for _, path in sorted(ages, reverse=True)[self._max_files :]:
            path.unlink(missing_ok=True)


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # No process number in the name: two containers on one volume are often both number 1.
    partial = path.with_name(f"{path.name}.{os.urandom(8).hex()}.partial")
    try:
        partial.write_bytes(content)
        # Whole or not at all: the processes of a machine start together and write the same names.
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
