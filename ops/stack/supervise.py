"""Starts the programs of one `up`, starts them again when they die, and ends them all in order."""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

from ops.stack import roster
from ops.stack.doors import Door
from ops.stack.errors import CannotStart
from ops.stack.logs import keep_small, open_log, tail
from ops.stack.process import Running, group, kill
from ops.stack.signals import defer_signals, wake_on_child_exit
from ops.stack.state import StateFolder
from ops.stack.surroundings import ConfigurationStat, withhold_owner_addresses

ROOT = Path(__file__).resolve().parents[2]
CONFIGURATION_REFUSED = 78
"""Exit code of a program that will not run under its configuration (sysexits.h, EX_CONFIG)."""
STABLE_AFTER_S = 30.0
MAX_PAUSE_S = 15.0
# Through a shorter pause callers wait in the socket's queue; in a longer one they see the unavailable page.
SILENT_PAUSE_S = 1.0
CHECK_INTERVAL_S = 2.0
REFUSED_RETRY_INTERVAL_S = 60.0
"""A program that refused its configuration is tried again this often even if no watched file has changed."""
SERVER_STAGE = 10
"""Embedded servers have this stage or a later one: all other programs need them until the end."""


class ConfigurationRefused(Exception):
    """A program refused its configuration. The text is what it said."""


class Server(Protocol):
    """An embedded server, which looks after its own process."""

    @property
    def running(self) -> Running | None: ...
    def start(self) -> str: ...
    def stop(self) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Program:
    """A command of ours that is meant to run all the time. `door` is handed over at each start."""

    name: str
    command: tuple[str, ...]
    stage: int
    grace_s: float
    door: Door | None = None


@dataclass(kw_only=True)
class ProgramProcess:
    """A program and the state of it now. Times on the monotonic clock."""

    program: Program
    popen: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    log_since: int = 0
    failures: int = 0
    again_at: float | None = None
    refusal: str = ""
    """What the program said when it refused its configuration; empty while it runs under it."""
    started_under: ConfigurationStat = frozenset()
    """The configuration files as they were just before its last start."""


@dataclass(frozen=True, kw_only=True)
class Hosted:
    """An embedded server under watch."""

    name: str
    server: Server
    stage: int
    ends_with: signal.Signals


def pause_before_restart(failures: int) -> float:
    """Seconds to wait before a program is started again after so many quick deaths in a row."""
    return 0.0 if failures <= 1 else min(MAX_PAUSE_S, 0.5 * 2.0 ** (failures - 2))


