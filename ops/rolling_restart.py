"""Restarts the web processes of one machine one after another, so that there is always one that serves."""

import shlex
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass

PROBE_TIMEOUT_S = 5.0
POLL_S = 0.2


class RestartBroken(Exception):
    """The restart went no further; the text says why, and what still serves."""


@dataclass(frozen=True, kw_only=True)
class RollingRestart:
    """`command` restarts the process on `{port}`, and returns once the old one has ended. `say` is told each step."""

    ports: Sequence[int]
    command: str
    host: str = "127.0.0.1"
    ready_within_s: float = 120.0
    say: Callable[[str], None] = print

    def run(self) -> None:
        """Restart all of them. Raises RestartBroken before, or after, one that is not ready."""
        for port in self.ports:
            if not self._is_ready(port):
                raise RestartBroken(
                    f"The process on port {port} does not answer /readyz. Nothing was restarted: see to it first, or "
                    "leave its port out."
                )
        for port in self.ports:
            self._check_others(port)
            began = time.monotonic()
            self.say(f"Port {port}: restarting; its replies may end first.")
            self._restart(port)
            self._wait_until_ready(port)
            self.say(f"Port {port}: serves again after {time.monotonic() - began:.1f} s.")

    def _check_others(self, port: int) -> None:
        for other in self.ports:
            if other != port and not self._is_ready(other):
                raise RestartBroken(
                    f"The process on port {other} does not answer /readyz any more, so the one on port {port} was not "
                    "restarted. See its log, then start this command again."
                )

    def _restart(self, port: int) -> None:
        words = [word.replace("{port}", str(port)) for word in shlex.split(self.command)]
        try:
            ended = subprocess.run(words, check=False)
        except OSError as failure:
            raise RestartBroken(f"{words[0]} cannot be run: {failure.strerror}.") from None
        if ended.returncode:
            raise RestartBroken(
                f"The command for port {port} ended with code {ended.returncode}; no other process was restarted."
            )

    def _wait_until_ready(self, port: int) -> None:
        deadline = time.monotonic() + self.ready_within_s
        while not self._is_ready(port):
            if time.monotonic() > deadline:
                raise RestartBroken(
                    f"The process on port {port} is not ready {self.ready_within_s:.0f} s after its start. The "
                    f"others serve on; no further one was restarted. See its log: journalctl -u companion-web@{port}."
                )
            time.sleep(POLL_S)

    def _is_ready(self, port: int) -> bool:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"http://{self.host}:{port}/readyz", timeout=PROBE_TIMEOUT_S) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False
