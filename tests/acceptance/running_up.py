"""`scripts/up` as a person at a keyboard uses it: started, read line by line, and stopped."""

import os
import queue
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import psutil

Answer = TypeVar("Answer")
ROOT = Path(__file__).resolve().parents[2]
SCRIPT = (str(ROOT / "scripts" / "up"),)
# Far beyond what it takes: a machine that runs everything else as well is slow, not broken.
LIMIT_S = 180.0
KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "TERM")


@dataclass(kw_only=True)
class Up:
    """One `scripts/up`. `said` holds every line it has printed so far."""

    popen: subprocess.Popen[str]
    state: Path
    port: int
    said: list[str] = field(default_factory=list)
    _lines: "queue.Queue[str | None]" = field(default_factory=queue.Queue)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def read(self) -> None:
        """Pass the lines on as they come; run in a thread of its own."""
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def until(self, text: str) -> str:
        """Wait for a line with this text and return it."""
        deadline = time.monotonic() + LIMIT_S
        while True:
            line = self._lines.get(timeout=max(0.1, deadline - time.monotonic()))
            assert line is not None, f"it ended without saying {text!r}:\n" + "\n".join(self.said)
            self.said.append(line)
            if text in line:
                return line

    def ready(self) -> "Up":
        self.until("ready: ")
        return self

    def wait_for_exit(self) -> int:
        """Wait until it ends and return its exit code."""
        code = self.popen.wait(timeout=LIMIT_S)
        while (line := self._lines.get(timeout=LIMIT_S)) is not None:
            self.said.append(line)
        return code

    def stop(self, with_signal: signal.Signals = signal.SIGINT) -> int:
        self.popen.send_signal(with_signal)
        return self.wait_for_exit()

    @property
    def text(self) -> str:
        return "\n".join(self.said)

    def processes(self) -> list[psutil.Process]:
        """All processes that run for this state folder."""
        return [process for process in psutil.process_iter() if belongs_to(process, self.state)]

    def each(self, ask: Callable[[psutil.Process], Answer]) -> list[Answer]:
        """Ask this of every process that runs for it. Processes that end meanwhile are left out."""
        answers = []
        for process in self.processes():
            with suppress(psutil.NoSuchProcess):
                answers.append(ask(process))
        return answers

    def processor_seconds(self) -> float:
        """What it has used so far, over all its processes, ended ones included."""
        times = self.each(lambda process: process.cpu_times())
        return sum(time.user + time.system for time in times) + sum(
            time.children_user + time.children_system for time in times
        )

    def running(self, words: str) -> psutil.Process:
        """The one process whose command line has these words and whose parent has not."""
        family = self.each(lambda process: (process, " ".join(process.cmdline()), process.ppid()))
        found = {process.pid: (process, parent) for process, command, parent in family if words in command}
        return next(process for process, parent in found.values() if parent not in found)


def belongs_to(process: psutil.Process, state: Path) -> bool:
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        named = any(str(state) in word for word in process.cmdline())
        return named or process.environ().get("COMPANION_STATE_DIR") == str(state) or _inside(process, state)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False


def _inside(process: psutil.Process, state: Path) -> bool:
    return Path(process.cwd()).is_relative_to(state)


def free_ports(count: int = 1) -> int:
    """The first of so many free ports in a row."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            first = int(probe.getsockname()[1])
        if first + count < 65535 and all(_is_free(port) for port in range(first, first + count)):
            return first


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def surroundings(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """An environment like a fresh terminal's, without the settings of these tests."""
    return {name: os.environ[name] for name in KEPT if name in os.environ} | dict(extra or {})


@contextmanager
def restore_signals() -> Iterator[None]:
    """What is started meanwhile hears Ctrl-C and a closed terminal, even where these tests were started deaf to them.

    A shell makes what it starts in the background deaf to the one, and nohup to the other.
    """
    deaf = [one for one in (signal.SIGINT, signal.SIGHUP) if signal.getsignal(one) is signal.SIG_IGN]
    for one in deaf:
        signal.signal(one, signal.SIG_DFL)
    try:
        yield
    finally:
        for one in deaf:
            signal.signal(one, signal.SIG_IGN)


@contextmanager
def up(
    state: Path,
    *arguments: str,
    port: int | None = None,
    environment: Mapping[str, str] | None = None,
    command: Sequence[str] = SCRIPT,
    **popen: Any,
) -> Iterator[Up]:
    """Start `scripts/up`; whatever the test does, nothing of it is left afterwards."""
    port = free_ports() if port is None else port
    before = {process.pid for process in psutil.process_iter() if belongs_to(process, state)}
    with restore_signals():
        started = subprocess.Popen(
            [*command, "--state", str(state), "--port", str(port), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=ROOT,
            env=surroundings(environment),
            start_new_session=True,
            **popen,
        )
    run = Up(popen=started, state=state, port=port)
    reader = threading.Thread(target=run.read, daemon=True)
    reader.start()
    try:
        yield run
    finally:
        if started.poll() is None:
            started.send_signal(signal.SIGTERM)
            started.wait(timeout=LIMIT_S)
        reader.join(timeout=LIMIT_S)
        assert started.stdout is not None
        started.stdout.close()
        run.each(lambda left: left.kill() if left.pid not in before else None)
