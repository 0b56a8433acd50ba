"""Run `scripts/up` as at a terminal: start it, read its lines, stop it."""

import http.client
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
# Generous: a busy machine must not fail the test.
LIMIT_S = 180.0
KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "TERM")


@dataclass(kw_only=True)
class Up:
    """One running `scripts/up`. `lines` holds every line read from it so far."""

    popen: subprocess.Popen[str]
    state: Path
    port: int
    lines: list[str] = field(default_factory=list)
    start_used_s: float = 0.0
    """Processor seconds used until it was ready, where a test has noted them."""
    _queue: "queue.Queue[str | None]" = field(default_factory=queue.Queue)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def read(self) -> None:
        """Queue the lines as they arrive; runs in its own thread."""
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            self._queue.put(line.rstrip("\n"))
        self._queue.put(None)

    def until(self, text: str) -> str:
        """Wait for a line with this text and return it."""
        deadline = time.monotonic() + LIMIT_S
        while True:
            line = self._queue.get(timeout=max(0.1, deadline - time.monotonic()))
            assert line is not None, f"it ended without printing {text!r}:\n" + "\n".join(self.lines)
            self.lines.append(line)
            if text in line:
                return line

    def read_lines(self) -> None:
        """Take the lines printed so far, so that `until` waits for a new one."""
        with suppress(queue.Empty):
            while (line := self._queue.get_nowait()) is not None:
                self.lines.append(line)

    def wait_until_ready(self) -> "Up":
        self.until("ready: ")
        return self

    def wait_for_exit(self) -> int:
        """Wait until it ends and return its exit code."""
        code = self.popen.wait(timeout=LIMIT_S)
        while (line := self._queue.get(timeout=LIMIT_S)) is not None:
            self.lines.append(line)
        return code

    def stop(self, with_signal: signal.Signals = signal.SIGINT) -> int:
        self.popen.send_signal(with_signal)
        return self.wait_for_exit()

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def processes(self) -> list[psutil.Process]:
        """All processes that run for this state folder."""
        return [process for process in psutil.process_iter() if belongs_to(process, self.state)]

    def ask_each(self, ask: Callable[[psutil.Process], Answer]) -> list[Answer]:
        """Call `ask` with each of its processes; skip processes that end meanwhile."""
        answers = []
        for process in self.processes():
            with suppress(psutil.NoSuchProcess):
                answers.append(ask(process))
        return answers

    def processor_seconds(self) -> float:
        """Processor seconds used so far by all its processes, ended ones included."""
        times = self.ask_each(lambda process: process.cpu_times())
        return sum(time.user + time.system for time in times) + sum(
            time.children_user + time.children_system for time in times
        )

    def find_process(self, words: str) -> psutil.Process:
        """The process whose command line has these words and whose parent's has not."""
        family = self.ask_each(lambda process: (process, " ".join(process.cmdline()), process.ppid()))
        found = {process.pid: (process, parent) for process, command, parent in family if words in command}
        return next(process for process, parent in found.values() if parent not in found)


def status(
    run: Up, path: str, *, port: int | None = None, headers: dict[str, str] | None = None
) -> tuple[int, str]:
    """Get a page of it: the status code and the body. `port` is of another web process than the first."""
    connection = http.client.HTTPConnection("127.0.0.1", port or run.port, timeout=LIMIT_S)
    try:
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


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


def find_free_ports(count: int = 1) -> int:
    """Find `count` consecutive free ports; returns the first."""
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


def clean_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """An environment like a fresh terminal's, without the settings of these tests."""
    return {name: os.environ[name] for name in KEPT if name in os.environ} | dict(extra or {})


@contextmanager
def restore_signals() -> Iterator[None]:
    """Restore the default SIGINT and SIGHUP inside the block, so that children do not inherit ignored signals.

    A shell ignores SIGINT for background commands; nohup ignores SIGHUP.
    """
    ignored = [
        number for number in (signal.SIGINT, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_IGN
    ]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)


@contextmanager
def up(
    state: Path,
    *arguments: str,
    port: int | None = None,
    environment: Mapping[str, str] | None = None,
    command: Sequence[str] = SCRIPT,
    **popen: Any,
) -> Iterator[Up]:
    """Start `scripts/up`; on exit, end every process it left."""
    port = find_free_ports() if port is None else port
    before = {process.pid for process in psutil.process_iter() if belongs_to(process, state)}
    with restore_signals():
        started = subprocess.Popen(
            [*command, "--state", str(state), "--port", str(port), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=ROOT,
            env=clean_environment(environment),
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
        run.ask_each(lambda left: left.kill() if left.pid not in before else None)
