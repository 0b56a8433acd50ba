"""The list of erasures: numbers and times in one file, beside the backups and in the state folder.

One line for each erasure: {"participant": number, "added_at": time, "erased_at": time}, times in ISO 8601. It holds no
name and no text. A line is written to the disk before the first row is deleted.
"""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

FILE = "erasures.jsonl"


class ListUnreadable(Exception):
    """The list has a line that is none. The sentence names the file and the line."""


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=False)

    participant: int
    added_at: AwareDatetime
    erased_at: AwareDatetime


@dataclass(frozen=True, kw_only=True, slots=True)
class ErasedPerson:
    """A participant who was erased: the number, and when it was given and erased."""

    participant: int
    added_at: datetime
    erased_at: datetime

    @property
    def identity(self) -> tuple[int, datetime]:
        """A number is given again after a restore; together with its moment it is not."""
        return self.participant, self.added_at


def get_lists(state_dir: Path) -> list[Path]:
    """The lists that a machine keeps: in its state folder, and beside its backups."""
    return [folder / FILE for folder in (state_dir, state_dir / "backups")]


def read_list(path: Path) -> list[ErasedPerson]:
    """The erasures of a file, in its order; none if there is no file. Raises ListUnreadable and OSError."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except UnicodeDecodeError:
        raise ListUnreadable(f"{path}: this is no text in UTF-8.") from None
    return [_parse(path, number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]


def add_to_list(path: Path, people: Iterable[ErasedPerson]) -> int:
    """Add those who are not on the list yet, and return how many. They are on the disk when this returns."""
    with _lock(path):
        known = {person.identity for person in read_list(path)}
        new = list({person.identity: person for person in people if person.identity not in known}.values())
        if not new:
            return 0
        _append(path, "".join(f"{_format(person)}\n" for person in new))
        _sync_folder(path.parent)
    return len(new)


def _append(path: Path, lines: str) -> None:
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        try:
            # A list that a person has edited may end without a line break.
            if size and os.pread(file.fileno(), 1, size - 1) != b"\n":
                lines = f"\n{lines}"
            file.write(lines.encode())
            file.flush()
            os.fsync(file.fileno())
        except OSError:
            # Half a line, as of a full disk, would make the list unreadable.
            os.ftruncate(file.fileno(), size)
            raise


def _format(person: ErasedPerson) -> str:
    return json.dumps(
        {
            "participant": person.participant,
            "added_at": person.added_at.isoformat(),
            "erased_at": person.erased_at.isoformat(),
        }
    )


def _parse(path: Path, number: int, line: str) -> ErasedPerson:
    try:
        found = _Line.model_validate_json(line)
    except ValidationError:
        raise ListUnreadable(
            f"{path}, line {number}: this is no erasure. Look at the line: a copy of the list is beside each folder of "
            "backups."
        ) from None
    return ErasedPerson(participant=found.participant, added_at=found.added_at, erased_at=found.erased_at)


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with (path.parent / f".{path.name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            path.touch(mode=0o600)
        yield


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
