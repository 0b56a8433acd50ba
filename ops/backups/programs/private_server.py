"""A private PostgreSQL server: created in a run's folder, reachable by a private socket, deleted after the run.

A restore into it uses neither the disk nor the WAL nor the rights of the live server.
"""

import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import psycopg

from ops.backups.connecting.address import Address
from ops.backups.programs.child import ChildProgram
from ops.backups.programs.tools import Tools
from ops.backups.run.errors import CouldNotRun
from ops.backups.run.run_folder import RunFolder
from ops.stack.account import Account, choose_account
from ops.stack.errors import NO_SPACE, CannotStart
from ops.stack.postgres import launch_server, socket_folder
from ops.stack.process import Running, end
from ops.stack.signals import defer_signals

SUPERUSER = "restore_drill"
PORT = "5432"
FIRST_MAJOR_WITH_CHECKSUMS = 18
"""First major version whose initdb turns data checksums on by default."""
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0
SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "40",
    "timezone": "UTC",
    # The log must not contain stored rows, even though it is deleted with the folder.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_min_messages": "error",
    "log_parameter_max_length_on_error": "0",
    "log_checkpoints": "off",
    # The server is loaded once and read once: no archive, no replica, no autovacuum.
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "1h",
    "autovacuum": "off",
    "shared_buffers": "256MB",
    "maintenance_work_mem": "256MB",
}


class PrivateServer:
    """One server in the folder of a run. Methods block."""

    setting = "the drill's own server"

    def __init__(self, folder: RunFolder, tools: Tools) -> None:
        self._run = folder
        self._folder = folder.path / "server"
        self._data = self._folder / "data"
        self._sockets = locate_sockets(folder.path)
        self._tools = tools
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> Address:
        """Its maintenance database. No password: other accounts cannot enter the socket's folder."""
        return Address(
            keywords={"host": str(self._sockets), "port": PORT, "user": SUPERUSER, "dbname": "postgres"}
        )

    def start(self, tick: Callable[[], None]) -> None:
        """Create and start the server. Raises CouldNotRun. `tick` may raise."""
        try:
            account = choose_account(self._folder, self._tools["postgres"])
            account.own(self._folder)
            account.own(self._sockets)
        except CannotStart as refusal:
            raise CouldNotRun(str(refusal)) from None
        self._initialise(account, tick)
        self._launch(account)
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._is_answering():
            tick()
            if self._child is None or self._child.poll() is not None or time.monotonic() > deadline:
                raise self._make_error("did not start", self._read_log_tail())
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop the server and its processes, and remove its sockets. Its folder is removed with the run's."""
        if self._child is not None:
            if running := Running.of(self._child.pid):
                end(running, with_signal=signal.SIGQUIT, grace_s=STOP_TIMEOUT_S)
            self._child.wait()
            self._child = None
        shutil.rmtree(self._sockets, ignore_errors=True)

    def _initialise(self, account: Account, tick: Callable[[], None]) -> None:
        options = [
            "--username",
            SUPERUSER,
            "--auth",
            "trust",
            "--encoding",
            "UTF8",
            "--locale",
            "C",
            "--no-sync",
        ]
        if self._tools.major >= FIRST_MAJOR_WITH_CHECKSUMS:
            # Checksums cause every page to be written again after its first read, on a disk the live server may share.
            options.append("--no-data-checksums")
        argv: list[str | Path] = [self._tools["initdb"], "--pgdata", self._data, *options]
        # As a ChildProgram: descendants of a killed initdb would survive it and go on writing.
        making = ChildProgram(argv, environment=account.environment, folder=self._run, account=account)
        with making:
            if making.wait(tick) != 0:
                raise self._make_error("could not be made", making.stderr_tail)

    def _launch(self, account: Account) -> None:
        settings = {**SETTINGS, "unix_socket_directories": str(self._sockets)}
        program = self._tools["postgres"]
        with open(self._run.path / "server.log", "wb") as log, defer_signals():
            self._child = launch_server(
                program, self._data, account=account, port=int(PORT), settings=settings, log=log
            )
            self._run.record_child(self._child.pid)

    def _is_answering(self) -> bool:
        try:
            self.address.connect({}).close()
        except psycopg.OperationalError:
            return False
        return True

    def _read_log_tail(self) -> str:
        try:
            return (self._run.path / "server.log").read_text(errors="replace")[-1000:]
        except OSError:
            return ""

    def _make_error(self, what: str, said: str) -> CouldNotRun:
        if NO_SPACE in said:
            return CouldNotRun(
                f"The drill's own server {what}: the disk is full.", mend="Make room (--work)."
            )
        return CouldNotRun(f"The drill's own server {what}. The end of its log: {said.strip()[-600:]}")


def locate_sockets(run: Path) -> Path:
    """Return the folder of a run's socket: in the server's folder, or a temporary one if that path is too long."""
    folder = run / "server" / "socket"
    return socket_folder(folder, port=int(PORT), named_after=run, prefix=run.name[:14])
