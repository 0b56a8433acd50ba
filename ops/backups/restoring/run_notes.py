"""Notes of where runs work, written before anything is created there, for cleaning after killed runs (D2).

One small file per run under `drill-runs/` in the state folder, locked during the run and removed at its end. It has no
password.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from ops.backups.connecting.address import Address
from ops.backups.run.error_mapping import describe_os_error
from ops.backups.run.errors import CouldNotRun
from ops.backups.run.run_folder import Marker, make_private_folder
from ops.stack.state import write_private

NOTES_FOLDER = "drill-runs"


class NotedServer(BaseModel):
    """The server, other than a private one, on which a run creates its scratch database."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    keywords: dict[str, str]
    """libpq keywords of its maintenance database, without secrets."""
    setting: str
    system: str
    """System identifier of the cluster."""


class RunNote(BaseModel):
    """The note of one run: where it works."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: str
    """Absolute path of the run's folder."""
    source: str
    scratch: str
    server: NotedServer | None = None


@dataclass(kw_only=True)
class HeldRunNote:
    """The locked note of the current run."""

    path: Path
    lock: int

    def close(self, *, keep: bool) -> None:
        """Release the note. `keep`: leave the file, because the run left something behind."""
        if not keep:
            self.path.unlink(missing_ok=True)
        os.close(self.lock)


def write_note(
    state: Path,
    folder: Path,
    marker: Marker,
    *,
    server: Address | None = None,
    setting: str = "",
    system: str = "",
) -> HeldRunNote:
    """Write and lock the note of a run. Raises CouldNotRun."""
    there = (
        NotedServer(keywords=dict(server.list_public_keywords()), setting=setting, system=system)
        if server
        else None
    )
    noted = RunNote(folder=str(folder), source=marker.source, scratch=marker.scratch, server=there)
    path = state / NOTES_FOLDER / f"{marker.run}.json"
    try:
        make_private_folder(path.parent)
        # Under another name until it is locked: other runs take an unlocked note for that of a dead run.
        unlocked = path.with_suffix(".new")
        write_private(unlocked, noted.model_dump_json())
        lock = os.open(unlocked, os.O_RDWR)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        unlocked.rename(path)
    except OSError as error:
        raise CouldNotRun(
            f"{path.parent} cannot be used: {describe_os_error(error)}.", mend="Correct that first."
        ) from None
    return HeldRunNote(path=path, lock=lock)


def list_notes(state: Path) -> list[Path]:
    """List the notes, the oldest first."""
    return sorted((state / NOTES_FOLDER).glob("*.json"))


@contextlib.contextmanager
def try_lock_note(path: Path) -> Iterator[bool]:
    """Hold the lock of a note during the block. Yields False if its run is alive."""
    try:
        lock = os.open(path, os.O_RDWR)
    except OSError:
        # Another drill has just removed it.
        yield False
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield path.exists()
    except BlockingIOError:
        yield False
    finally:
        os.close(lock)


def read(path: Path) -> RunNote | None:
    """Read a note; None if it is not readable."""
    try:
        return RunNote.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
