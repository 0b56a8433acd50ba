"""The private folder of one run: its lock, its marker, the children it started, its dump and its server."""

import contextlib
import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ops.backups.run.error_mapping import reason_of
from ops.backups.run.errors import CouldNotRun
from ops.stack.process import Running, family, kill
from ops.stack.state import write_private

PREFIX = "restore_drill_"
KIND = "companion restore drill"
SAYS_WHOSE = frozenset({"marker.json", "lock", "children"})
"""The files by which the next run knows a folder as ours."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Marker:
    """What a run says about itself, in its folder and on its scratch database."""

    run: str
    source: str
    """The cluster's number and the database's name, or the archive's."""
    scratch: str
    """The name of its database."""
    kind: str = KIND
    version: int = 1

    def text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def read(cls, text: str | None) -> "Marker | None":
        """What was written by `text`, or None for anything else."""
        with contextlib.suppress(ValueError, TypeError):
            marker = cls(**json.loads(text or ""))
            if marker.kind == KIND and marker.version == 1:
                return marker
        return None


EMPTIES_AGAIN_S = (0.02, 0.05, 0.1, 0.2, 0.4)
"""How long is waited before a folder that would not go is emptied again."""


@dataclass(kw_only=True)
class RunFolder:
    """A folder that one living process holds."""

    path: Path
    lock: int = field(repr=False)

    @classmethod
    def make(cls, work: Path, marker: Marker) -> "RunFolder":
        """Make and hold the folder of a new run under `work`. Raises CouldNotRun."""
        path = work / f"{PREFIX}{marker.run}"
        try:
            prepare(work)
            path.mkdir(mode=_mode())
            os.chmod(path, _mode())
            lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            write_private(path / "marker.json", marker.text())
        except OSError as error:
            raise CouldNotRun(
                f"{work} cannot be used: {reason_of(error)}.", mend="Name another with --work."
            ) from None
        return cls(path=path, lock=lock)

    def note(self, pid: int) -> None:
        """Remember a child, so that the next run can end it if this one is killed."""
        running = Running.of(pid)
        if running is not None:
            with open(self.path / "children", "a", encoding="utf-8") as listed:
                listed.write(f"{running.pid} {running.created}\n")

    def remove(self) -> None:
        """Everything in it, and the folder."""
        remove(self.path)
        os.close(self.lock)


def prepare(work: Path) -> None:
    """Make the folder that holds the runs. Others may pass through it, and see nothing."""
    if not work.exists():
        work.mkdir(mode=_mode(), parents=True)
        # A folder that was there before keeps its mode; a new one does not depend on the umask.
        os.chmod(work, _mode())


def make_private(folder: Path) -> None:
    """Make a folder that only its owner enters, and what is missing above it. One that is there stays as it is."""
    if not folder.exists():
        make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def remove(path: Path) -> None:
    """End the children listed in a run's folder, and remove it with everything in it."""
    kill(process for running in children(path) for process in family(running))
    for pause_s in EMPTIES_AGAIN_S:
        _empty(path)
        if not path.exists():
            return
        # What a child had just started itself is on no list, and writes for a moment after its parent is gone.
        time.sleep(pause_s)
    _empty(path)


def _empty(path: Path) -> None:
    with contextlib.suppress(OSError):
        for entry in path.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            elif entry.name not in SAYS_WHOSE:
                entry.unlink(missing_ok=True)
        # These go last, so that a folder that could not be emptied is still known as ours by the next run.
        if {entry.name for entry in path.iterdir()} <= SAYS_WHOSE:
            shutil.rmtree(path, ignore_errors=True)


def children(path: Path) -> list[Running]:
    """What the run of this folder has started."""
    with contextlib.suppress(OSError, ValueError):
        lines = (path / "children").read_text(encoding="utf-8").splitlines()
        pairs = [line.split() for line in lines]
        return [Running(pid=int(pid), created=float(created)) for pid, created in pairs]
    return []


@contextlib.contextmanager
def held(path: Path) -> Iterator[bool]:
    """Whether the folder's lock was free; it is held meanwhile."""
    try:
        lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        yield False
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(lock)


def _mode() -> int:
    # PostgreSQL never runs as root: its account must be able to pass through to its own folder below.
    return 0o711 if os.geteuid() == 0 else 0o700
