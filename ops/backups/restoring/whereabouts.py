"""Where runs work: noted before anything is made there, so that any later drill finds what a killed run left (D2).

One small file for each run, under `drill-runs/` in the state folder, held by a lock while the run lives and removed at
its end. It holds no password.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from ops.backups.connecting.address import Address
from ops.backups.run.error_mapping import reason_of
from ops.backups.run.errors import CouldNotRun
from ops.backups.run.run_folder import Marker, make_private
from ops.stack.state import write_private

FOLDER = "drill-runs"


class NotedServer(BaseModel):
    """A server that is not the run's own, on which the run makes its scratch database."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    keywords: dict[str, str]
    """What libpq needs to reach its maintenance database, without secrets."""
    setting: str
    system: str
    """The cluster's own number."""


class Noted(BaseModel):
    """Where one run works."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: str
    """The run's folder, absolute."""
    source: str
    scratch: str
    server: NotedServer | None = None


@dataclass(kw_only=True)
class Note:
    """The note of the run that lives."""

    path: Path
    lock: int

    def close(self, *, keep: bool) -> None:
        """The run is over. `keep`: something of it is still there."""
        if not keep:
            self.path.unlink(missing_ok=True)
        os.close(self.lock)


def note(
    state: Path,
    folder: Path,
    marker: Marker,
    *,
    server: Address | None = None,
    setting: str = "",
    system: str = "",
) -> Note:
    """Note where the run of `marker` is about to work. Raises CouldNotRun."""
    there = (
        NotedServer(keywords=dict(server.without_secrets()), setting=setting, system=system)
        if server
        else None
    )
    noted = Noted(folder=str(folder), source=marker.source, scratch=marker.scratch, server=there)
    path = state / FOLDER / f"{marker.run}.json"
    try:
        make_private(path.parent)
        # Under a name of its own until it is locked: the next run takes an unlocked note for a dead run's.
        unlocked = path.with_suffix(".new")
        write_private(unlocked, noted.model_dump_json())
        lock = os.open(unlocked, os.O_RDWR)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        unlocked.rename(path)
    except OSError as error:
        raise CouldNotRun(
            f"{path.parent} cannot be used: {reason_of(error)}.", mend="Mend that first."
        ) from None
    return Note(path=path, lock=lock)


def paths(state: Path) -> list[Path]:
    """The notes there are, the oldest first."""
    return sorted((state / FOLDER).glob("*.json"))


@contextlib.contextmanager
def of_a_dead_run(path: Path) -> Iterator[bool]:
    """Whether the run of a note is over; its lock is held meanwhile."""
    try:
        lock = os.open(path, os.O_RDWR)
    except OSError:
        # Another drill has cleared it in this moment.
        yield False
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield path.exists()
    except BlockingIOError:
        yield False
    finally:
        os.close(lock)


def read(path: Path) -> Noted | None:
    """What a note says, or None for one that cannot be read."""
    try:
        return Noted.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
