"""A PostgreSQL server of the drill's own: made in a private folder, behind a private socket, gone at the end.

The live server's disk, WAL and rights are not touched by what is restored here.
"""

import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import psycopg

from ops.backups.connecting.address import Address
from ops.backups.programs.child import Child
from ops.backups.programs.tools import Tools
from ops.backups.run.errors import CouldNotRun
from ops.backups.run.run_folder import RunFolder
from ops.backups.run.watch import uninterrupted
from ops.stack.account import Account, choose_account
from ops.stack.errors import NO_SPACE, CannotStart
from ops.stack.process import Running, end

SUPERUSER = "restore_drill"
PORT = "5432"
LONGEST_SOCKET_PATH = 107
CHECKSUMS_SINCE = 18
"""The first major whose clusters have data checksums unless told otherwise."""
START_LIMIT_S = 60.0
STOP_LIMIT_S = 30.0
SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "40",
    "timezone": "UTC",
    # Nothing anybody wrote may reach the log, though it is deleted with the folder.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_min_messages": "error",
    "log_parameter_max_length_on_error": "0",
    "log_checkpoints": "off",
    # One load and one reading: no archive, no replica, no tidying meanwhile.
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "1h",
    "autovacuum": "off",
    "shared_buffers": "256MB",
    "maintenance_work_mem": "256MB",
}


class PrivateServer:
    """One server in the folder of one run. Methods block."""

    setting = "the drill's own server"

    def __init__(self, folder: RunFolder, tools: Tools) -> None:
        self._run = folder
        self._folder = folder.path / "server"
        self._data = self._folder / "data"
        self._sockets = sockets_of(folder.path)
        self._tools = tools
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> Address:
        """Its maintenance database. There is no password: nobody else can reach the socket's folder."""
        return Address(
            keywords={"host": str(self._sockets), "port": PORT, "user": SUPERUSER, "dbname": "postgres"}
        )

    def start(self, tick: Callable[[], None]) -> None:
        """Make and start it. Raises CouldNotRun. `tick` may raise."""
        try:
            account = choose_account(self._folder, self._tools["postgres"])
            account.own(self._folder)
            account.own(self._sockets)
        except CannotStart as refusal:
            raise CouldNotRun(str(refusal)) from None
        self._make(account, tick)
        self._launch(account)
        deadline = time.monotonic() + START_LIMIT_S
        while not self._answers():
            tick()
            if self._child is None or self._child.poll() is not None or time.monotonic() > deadline:
                raise self._failed("did not start", self._log_tail())
            time.sleep(0.05)

    def stop(self) -> None:
        """End it and everything below it, and remove its sockets. Its folder goes with the run's."""
        if self._child is not None:
            if running := Running.of(self._child.pid):
                end(running, with_signal=signal.SIGQUIT, grace_s=STOP_LIMIT_S)
            self._child.wait()
            self._child = None
        shutil.rmtree(self._sockets, ignore_errors=True)

    def _make(self, account: Account, tick: Callable[[], None]) -> None:
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
        if self._tools.major >= CHECKSUMS_SINCE:
            # With them the first reading of every page writes it once more, on the disk the live server may share.
            options.append("--no-data-checksums")
        argv: list[str | Path] = [self._tools["initdb"], "--pgdata", self._data, *options]
        # Its own children outlive an initdb that is merely killed, and go on writing.
        making = Child(argv, environment=account.environment, folder=self._run, account=account)
        with making:
            if making.wait(tick) != 0:
                raise self._failed("could not be made", making.said)

    def _launch(self, account: Account) -> None:
        settings = {**SETTINGS, "unix_socket_directories": str(self._sockets)}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with open(self._run.path / "server.log", "wb") as log, uninterrupted():
            self._child = subprocess.Popen(
                account.command([self._tools["postgres"], "-D", self._data, "-p", PORT, *options]),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=0,
                **account.popen_arguments(),
            )
            self._run.note(self._child.pid)

    def _answers(self) -> bool:
        try:
            self.address.connect({}).close()
        except psycopg.OperationalError:
            return False
        return True

    def _log_tail(self) -> str:
        try:
            return (self._run.path / "server.log").read_text(errors="replace")[-1000:]
        except OSError:
            return ""

    def _failed(self, what: str, said: str) -> CouldNotRun:
        if NO_SPACE in said:
            return CouldNotRun(
                f"The drill's own server {what}: the disk is full.", mend="Make room (--work)."
            )
        return CouldNotRun(f"The drill's own server {what}. The last it said: {said.strip()[-600:]}")


def sockets_of(run: Path) -> Path:
    """The socket's folder of a run: beside its server, or where the path is too long, a short one of its own."""
    folder = run / "server" / "socket"
    if len(os.fsencode(folder / f".s.PGSQL.{PORT}.lock")) <= LONGEST_SOCKET_PATH:
        return folder
    digest = hashlib.sha256(os.fsencode(run)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"{run.name[:14]}{digest}"