@dataclass(kw_only=True)
class Supervisor:
    """The programs and servers of one `up`. Everything happens in the caller's thread."""

    state: StateFolder
    say: Callable[[str], None]
    environment: Mapping[str, str]
    roster: roster.Roster
    children: dict[str, ProgramProcess] = field(default_factory=dict)
    servers: list[Hosted] = field(default_factory=list)
    not_before: dict[str, float] = field(default_factory=dict)
    """When a server that would not start is tried again."""
    configuration: Callable[[], ConfigurationStat] = frozenset
    """What the configuration files look like now."""
    is_serving: bool = False
    """While something is served, a program that refuses its configuration stops alone and the rest goes on.
    Otherwise the refusal is raised."""

    def host(self, hosted: Hosted) -> str:
        """Start an embedded server and keep it running; returns its url."""
        self.servers.append(hosted)
        url = hosted.server.start()
        self._enrol_server(hosted)
        return url

    def start(self, program: Program) -> ProgramProcess:
        """Start a program and keep it running."""
        child = self.children[program.name] = ProgramProcess(program=program)
        self._launch(child)
        return child

    def replace(self, program: Program) -> None:
        """Use another command line for the next start of a program that runs."""
        self.children[program.name].program = program

    def run_once(self, name: str, command: Sequence[str]) -> str:
        """Run a command to its end and return what it printed. Raises CannotStart, or ConfigurationRefused."""
        path = self.state.log(name)
        since = path.stat().st_size if path.exists() else 0
        with open_log(path) as log:
            # A running process that is not on the roster would never be ended.
            with defer_signals():
                popen = self._spawn(command, stdout=subprocess.PIPE, stderr=log, environment=self.environment)
                self._enrol(name, popen, stage=1, grace_s=3)
            printed, _ = popen.communicate()
        self.roster.drop(name)
        if popen.returncode == CONFIGURATION_REFUSED:
            raise ConfigurationRefused(tail(path, since=since).strip())
        if popen.returncode != 0:
            raise CannotStart(
                f"The step “{name}” failed. The last it said:\n{tail(path, since=since).strip()}"
            )
        return printed.decode("utf-8", "replace")

    def watch(self) -> None:
        """Keep everything running until StopRequested or ConfigurationRefused."""
        with wake_on_child_exit() as woken:
            while True:
                self.look()
                # A child's end writes to this descriptor; without it an end would be seen at the next check only.
                select.select([woken], [], [], self._longest_sleep())
                with contextlib.suppress(BlockingIOError):
                    os.read(woken, 512)

    def look(self) -> None:
        """One round: start again what has ended and whose pause is over, and keep the logs small."""
        keep_small(self.state.path / "log")
        for hosted in self.servers:
            if hosted.server.running is None and time.monotonic() >= self.not_before.get(hosted.name, 0.0):
                self._start_again(hosted)
        for child in list(self.children.values()):
            if child.popen is not None and child.popen.poll() is not None:
                self._has_ended(child)
            if child.refusal:
                self._look_at_refused(child)
            if child.again_at is not None and time.monotonic() >= child.again_at:
                self._launch(child)

    def has_refused(self, name: str) -> bool:
        """Whether this program waits for its configuration to be mended."""
        child = self.children.get(name)
        return child is not None and child.popen is None and bool(child.refusal)

    def end(self, names: Sequence[str]) -> None:
        """End these programs and watch them no longer."""
        ending = [self.children.pop(name) for name in names if name in self.children]
        entries = [
            self.roster.entries[c.program.name] for c in ending if c.program.name in self.roster.entries
        ]
        roster.end_in_order(entries)
        for child in ending:
            self._reap(child)

    def end_everything(self) -> None:
        """Programs first, servers last, each stage waiting for the one before."""
        # Web processes pause their turns and delete their heartbeats while PostgreSQL still answers.
        roster.end_in_order([entry for entry in self.roster.entries.values() if entry.stage < SERVER_STAGE])
        # Waited for, so that no zombie keeps its process id.
        for child in self.children.values():
            self._reap(child)
        self.children.clear()
        for hosted in sorted(self.servers, key=lambda hosted: hosted.stage):
            hosted.server.stop()
            self.roster.drop(hosted.name)
        self.servers.clear()

    def _start_again(self, hosted: Hosted) -> None:
        self.say(f"{hosted.name} has ended by itself. It is started again.")
        try:
            hosted.server.start()
        except CannotStart as refusal:
            # Go on serving: the cause, such as a full disk, may pass.
            self.say(f"{refusal}\nThe next attempt is in {MAX_PAUSE_S:.0f} s.")
            self.not_before[hosted.name] = time.monotonic() + MAX_PAUSE_S
        else:
            self._enrol_server(hosted)

    def _launch(self, child: ProgramProcess) -> None:
        program = child.program
        # Taken first: a file that is mended while the program still reads it has changed all the same.
        child.started_under = self.configuration()
        path = self.state.log(program.name)
        child.log_since = path.stat().st_size if path.exists() else 0
        handed = [] if program.door is None else [program.door.hand_over()]
        with open_log(path) as log, defer_signals():
            child.popen = self._spawn(
                program.command,
                stdout=log,
                stderr=log,
                environment=withhold_owner_addresses(self.environment),
                handed=handed,
            )
            self._enrol(program.name, child.popen, stage=program.stage, grace_s=program.grace_s)
            child.started, child.again_at = time.monotonic(), None

    def _has_ended(self, child: ProgramProcess) -> None:
        assert child.popen is not None
        code, child.popen = child.popen.returncode, None
        # The children of a dead process are still running: end them.
        if (entry := self.roster.entries.get(child.program.name)) is not None:
            kill(group(entry.running))
        self.roster.drop(child.program.name)
        if code == CONFIGURATION_REFUSED:
            self._has_refused(child)
            return
        # It ran, so its configuration is no longer the reason.
        child.refusal = ""
        lasted = time.monotonic() - child.started
        # A program that ran for a while starts again at once; only quick deaths in a row are slowed down.
        child.failures = 1 if lasted >= STABLE_AFTER_S else child.failures + 1
        pause = pause_before_restart(child.failures)
        child.again_at = time.monotonic() + pause
        if pause > SILENT_PAUSE_S and child.program.door is not None:
            child.program.door.say_unavailable()
        when = "now" if pause == 0 else f"in {pause:.0f} s" if pause >= 1 else "in a moment"
        self.say(
            f"{child.program.name} has ended by itself (code {code}). It starts again {when}. "
            f"Why: {self.state.log(child.program.name)}"
        )

    def _has_refused(self, child: ProgramProcess) -> None:
        refusal = tail(self.state.log(child.program.name), since=child.log_since).strip()
        if not self.is_serving:
            raise ConfigurationRefused(refusal)
        is_news, child.refusal = refusal != child.refusal, refusal
        child.again_at = time.monotonic() + REFUSED_RETRY_INTERVAL_S
        door = child.program.door
        if door is not None:
            door.say_unavailable()
        if is_news:
            until = f"Until it is mended, {door.address} says that the chat is not working. " if door else ""
            self.say(
                f"{child.program.name} cannot start again. {refusal}\n{until}"
                "Everything else goes on with the files as it read them. Mend the file: it is tried again at once."
            )

    def _look_at_refused(self, child: ProgramProcess) -> None:
        if child.popen is None:
            if self.configuration() != child.started_under:
                child.again_at = time.monotonic()
        elif time.monotonic() - child.started >= STABLE_AFTER_S:
            child.refusal = ""

    def _longest_sleep(self) -> float:
        starts = [child.again_at for child in self.children.values() if child.again_at is not None]
        return min([CHECK_INTERVAL_S, *(max(0.0, start - time.monotonic()) for start in starts)])

    def _spawn(
        self,
        command: Sequence[str],
        *,
        stdout: int | IO[bytes],
        stderr: IO[bytes],
        environment: Mapping[str, str],
        handed: Sequence[int] = (),
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            cwd=ROOT,
            env=dict(environment),
            pass_fds=tuple(handed),
            # A group of its own keeps the terminal's Ctrl-C away: the order of ending is ours to keep.
            process_group=0,
        )

    def _enrol(self, name: str, popen: subprocess.Popen[bytes], *, stage: int, grace_s: float) -> None:
        running = Running.of(popen.pid)
        if running is not None:
            self._note(name, running, stage=stage, grace_s=grace_s, ends_with=signal.SIGTERM)

    def _enrol_server(self, hosted: Hosted) -> None:
        running = hosted.server.running
        if running is not None:
            self._note(hosted.name, running, stage=hosted.stage, grace_s=20, ends_with=hosted.ends_with)

    def _note(
        self, name: str, running: Running, *, stage: int, grace_s: float, ends_with: signal.Signals
    ) -> None:
        self.roster.add(
            roster.RosterEntry(
                name=name,
                pid=running.pid,
                created=running.created,
                stage=stage,
                signal=int(ends_with),
                grace_s=grace_s,
            )
        )

    def _reap(self, child: ProgramProcess) -> None:
        if child.popen is not None:
            child.popen.wait()
            child.popen = None
        self.roster.drop(child.program.name)
