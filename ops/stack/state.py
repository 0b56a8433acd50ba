"""The state folder of one `up`: its lock, its secret key, what runs, and where other commands find it."""

import contextlib
import errno
import fcntl
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from ops.stack.errors import AlreadyRunning, CannotStart, DiskFull, is_disk_full
from ops.stack.process import Running

ROOM_NEEDED = 400_000_000
"""Bytes that must be free at the start: an empty cluster takes 60 MB, its first logs and words the rest."""
CLEARING_LIMIT_S = 180.0


class StateFolder:
    """The paths under one state folder, and the small files in it. Everything private is mode 0600 or 0700."""

    def __init__(self, path: Path, *, room_needed: int = ROOM_NEEDED, called: Path | None = None) -> None:
        """`called` is the name to print where `path` leads through a descriptor."""
        self.path = path.absolute()
        self._called = called or self.path
        self._room_needed = room_needed
        self.run = self.path / "run"
        self.environment = self.run / "environment.json"
        self.children = self.run / "children.json"

    def log(self, name: str) -> Path:
        """Where the child called `name` writes."""
        return self.path / "log" / f"{name}.log"

    @contextlib.contextmanager
    def lock(self) -> Iterator[int]:
        """Hold the folder's lock, and yield its descriptor for the guard to hold too. Raises AlreadyRunning."""
        self._make()
        lock = self._open_lock()
        try:
            self._take(lock)
            # The number of this process, for the message of a second start. The lock alone decides.
            os.ftruncate(lock, 0)
            os.pwrite(lock, str(os.getpid()).encode(), 0)
            yield lock
        finally:
            os.close(lock)

    def _make(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            for private in (self.run, self.path / "log"):
                private.mkdir(mode=0o700, exist_ok=True)
            (self.path / "static").mkdir(exist_ok=True)
            free = shutil.disk_usage(self.path).free
        except OSError as refusal:
            if is_disk_full(refusal):
                raise
            raise CannotStart(
                f"{refusal.filename} cannot be used by this account: {refusal.strerror}. "
                "Start as the account it belongs to, or choose another folder with --state."
            ) from refusal
        if free < self._room_needed:
            raise DiskFull(
                f"The disk of {self._called} is too full: {free // 1_000_000} MB are left, and "
                f"{self._room_needed // 1_000_000} MB are needed. Make some room, or choose another --state folder."
            )

    def _open_lock(self) -> int:
        try:
            return os.open(self.run / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError as refusal:
            if refusal.errno != errno.ELOOP:
                raise
            raise CannotStart(
                f"{self._called / 'run' / 'lock'} is a link, and must be a file. Look at it, then remove it."
            ) from None

    def _take(self, lock: int) -> None:
        deadline = time.monotonic() + CLEARING_LIMIT_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                holder = os.pread(lock, 20, 0).decode() or "0"
                # The owner is gone and its guard is still clearing up behind it: that takes seconds.
                if Running.of(int(holder)) is not None or time.monotonic() > deadline:
                    raise AlreadyRunning(
                        f"Another scripts/up (process {holder}) serves from {self._called}. "
                        "Stop it first, or give this one a folder of its own with --state."
                    ) from None
            time.sleep(0.1)

    def secret_key_file(self) -> Path:
        """The file with the secret key, made at the first start and the same ever after."""
        path = self.path / "secret_key"
        if not path.exists():
            write_private(path, secrets.token_urlsafe(50))
        return path

    def publish(self, facts: Mapping[str, object]) -> None:
        """Let management commands find what runs here."""
        write_private(self.environment, json.dumps(facts, indent=1))

    def withdraw(self) -> None:
        """Nothing runs here any more."""
        self.environment.unlink(missing_ok=True)
        self.children.unlink(missing_ok=True)


def write_private(path: Path, text: str) -> None:
    """Write a file of mode 0600, whole or not at all."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        with open(
            os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600),
            "w",
            encoding="utf-8",
        ) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        # After the fsync, so that a crash leaves the old file or the whole new one.
        partial.rename(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
