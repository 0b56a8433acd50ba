"""The roster: the processes of one `up` and the order in which they end, on disk for the guard and the next start."""

import contextlib
import json
import os
import signal
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ops.stack.errors import is_disk_full
from ops.stack.process import Running, family, group, kill, wait_until_over
from ops.stack.state import write_private


@dataclass(frozen=True, kw_only=True)
class RosterEntry:
    """One process and the way it likes to end. Lower stages end first; one stage ends together."""

    name: str
    pid: int
    created: float
    stage: int
    signal: int
    grace_s: float

    @property
    def running(self) -> Running:
        return Running(pid=self.pid, created=self.created)


@dataclass(kw_only=True)
class Roster:
    """What runs now. Every change is on disk before the call returns, so that a guard or the next start can act,
    unless the disk is full."""

    path: Path
    entries: dict[str, RosterEntry] = field(default_factory=dict)

    def add(self, entry: RosterEntry) -> None:
        """Note a process that has just been started; an earlier one of the same name is forgotten."""
        self.entries[entry.name] = entry
        self._write()

    def drop(self, name: str) -> None:
        """Forget a process that has ended."""
        if self.entries.pop(name, None) is not None:
            self._write()

    def _write(self) -> None:
        try:
            write_private(self.path, json.dumps([asdict(entry) for entry in self.entries.values()]))
        except OSError as refusal:
            # A disk that fills up later is no reason to end a service that runs.
            if not is_disk_full(refusal):
                raise


def read(path: Path) -> list[RosterEntry]:
    """The entries that an `up` left on disk; none when the file is missing or makes no sense."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        return [RosterEntry(**entry) for entry in json.loads(path.read_text())]
    return []


def end_in_order(entries: Iterable[RosterEntry]) -> None:
    """End all of them, stage by stage: ask, wait for the longest grace of the stage, kill what is left."""
    remaining = list(entries)
    for stage in sorted({entry.stage for entry in remaining}):
        _end_together([entry for entry in remaining if entry.stage == stage])


def _end_together(entries: list[RosterEntry]) -> None:
    # Who belongs to whom can only be seen while the parent lives.
    families = [family(entry.running) for entry in entries]
    for entry, members in zip(entries, families, strict=True):
        if members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(entry.pid, signal.Signals(entry.signal))
    grace_s = max((entry.grace_s for entry in entries), default=0.0)
    wait_until_over([members[-1] for members in families if members], limit_s=grace_s)
    kill(member for members in families for member in members)
    for entry in entries:
        # A program that was asked to end in the middle of its own start may have had children since.
        kill(group(entry.running))
