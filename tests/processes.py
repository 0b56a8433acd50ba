"""Real processes for tests: web and rehearsal, started as an operator starts them and really stopped."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import httpx

from routing.rehearsal.doors import operator_headers

ROOT = Path(__file__).resolve().parent.parent
START_WITHIN_S = 30


@dataclass(kw_only=True, eq=False)
class Child:
    """A process and where it serves."""

    process: subprocess.Popen[str]
    url: str
    log: Path

    def signal(self, number: int) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        self.process.kill()
        self.process.wait(10)

    def end(self, within_s: float = 30) -> int:
        """SIGTERM, and the exit code."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    @property
    def said(self) -> str:
        """Everything it has written so far."""
        return self.log.read_text(errors="replace")


class Web(Child):
    """A web process."""

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.url.rsplit(":", 1)[1])

    @property
    def socket_url(self) -> str:
        """Where its chat socket is."""
        return self.url.replace("http", "ws", 1) + "/ws/chat/"


@dataclass(kw_only=True, eq=False)
class Rehearsal(Child):
    """The rehearsal provider, and what can be asked of it beside questions."""

    desk: httpx.Client
    """Where orders are given and records read: one connection for all of them."""

    def will(self, fault: dict[str, Any], *, times: int | None = None, match: str | None = None) -> None:
        """From now on requests meet this fault: `times` of them, or all until `clear`."""
        asked = {"next": times, "fault": fault, "match": match}
        self.desk.post("/control", json=asked).raise_for_status()

    def clear(self) -> None:
        """No faults, and nothing asked."""
        for path in ("control", "asked", "gauge"):
            self.desk.delete(f"/{path}").raise_for_status()

    def asked(self) -> list[dict[str, Any]]:
        """What it was asked, oldest first."""
        listed: list[dict[str, Any]] = self.desk.get("/asked").json()
        return listed

    def gauge(self) -> dict[str, int]:
        """in_flight, max_in_flight, total."""
        gauge: dict[str, int] = self.desk.get("/gauge").json()
        return gauge


@contextmanager
def start_rehearsal(*arguments: str) -> Iterator[Rehearsal]:
    """A rehearsal provider that speaks quickly, so that tests do."""
    quick = ["--pace-ms", "5", "--first-word-ms", "20"]
    tokens = Path(os.environ["COMPANION_STATE_DIR"]) / "run"
    open_doors = ["--token-dir", str(tokens), "--keep-texts"]
    command = [sys.executable, "-m", "routing.rehearsal", "--port", "0", *quick, *open_doors, *arguments]
    with (
        _started(command, "rehearsal: ", {}) as (process, url, log),
        # No proxy, and no time spent on loading certificates for a plain address of this machine.
        httpx.Client(
            base_url=url.removesuffix("/v1"),
            headers=operator_headers(tokens, url),
            trust_env=False,
            verify=False,
        ) as desk,
    ):
        yield Rehearsal(process=process, url=url, log=log, desk=desk)


@contextmanager
def start_web(rehearsal: Rehearsal, **settings: str) -> Iterator[Web]:
    """A web process; `settings` are environment variables."""
    command = [sys.executable, "manage.py", "serve", "--port", "0"]
    environment = {"REHEARSAL_URL": rehearsal.url, **settings}
    with _started(command, "serving: ", environment) as (process, url, log):
        yield Web(process=process, url=url, log=log)


_running: set[subprocess.Popen[str]] = set()


@contextmanager
def everybody_holds_still(is_between: Callable[[], bool]) -> Iterator[None]:
    """No process of other tests runs meanwhile: each would run the gate too, and let a turn in before the test looks.

    `is_between` says whether none of them was stopped in the midst of a transaction, with locks in its hands.
    """
    still = [process for process in _running if process.poll() is None]
    try:
        while True:
            for process in still:
                process.send_signal(signal.SIGSTOP)
            if is_between():
                break
            for process in still:
                process.send_signal(signal.SIGCONT)
        yield
    finally:
        for process in still:
            process.send_signal(signal.SIGCONT)


@contextmanager
def _started(
    command: list[str], says: str, environment: dict[str, str]
) -> Iterator[tuple[subprocess.Popen[str], str, Path]]:
    log = Path(os.environ["COMPANION_STATE_DIR"]) / f"{says.split(':')[0]}-{os.urandom(4).hex()}.log"
    with log.open("w") as written:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=written,
            text=True,
        )
    _running.add(process)
    try:
        assert process.stdout is not None
        yield process, _said(process.stdout, says, log), log
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


def _said(output: IO[str], says: str, log: Path) -> str:
    for line in output:
        if line.startswith(says):
            return line.removeprefix(says).strip()
    raise AssertionError(f"it never said {says!r}; its log: {log.read_text()[-3000:]}")
