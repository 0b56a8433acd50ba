"""Real processes for tests: web and rehearsal, started by the commands an operator uses, and stopped by signals."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

import httpx

from routing.rehearsal.doors import operator_headers
from tests.prefork import ForkedProcess, prefork

ROOT = Path(__file__).resolve().parent.parent
Started = TypeVar("Started", "subprocess.Popen[str]", ForkedProcess)


@dataclass(kw_only=True, eq=False)
class Child:
    """A started process, the URL it serves and its log file."""

    process: "subprocess.Popen[str] | ForkedProcess"
    url: str
    log: Path

    def signal(self, number: int) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def kill(self) -> None:
        """Send SIGKILL and wait until it is gone."""
        self.process.kill()
        self.process.wait(10)

    def end(self, within_s: float = 30) -> int:
        """Send SIGTERM; return the exit code. Kill it and raise TimeoutExpired if it does not end."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    @property
    def log_text(self) -> str:
        """Its log so far."""
        return self.log.read_text(errors="replace")


class Web(Child):
    """A web process."""

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.url.rsplit(":", 1)[1])

    @property
    def socket_url(self) -> str:
        """The URL of its chat socket."""
        return self.url.replace("http", "ws", 1) + "/ws/chat/"


@dataclass(kw_only=True, eq=False)
class Rehearsal(Child):
    """The rehearsal provider with its operator endpoints."""

    operator: httpx.Client
    """One connection to the operator endpoints: `/control`, `/asked`, `/gauge`."""

    def inject(self, fault: dict[str, Any], *, times: int | None = None, match: str | None = None) -> None:
        """Inject a fault into the next `times` requests, or into all until `clear`."""
        order = {"next": times, "fault": fault, "match": match}
        self.operator.post("/control", json=order).raise_for_status()

    def clear(self) -> None:
        """Remove the faults and the recorded requests."""
        for path in ("control", "asked", "gauge"):
            self.operator.delete(f"/{path}").raise_for_status()

    def list_requests(self) -> list[dict[str, Any]]:
        """The recorded requests, oldest first."""
        listed: list[dict[str, Any]] = self.operator.get("/asked").json()
        return listed

    def read_gauge(self) -> dict[str, int]:
        """The counters in_flight, max_in_flight and total."""
        gauge: dict[str, int] = self.operator.get("/gauge").json()
        return gauge


@contextmanager
def start_rehearsal(*arguments: str) -> Iterator[Rehearsal]:
    """Start a rehearsal provider with a quick pace."""
    quick = ["--pace-ms", "5", "--first-word-ms", "20"]
    tokens = Path(os.environ["COMPANION_STATE_DIR"]) / "run"
    endpoints = ["--token-dir", str(tokens), "--keep-texts"]
    command = [sys.executable, "-m", "routing.rehearsal", "--port", "0", *quick, *endpoints, *arguments]

    def start(log: IO[str]) -> "subprocess.Popen[str]":
        return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True)

    with (
        _start(start, "rehearsal: ") as (process, url, log),
        # No proxy; skip loading certificates for plain HTTP.
        httpx.Client(
            base_url=url.removesuffix("/v1"),
            headers=operator_headers(tokens, url),
            trust_env=False,
            verify=False,
        ) as operator,
    ):
        yield Rehearsal(process=process, url=url, log=log, operator=operator)


@contextmanager
def start_web(rehearsal: Rehearsal, **settings: str) -> Iterator[Web]:
    """Start a web process; `settings` are environment variables."""
    environment = {**os.environ, "REHEARSAL_URL": rehearsal.url, **settings}

    def start(log: IO[str]) -> ForkedProcess:
        return prefork.start(["manage.py", "serve", "--port", "0"], env=environment, stderr=log.fileno())

    with _start(start, "serving: ") as (process, url, log):
        yield Web(process=process, url=url, log=log)


_running: "set[subprocess.Popen[str] | ForkedProcess]" = set()


@contextmanager
def pause_processes(is_idle: Callable[[], bool]) -> Iterator[None]:
    """Suspend all started processes inside the block: each would run the gate and admit a turn before the test looks.

    Retries until `is_idle` is true: all were suspended outside a transaction, so none holds a lock.
    """
    paused = [process for process in _running if process.poll() is None]
    try:
        while True:
            for process in paused:
                process.send_signal(signal.SIGSTOP)
            if is_idle():
                break
            for process in paused:
                process.send_signal(signal.SIGCONT)
        yield
    finally:
        for process in paused:
            process.send_signal(signal.SIGCONT)


@contextmanager
def _start(start: "Callable[[IO[str]], Started]", prefix: str) -> Iterator[tuple["Started", str, Path]]:
    log = Path(os.environ["COMPANION_STATE_DIR"]) / f"{prefix.split(':')[0]}-{os.urandom(4).hex()}.log"
    with log.open("w") as log_file:
        process = start(log_file)
    _running.add(process)
    try:
        assert process.stdout is not None
        yield process, _read_address(process.stdout, prefix, log), log
    finally:
        _running.discard(process)
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)
        if process.stdout is not None:
            process.stdout.close()


def _read_address(output: IO[str], prefix: str, log: Path) -> str:
    for line in output:
        if line.startswith(prefix):
            return line.removeprefix(prefix).strip()
    raise AssertionError(f"no line begins with {prefix!r}; log: {log.read_text()[-3000:]}")
