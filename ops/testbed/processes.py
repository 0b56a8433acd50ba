"""Child processes of a measurement: started, measured, and ended in order, even if the measurement is killed."""

import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil

from ops.stack import guard, roster
from ops.stack.logs import tail
from ops.stack.process import Running
from ops.stack.state import StateFolder
from ops.testbed import folder_guard

ROOT = Path(__file__).resolve().parents[2]
GRACE_S = 15.0
CLIENT_STAGE, WEB_STAGE, PROVIDER_STAGE, DATABASE_STAGE = 1, 2, 3, 4
"""Lower stages end first."""


class ChildFailed(Exception):
    """A child did not start or did not answer. Carries the end of its log."""


class Children:
    """All child processes of one measurement. A guard ends them and discards their folder if this program is killed."""

    def __init__(self, state: StateFolder) -> None:
        self._state = state
        self._roster = roster.Roster(path=state.children)
        self._started: dict[str, subprocess.Popen[str]] = {}

    def start(
        self, name: str, command: Sequence[str], *, stage: int, prefix: str, **settings: str
    ) -> tuple[int, str]:
        """Start a Python program and wait for an output line that starts with `prefix`.

        Returns its pid and the rest of that line. Raises ChildFailed if the program ends first. `settings` are
        environment variables.
        """
        process = self.spawn(name, command, stage=stage, **settings)
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(prefix):
                return process.pid, line.removeprefix(prefix).strip()
        raise self.failure_of(name)

    def spawn(
        self, name: str, command: Sequence[str], *, stage: int, **settings: str
    ) -> subprocess.Popen[str]:
        """Start a Python program that exchanges lines over its standard input and output."""
        with self._state.log(name).open("a") as log:
            process = subprocess.Popen(
                [sys.executable, *command],
                cwd=ROOT,
                env={**os.environ, **settings},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                # Ctrl-C goes to this program, which ends its children in order.
                process_group=0,
            )
        self._started[name] = process
        self.adopt(name, process.pid, stage=stage, end_signal=signal.SIGTERM)
        return process

    def adopt(self, name: str, pid: int, *, stage: int, end_signal: signal.Signals) -> None:
        """End a process that other code started together with the children."""
        running = Running.of(pid)
        if running is not None:
            self._roster.add(
                roster.RosterEntry(
                    name=name,
                    pid=pid,
                    created=running.created,
                    stage=stage,
                    signal=end_signal,
                    grace_s=GRACE_S,
                )
            )

    def failure_of(self, name: str) -> ChildFailed:
        """The error of a child, with the end of its log."""
        return ChildFailed(f"{name} failed. The end of its log:\n{tail(self._state.log(name))}")

    def end(self, *names: str) -> None:
        """End the named children; without names, all of them."""
        ending = names or tuple(self._roster.entries)
        roster.end_in_order([self._roster.entries[name] for name in ending if name in self._roster.entries])
        for name in ending:
            self._roster.drop(name)
            process = self._started.pop(name, None)
            if process is not None:
                for pipe in (process.stdin, process.stdout):
                    if pipe is not None:
                        pipe.close()
                process.wait()


@contextmanager
def run_children(folder: Path) -> Iterator[Children]:
    """Start children under this state folder; all of them end on exit."""
    state = StateFolder(folder)
    with ExitStack() as stack:
        lock = stack.enter_context(state.lock())
        guard_process = guard.start(state, lock, program=folder_guard.PROGRAM)
        stack.callback(guard_process.communicate, folder_guard.KEEP_FOLDER)
        running = Children(state)
        stack.callback(running.end)
        yield running


def cpu_meter(pid: int) -> Callable[[], float]:
    """Returns a function that reads the CPU seconds that a process and its descendants have used so far."""
    process = psutil.Process(pid)

    def read_cpu_s() -> float:
        own = process.cpu_times()
        total: float = getattr(own, "children_user", 0.0) + getattr(own, "children_system", 0.0)
        for member in [process, *process.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess, OSError):
                total += _cpu_s(member)
        return total

    return read_cpu_s


def _cpu_s(process: psutil.Process) -> float:
    if platform.system() == "Linux":
        # The kernel's CPU clock of that process counts nanoseconds; `cpu_times` comes in steps of 10 ms.
        return time.clock_gettime((~process.pid << 3) | 2)
    times = process.cpu_times()
    return times.user + times.system


def resident_bytes(pid: int) -> int:
    """Unique set size of a process: memory that it shares with no other process."""
    return int(psutil.Process(pid).memory_full_info().uss)


def load_average() -> float:
    """The one-minute load average of this machine."""
    return os.getloadavg()[0]
