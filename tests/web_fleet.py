"""Web processes on fixed ports, each started anew when it ends, as a service manager does."""

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.patience import wait_until
from tests.prefork import ForkedProcess, prefork
from tests.processes import Rehearsal
from tests.programs import find_free_port

START_WITHIN_S = 60


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """Processes behind one proxy. `folder` holds their logs, and the process id of each port."""

    ports: Sequence[int]
    folder: Path

    @property
    def restart_command(self) -> str:
        """Restarts the process on `{port}`; returns once the old one has ended and another is being started."""
        file = self.folder / "{port}.pid"
        return f"""sh -c 'p=$(cat {file}); kill $p; while [ "$(cat {file})" = "$p" ]; do sleep 0.05; done'"""

    def read_log(self, port: int) -> str:
        """The log of all processes on this port."""
        return (self.folder / f"{port}.log").read_text(errors="replace")


class _Keeper(threading.Thread):
    def __init__(self, port: int, folder: Path, environment: dict[str, str]) -> None:
        super().__init__(daemon=True)
        self._port = port
        self._folder = folder
        self._environment = environment
        self._is_over = False
        self.process: ForkedProcess | None = None

    def run(self) -> None:
        with (self._folder / f"{self._port}.log").open("a") as log:
            while not self._is_over:
                self.process = prefork.start(
                    ["manage.py", "serve", "--port", str(self._port)],
                    env=self._environment,
                    stderr=log.fileno(),
                    stdout=log.fileno(),
                )
                partial = self._folder / f"{self._port}.partial"
                partial.write_text(str(self.process.pid))
                partial.replace(self._folder / f"{self._port}.pid")
                self.process.wait()

    def end(self) -> None:
        self._is_over = True
        if self.process is not None:
            self.process.terminate()
        self.join(30)


@contextmanager
def start_fleet(count: int, folder: Path, rehearsal: Rehearsal, **settings: str) -> Iterator[Fleet]:
    """Start `count` processes and wait until all of them are ready."""
    folder.mkdir(exist_ok=True)
    ports = [find_free_port() for _ in range(count)]
    environment = {**os.environ, "REHEARSAL_URL": rehearsal.url, **settings}
    keepers = [_Keeper(port, folder, environment) for port in ports]
    for keeper in keepers:
        keeper.start()
    try:
        for port in ports:
            wait_until(lambda port=port: _is_ready(port), within_s=START_WITHIN_S)  # type: ignore[misc]
        yield Fleet(ports=ports, folder=folder)
    finally:
        for keeper in keepers:
            keeper.end()


def _is_ready(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz", trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False
