"""The processes of a bench: started, asked, measured, and ended in order, even behind a bench that was killed."""

import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from ops.stack import guard, roster
from ops.stack.logs import tail
from ops.stack.process import Running
from ops.stack.state import StateFolder

ROOT = Path(__file__).resolve().parents[2]
GRACE_S = 15.0
PEOPLE_STAGE, WEB_STAGE, PROVIDER_STAGE, DATABASE_STAGE = 1, 2, 3, 4


class ChildFailed(Exception):
    """A process of the bench did not start or did not answer. Carries the end of its log."""


class Children:
    """Everything a bench has running. A guard ends it all if the bench itself is killed."""

    def __init__(self, state: StateFolder) -> None:
        self._state = state
        self._roster = roster.Roster(path=state.children)
        self._started: dict[str, subprocess.Popen[str]] = {}

    def start(
        self, name: str, command: Sequence[str], *, stage: int, says: str, **settings: str
    ) -> tuple[int, str]:
        """Start a Python program; returns its number and what followed `says` on its standard output."""
        process = self.spawn(name, command, stage=stage, **settings)
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(says):
                return process.pid, line.removeprefix(says).strip()
        raise self.failed(name)

    def spawn(
        self, name: str, command: Sequence[str], *, stage: int, **settings: str
    ) -> subprocess.Popen[str]:
        """Start a Python program that is talked to by lines; `settings` are environment variables."""
        with self._state.log(name).open("a") as log:
            process = subprocess.Popen(
                [sys.executable, *command],
                cwd=ROOT,
                env={**os.environ, **settings},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                # Ctrl-C is for the bench, which ends the others in order.
                process_group=0,
            )
        self._started[name] = process
        self.note(name, process.pid, stage=stage, with_signal=signal.SIGTERM)
        return process

    def note(self, name: str, pid: int, *, stage: int, with_signal: signal.Signals) -> None:
        """Somebody else has started this process; it is to end with the others."""
        running = Running.of(pid)
        if running is not None:
            self._roster.add(
                roster.RosterEntry(
                    name=name,
                    pid=pid,
                    created=running.created,
                    stage=stage,
                    signal=with_signal,
                    grace_s=GRACE_S,
                )
            )

    def failed(self, name: str) -> ChildFailed:
        """Why a process cannot be used any more, in its own words."""
        return ChildFailed(f"{name} gave up. The last it said:\n{tail(self._state.log(name))}")

    def end(self, *names: str) -> None:
        """End these, or all."""
        chosen = names or tuple(self._roster.entries)
        roster.end_in_order([self._roster.entries[name] for name in chosen if name in self._roster.entries])
        for name in chosen:
            self._roster.drop(name)
            process = self._started.pop(name, None)
            if process is not None:
                for pipe in (process.stdin, process.stdout):
                    if pipe is not None:
                        pipe.close()
                process.wait()


@contextmanager
def children(folder: Path) -> Iterator[Children]:
    """All processes of one bench. On the way out every one of them ends."""
    state = StateFolder(folder)
    with ExitStack() as stack:
        lock = stack.enter_context(state.lock())
        watching = guard.start(state, lock)
        assert watching.stdin is not None
        stack.callback(watching.wait)
        stack.callback(watching.stdin.close)
        started = Children(state)
        stack.callback(started.end)
        yield started


class Crowd:
    """Many people in a process of their own. `connected_s` is how long it took all of them to connect."""

    def __init__(self, started: Children, name: str, plan: Mapping[str, Any]) -> None:
        self._name = name
        self._started = started
        self._process = started.spawn(name, ["-m", "ops.bench.crowd"], stage=PEOPLE_STAGE)
        self.connected_s: float = self._tell(plan)["connected_s"]

    def ask(self, label: str, *, who: Sequence[int], times: int) -> dict[str, Any]:
        """Those at these places ask at once, so often in a row; what each heard, and what listening cost."""
        return self._tell({"ask": label, "who": list(who), "times": times})

    def leave(self) -> None:
        """All of them go."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(GRACE_S)
        self._started.end(self._name)

    def _tell(self, what: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise self._started.failed(self._name)
        answer: dict[str, Any] = json.loads(line)
        return answer


def cpu_meter(pid: int) -> Callable[[], float]:
    """Reads the CPU seconds that a process, and everything below it, has used so far."""
    process = psutil.Process(pid)

    def used() -> float:
        ended = process.cpu_times()
        total: float = getattr(ended, "children_user", 0.0) + getattr(ended, "children_system", 0.0)
        for one in [process, *process.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess, OSError):
                total += _cpu_s(one)
        return total

    return used


def _cpu_s(process: psutil.Process) -> float:
    if platform.system() == "Linux":
        # The kernel's own clock of that process, in nanoseconds; the usual figures come in steps of 10 ms.
        return time.clock_gettime((~process.pid << 3) | 2)
    times = process.cpu_times()
    return times.user + times.system


def resident_bytes(pid: int) -> int:
    """What a process holds in memory, without what it only shares with others."""
    return int(psutil.Process(pid).memory_full_info().uss)


def load_average() -> float:
    """How many programs wanted a processor in the last minute."""
    return os.getloadavg()[0]
