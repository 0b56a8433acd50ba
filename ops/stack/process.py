"""Processes by identity, not by number alone: a number is given again, a number with its start time is not."""

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass

import psutil


@dataclass(frozen=True, kw_only=True)
class Running:
    """One process. `created` is its start in seconds since the epoch, as the system tells it."""

    pid: int
    created: float

    @classmethod
    def of(cls, pid: int) -> "Running | None":
        """The process with this number now, or None."""
        try:
            return cls(pid=pid, created=psutil.Process(pid).create_time())
        except psutil.NoSuchProcess:
            return None

    def process(self) -> psutil.Process | None:
        """The live process, or None when it has ended (a zombie has ended)."""
        try:
            process = psutil.Process(self.pid)
            # The start time is counted in clock ticks from a boot time that can move by a little.
            same = abs(process.create_time() - self.created) < 2
            return process if same and process.status() != psutil.STATUS_ZOMBIE else None
        except psutil.NoSuchProcess:
            return None


def family(running: Running) -> list[psutil.Process]:
    """The process and everything below it, itself last."""
    process = running.process()
    if process is None:
        return []
    with contextlib.suppress(psutil.NoSuchProcess):
        return [*process.children(recursive=True), process]
    return [process]


def group(running: Running) -> list[psutil.Process]:
    """What is left of the process group this process leads or has led: children that came to life meanwhile."""
    leader = Running.of(running.pid)
    if leader is not None and abs(leader.created - running.created) >= 2:
        # The number was reused: the group belongs to another program now.
        return []
    members = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            younger = process.create_time() > running.created - 2
            if younger and os.getpgid(process.pid) == running.pid and _goes_on(process):
                members.append(process)
    return members


def end(running: Running, *, with_signal: signal.Signals, grace_s: float) -> bool:
    """Ask one process to end and wait; kill it and its whole family after `grace_s`. True: it ended by itself."""
    members = family(running)
    if not members:
        return True
    with contextlib.suppress(ProcessLookupError):
        os.kill(running.pid, with_signal)
    by_itself = wait_until_over(members[-1:], limit_s=grace_s)
    kill(members)
    return by_itself


def kill(processes: Iterable[psutil.Process]) -> None:
    """Kill at once, and wait until all have gone."""
    doomed = list(processes)
    for process in doomed:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    wait_until_over(doomed, limit_s=10)


def wait_until_over(processes: Iterable[psutil.Process], *, limit_s: float) -> bool:
    """Wait until none of them runs any more, without taking the exit status from their parents."""
    deadline = time.monotonic() + limit_s
    while any(map(_goes_on, processes)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _goes_on(process: psutil.Process) -> bool:
    try:
        # A zombie stays listed until its parent waits for it; it has ended.
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
