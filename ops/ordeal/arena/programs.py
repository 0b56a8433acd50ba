"""The processes of a run: started, restarted when they end, and ended in order."""

import asyncio
import contextlib
import signal
import subprocess
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ops.ordeal.arena.recorder import Recorder
from ops.testbed.processes import ChildFailed, Children

Result = TypeVar("Result")

RESTART_AFTER_S = 0.3
LEAVES_WITHIN_S = 30.0
"""A program that was asked to end has ended by then: the grace of running replies, and some more."""
KILLED_WITHIN_S = 5.0
READY_WITHIN_S = 120.0

_threads = ThreadPoolExecutor(64, thread_name_prefix="arena")
"""For calls that block. A program that is stopped in the middle of its start keeps one of them."""


async def in_thread(call: Callable[..., Result], *arguments: object) -> Result:
    """Run a blocking call."""
    return await asyncio.get_running_loop().run_in_executor(_threads, lambda: call(*arguments))


_roster_thread = ThreadPoolExecutor(1, thread_name_prefix="roster")
"""The roster of children is one file, which is written anew with each change: one change at a time."""


async def in_roster_thread(call: Callable[..., Result], *arguments: object) -> Result:
    """Run a blocking call that changes the roster of children."""
    return await asyncio.get_running_loop().run_in_executor(_roster_thread, lambda: call(*arguments))


class KeptProgram:
    """One program that is started again whenever it ends, as `scripts/up` and systemd do.

    `command` gives the arguments of the next start, `prefix` begins the line by which it says that it serves (empty: it
    says nothing), `identify` finds the id of the row of the process with this pid.
    """

    def __init__(
        self,
        name: str,
        *,
        children: Children,
        recorder: Recorder,
        command: Callable[[], Sequence[str]],
        stage: int,
        prefix: str,
        environment: Mapping[str, str],
        identify: Callable[[int], Awaitable[str | None]] | None = None,
    ) -> None:
        self.name = name
        self._identify = identify
        self._children = children
        self._recorder = recorder
        self._command = command
        self._stage = stage
        self._prefix = prefix
        self._environment = environment
        self._process: subprocess.Popen[str] | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._notes: set[asyncio.Task[None]] = set()
        self._has_ended = asyncio.Event()
        self._may_start = asyncio.Event()
        self._may_start.set()
        self.is_ready = asyncio.Event()
        self.said = ""
        """The rest of the line by which a process last said that it serves."""
        self.starts = 0
        self.ended_at: list[float] = []
        """When each process ended, in order of their starts; seconds since the start of the run."""

    @property
    def pid(self) -> int | None:
        """Of the running process."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    async def start(self) -> None:
        """Start it, and wait until it serves. Raises ChildFailed."""
        self._keeper = asyncio.create_task(self._keep())
        ready = asyncio.create_task(self.is_ready.wait())
        await asyncio.wait([ready, self._keeper], timeout=READY_WITHIN_S, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if not self.is_ready.is_set():
            raise self._children.failure_of(self.name)

    def hold_down(self) -> None:
        """Let it stay away once it has ended, until `let_start`."""
        self._may_start.clear()

    def let_start(self) -> None:
        self._may_start.set()

    def send(self, number: signal.Signals) -> bool:
        """Send a signal to the running process. False: there is none."""
        process = self._process
        if process is None or process.poll() is not None:
            return False
        process.send_signal(number)
        return True

    async def wait_for_end(self, within_s: float) -> bool:
        """Wait until the current process has ended. False: it runs on."""
        if self._process is None:
            return True
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._has_ended.wait(), within_s)
        return self._has_ended.is_set()

    async def leave(self) -> None:
        """Ask the running process to end, and wait. One that does not is on record, and its threads in its log."""
        self.send(signal.SIGTERM)
        if await self.wait_for_end(LEAVES_WITHIN_S):
            return
        name = f"{self.name}, {LEAVES_WITHIN_S:.0f} s after SIGTERM"
        self._recorder.write("record", "stored", table="left", rows=[{"kind": "process", "name": name}])
        # PYTHONFAULTHANDLER prints where each thread stands.
        for number in (signal.SIGABRT, signal.SIGKILL):
            self.send(number)
            if await self.wait_for_end(KILLED_WITHIN_S):
                return

    async def end(self) -> None:
        """Ask it to end for good, and wait; then kill it."""
        self._may_start.clear()
        self.send(signal.SIGCONT)
        await self.leave()
        for task in (*self._notes, self._keeper):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        await in_roster_thread(self._children.end, self.name)

    async def _keep(self) -> None:
        while True:
            await self._may_start.wait()
            self.starts += 1
            self._process = process = await in_roster_thread(self._spawn)
            self._has_ended.clear()
            self._note_start(process.pid)
            if said := await in_thread(self._read_address, process):
                self.said = said
                self.is_ready.set()
            await in_thread(process.wait)
            self.is_ready.clear()
            self._recorder.write(f"process:{self.name}", "ended", code=process.returncode)
            self.ended_at.append(self._recorder.now())
            self._has_ended.set()
            await in_roster_thread(self._children.end, self.name)
            if self.starts == 1 and not self.said:
                raise ChildFailed(f"{self.name} ended before it served.")
            await asyncio.sleep(RESTART_AFTER_S)

    def _note_start(self, pid: int) -> None:
        """Record the start, with the id of its row once that can be read."""
        at = self._recorder.now()

        async def note() -> None:
            found = await self._identify(pid) if self._identify is not None else None
            self._recorder.write(f"process:{self.name}", "started", at=at, pid=pid, id=found)

        task = asyncio.create_task(note())
        self._notes.add(task)
        task.add_done_callback(self._notes.discard)

    def _spawn(self) -> subprocess.Popen[str]:
        return self._children.spawn(
            self.name, self._command(), stage=self._stage, PYTHONFAULTHANDLER="1", **self._environment
        )

    def _read_address(self, process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        if not self._prefix:
            return "started"
        for line in process.stdout:
            if line.startswith(self._prefix):
                return line.removeprefix(self._prefix).strip()
        return ""
