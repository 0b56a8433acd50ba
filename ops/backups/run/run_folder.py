"""The private folder of one run. It holds a lock, a marker, the pids of child programs, the dump and the server."""

import contextlib
import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ops.backups.run.error_mapping import describe_os_error
from ops.backups.run.errors import CouldNotRun
from ops.stack.process import Running, family, kill
from ops.stack.state import write_private

RUN_PREFIX = "restore_drill_"
MARKER_KIND = "companion restore drill"
OWNERSHIP_FILES = frozenset({"marker.json", "lock", "children"})
"""The files by which a later run recognises a folder as a drill's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Marker:
    """Identifies a run. Stored in its folder and in the comment of its scratch database."""

    run: str
    source: str
    """System identifier and database name, or the archive's name."""
    scratch: str
    """The name of the scratch database."""
    kind: str = MARKER_KIND
    version: int = 1

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def parse(cls, text: str | None) -> "Marker | None":
        """Parse the text of `to_json`; None for any other text."""
        with contextlib.suppress(ValueError, TypeError):
            marker = cls(**json.loads(text or ""))
            if marker.kind == MARKER_KIND and marker.version == 1:
                return marker
        return None


EMPTY_RETRY_PAUSES_S = (0.02, 0.05, 0.1, 0.2, 0.4)
"""Pauses between attempts to empty a folder."""


@dataclass(kw_only=True)
class RunFolder:
    """A folder that one running process holds by a lock."""

    path: Path
    lock: int = field(repr=False)

    @classmethod
    def create(cls, work: Path, marker: Marker) -> "RunFolder":
        """Create and lock the folder of a new run under `work`. Raises CouldNotRun."""
        path = work / f"{RUN_PREFIX}{marker.run}"
        try:
            make_work_folder(work)
            path.mkdir(mode=_get_folder_mode())
            os.chmod(path, _get_folder_mode())
            lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            write_private(path / "marker.json", marker.to_json())
        except OSError as error:
            raise CouldNotRun(
                f"{work} cannot be used: {describe_os_error(error)}.", mend="Name another with --work."
            ) from None
        return cls(path=path, lock=lock)

    def record_child(self, pid: int) -> None:
        """Record a child program, so that a later run can end it if this process is killed."""
        running = Running.of(pid)
        if running is not None:
            with open(self.path / "children", "a", encoding="utf-8") as listed:
                listed.write(f"{running.pid} {running.created}\n")

    def remove(self) -> None:
        """End the recorded programs and remove the folder."""
        remove_run_folder(self.path)
        os.close(self.lock)


def make_work_folder(work: Path) -> None:
    """Create the folder that holds run folders."""
    if not work.exists():
        work.mkdir(mode=_get_folder_mode(), parents=True)
        # An existing folder keeps its mode; that of a new one must not depend on the umask.
        os.chmod(work, _get_folder_mode())


def make_private_folder(folder: Path) -> None:
    """Create a folder with mode 0700, and its missing parents. An existing folder keeps its mode."""
    if not folder.exists():
        make_private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def remove_run_folder(path: Path) -> None:
    """End the programs recorded in a run's folder, and remove the folder."""
    kill(process for running in read_children(path) for process in family(running))
    for pause_s in EMPTY_RETRY_PAUSES_S:
        _empty_folder(path)
        if not path.exists():
            return
        # A grandchild is not recorded, and may still write for a moment after its parent has ended.
        time.sleep(pause_s)
    _empty_folder(path)


def _empty_folder(path: Path) -> None:
    with contextlib.suppress(OSError):
        for entry in path.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            elif entry.name not in OWNERSHIP_FILES:
                entry.unlink(missing_ok=True)
        # Removed last, so that a later run still recognises a folder that could not be emptied.
        if {entry.name for entry in path.iterdir()} <= OWNERSHIP_FILES:
            shutil.rmtree(path, ignore_errors=True)


def read_children(path: Path) -> list[Running]:
    """Return the programs that the run of this folder started."""
    with contextlib.suppress(OSError, ValueError):
        lines = (path / "children").read_text(encoding="utf-8").splitlines()
        pairs = [line.split() for line in lines]
        return [Running(pid=int(pid), created=float(created)) for pid, created in pairs]
    return []


@contextlib.contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Hold the folder's lock during the block. Yields False if another process holds it."""
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


def _get_folder_mode() -> int:
    # For root, PostgreSQL runs under another account, which must traverse this folder to its own below.
    return 0o711 if os.geteuid() == 0 else 0o700
