"""The private PostgreSQL of a run from outside: its state, its faults, and statements over a direct connection."""

import contextlib
import os
import random
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psycopg
from psycopg.rows import dict_row

from ops.stack.process import family, wait_until_over
from ops.testbed.private_folder import postgres_in, unmount_under

DISK_BYTES = 600_000_000
"""Of the small disk that can be filled, where this account may mount one."""
SMART_S = 2.0
"""Time that a smart shutdown has before a fast one ends it: it waits for its clients."""
COMMIT_DELAY_US = 100_000


class RunDatabase:
    """Methods block; calls that change rows raise psycopg.Error while the server is away."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "postgres"
        self.server = postgres_in(folder)
        self._is_mounted = False

    @property
    def socket_folder(self) -> Path:
        """Where the server's socket is."""
        return Path(parse_qs(urlsplit(self.server.url).query)["host"][0])

    # Its life.

    def start(self) -> None:
        """Serve. Raises CannotStart."""
        self.server.start()

    def mount_small_disk(self) -> None:
        """Put the data on a small disk of its own, where this account may."""
        self._folder.mkdir(exist_ok=True)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=0755", "tmpfs", str(self._folder)]
        with contextlib.suppress(OSError):
            self._is_mounted = subprocess.run(mount, capture_output=True).returncode == 0

    def stop(self) -> None:
        """End the server and give the small disk back."""
        self.resume()
        self.server.stop()
        if self._is_mounted:
            unmount_under(self._folder)

    def shut_down(self, how: str) -> None:
        """`fast`, `immediate`, `smart` or `kill`."""
        match how:
            case "kill":
                self.server.kill()
            case "immediate":
                self.server.stop("immediate")
            case "smart":
                running = self.server.running
                if running is not None:
                    os.kill(running.pid, signal.SIGTERM)
                    process = running.process()
                    if process is not None:
                        wait_until_over([process], limit_s=SMART_S)
                self.server.stop("fast")
            case _:
                self.server.stop("fast")

    def suspend(self) -> None:
        """SIGSTOP the server with all its processes."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        running = self.server.running
        for process in family(running) if running is not None else ():
            with contextlib.suppress(Exception):
                process.send_signal(number)

    # Its faults.

    def terminate_backends(self, *, only_one: bool, chance: random.Random) -> int:
        """Let the server end client connections; returns how many."""
        pids = self._backends("true")
        chosen = [chance.choice(pids)] if only_one and pids else pids
        return self._terminate(chosen)

    def terminate_listeners(self) -> int:
        """Let the server end every connection that listens; returns how many."""
        return self._terminate(self._backends("(query ILIKE 'LISTEN%' OR query = 'SELECT 1')"))

    def crash_backend(self, chance: random.Random) -> bool:
        """SIGKILL one backend: the server restarts all of them and recovers. False: there was none."""
        pids = self._backends("true")
        if pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(chance.choice(pids), signal.SIGKILL)
        return bool(pids)

    def slow_disk(self, is_slow: bool) -> None:
        """Let each flush of the journal take a tenth of a second longer."""
        self._set("commit_delay", str(COMMIT_DELAY_US) if is_slow else None)
        self._set("commit_siblings", "0" if is_slow else None)

    def fill_disk(self) -> str:
        """Use all space of the small disk; without one, refuse writes as managed servers do. Returns which."""
        if not self._is_mounted:
            self._set("default_transaction_read_only", "on")
            return "read-only"
        state = os.statvfs(self._folder)
        with contextlib.suppress(OSError), self._balloon.open("wb") as balloon:
            os.posix_fallocate(balloon.fileno(), 0, max(1, state.f_bavail * state.f_frsize))
        return "full"

    def free_disk(self) -> None:
        """Take the fault of `fill_disk` back, and start the server again if it could not go on."""
        if self._is_mounted:
            self._balloon.unlink(missing_ok=True)
            self.server.start()
        else:
            self._set("default_transaction_read_only", None)

    def jump_clock(self, seconds: float) -> None:
        """Move every lease as a jump of the server's clock by `seconds` does."""
        with self.connect() as connection:
            connection.execute(
                "UPDATE companion_process SET beat_at = beat_at - make_interval(secs => %s)", [seconds]
            )

    # Statements.

    @contextlib.contextmanager
    def connect(self) -> "Iterator[psycopg.Connection[Any]]":
        """A direct connection, around every proxy."""
        with psycopg.connect(
            self.server.url, autocommit=True, connect_timeout=5, application_name="ordeal"
        ) as connection:
            connection.execute("SET statement_timeout = '10s'")
            # While the disk is full the run itself still writes.
            connection.execute("SET default_transaction_read_only = off")
            yield connection

    def rows(self, query: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[dict[str, Any]]:
        """The rows of a query."""
        with self.connect() as connection, connection.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(query, parameters).fetchall()

    def _backends(self, condition: str) -> list[int]:
        found = self.rows(
            f"""SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'
                AND application_name <> 'ordeal' AND {condition} ORDER BY pid"""
        )
        return [row["pid"] for row in found]

    def _terminate(self, pids: Sequence[int]) -> int:
        return len(self.rows("SELECT pg_terminate_backend(pid) FROM unnest(%s::int[]) pid", [list(pids)]))

    def _set(self, name: str, value: str | None) -> None:
        with self.connect() as connection:
            change = f"RESET {name}" if value is None else f"SET {name} = '{value}'"
            connection.execute(f"ALTER SYSTEM {change}".encode())
            connection.execute("SELECT pg_reload_conf()")

    @property
    def _balloon(self) -> Path:
        return self._folder / "balloon"
