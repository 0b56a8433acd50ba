"""Starts Python programs by forking a process that has imported their libraries.

A web process spends most of its start on imports, and tests start hundreds. Each program still runs in a process of
its own, from its first line: only libraries that read no setting are imported before the fork. `scripts/up` and its
tests start every program afresh.
"""

import atexit
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
MAX_REQUEST_BYTES = 200_000
OWN_PACKAGES = {"companion", "ops", "personas", "routing", "validation"}
LIBRARIES = (
    "aiohttp",
    "autobahn.twisted.websocket",
    "celery.exceptions",
    "celery.utils.log",
    "channels.generic.websocket",
    "channels.routing",
    "companion.engine",
    "companion.frames",
    "companion.notifications",
    "companion.prompt",
    "csp.middleware",
    "dj_database_url",
    "django.contrib.auth.hashers",
    "django.contrib.postgres.aggregates",
    "django.contrib.postgres.search",
    "django.contrib.staticfiles.storage",
    "django.core.management",
    "django.db.backends.postgresql.base",
    "django.db.migrations.executor",
    "django.forms",
    "django.template.loader",
    "django.views.debug",
    "django.views.generic",
    "httpx",
    "httpx_aiohttp",
    "kombu",
    "ops.backups.drill",
    "ops.stack.switch",
    "ops.supervision.requests",
    "personas.load",
    "personas.safety",
    "personas.wording",
    "psycopg_pool",
    "pydantic",
    "redis",
    "routing.adapters",
    "routing.chain",
    "routing.lanes",
    "routing.rehearsal",
    "routing.selection",
    "smtplib",
    "statistics",
    # Without the reactor: it has a descriptor that processes must not share.
    "twisted.internet.endpoints",
    "twisted.internet.ssl",
    "twisted.protocols.tls",
    "twisted.web.http",
)
"""What the programs import, apart from modules that read settings or open something when they are imported."""


class ForkedProcess:
    """A program started by a `Prefork`. Like `subprocess.Popen` as far as it goes."""

    def __init__(self, argv: Sequence[str], status: IO[str], stdout: IO[str] | None) -> None:
        self.args = argv
        self.stdout = stdout
        self.returncode: int | None = None
        self._status = status
        self.pid = int(status.readline())

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; returns the exit code. Raises TimeoutExpired."""
        code = self._look(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def _look(self, timeout_s: float | None) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], timeout_s)[0]:
            self.returncode = os.waitstatus_to_exitcode(int(self._status.readline()))
            self._status.close()
        return self.returncode


class Prefork:
    """The process that is forked. It starts with the first program and ends with the tests."""

    def __init__(self) -> None:
        self._requests: socket.socket | None = None
        self._lock = threading.Lock()

    def start(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        stderr: int,
        stdout: int | None = None,
        cwd: Path = ROOT,
        modules_from: Path = ROOT,
    ) -> ForkedProcess:
        """Start `python ARGV`: a script or `-m MODULE`, with its arguments. Without `stdout` there is a pipe.

        Packages of ours that stand in `modules_from` too are imported from there.
        """
        status_read, status_write = os.pipe()
        out_read, out_write = os.pipe() if stdout is None else (None, stdout)
        folders = {"cwd": str(cwd), "modules_from": str(modules_from)}
        request = json.dumps({"argv": list(argv), "env": dict(env)} | folders).encode()
        with self._lock:
            requests = self._requests = self._requests or _start_server()
            socket.send_fds(requests, [request], [out_write, stderr, status_write])
        os.close(status_write)
        if stdout is None:
            os.close(out_write)
        return ForkedProcess(argv, open(status_read), None if out_read is None else open(out_read))

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path = ROOT,
        modules_from: Path = ROOT,
        timeout_s: float = 90.0,
    ) -> "subprocess.CompletedProcess[str]":
        """Run `python ARGV` to its end, as `subprocess.run` does with `capture_output`. Raises TimeoutExpired."""
        err_read, err_write = os.pipe()
        environment = os.environ if env is None else env
        process = self.start(argv, env=environment, stderr=err_write, cwd=cwd, modules_from=modules_from)
        os.close(err_write)
        assert process.stdout is not None
        with open(err_read) as stderr, process.stdout as stdout:
            said: dict[str, str] = {}
            readers = [
                threading.Thread(target=lambda name=name, file=file: said.update({name: file.read()}))
                for name, file in (("out", stdout), ("err", stderr))
            ]
            for reader in readers:
                reader.start()
            try:
                code = process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise
            finally:
                for reader in readers:
                    reader.join()
        return subprocess.CompletedProcess(list(argv), code, said["out"], said["err"])


prefork = Prefork()
"""The one of this test process."""


@dataclass(frozen=True, kw_only=True)
class _Program:
    """One request, received with the descriptors of its output, its errors and its exit status."""

    argv: list[str]
    env: dict[str, str]
    cwd: str
    modules_from: str
    descriptors: tuple[int, int, int]


def _start_server() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.prefork", str(theirs.fileno())],
            cwd=ROOT,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            # The programs get their own settings.
            env={name: value for name, value in os.environ.items() if not name.startswith("DJANGO_")},
        )

    def end() -> None:
        ours.close()
        server.wait(10)

    atexit.register(end)
    return ours


def _receive_program(requests: socket.socket) -> _Program:
    """Fork for each request; returns in the process that is to run it. Ends the server when the tests have ended."""
    while True:
        text, descriptors, _, _ = socket.recv_fds(requests, MAX_REQUEST_BYTES, 3)
        if not text:
            os._exit(0)
        if os.fork() == 0:
            requests.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            stdout, stderr, status = descriptors
            program = _Program(**json.loads(text), descriptors=(stdout, stderr, status))
            _fork_and_report(program)
            return program
        for descriptor in descriptors:
            os.close(descriptor)


def _fork_and_report(program: _Program) -> None:
    """Fork once more; returns in the child. The parent writes its pid and later its wait status, and ends."""
    stdout, stderr, status = program.descriptors
    child = os.fork()
    if child == 0:
        os.close(status)
        return
    os.close(stdout)
    os.close(stderr)
    for descriptor in (1, 2):
        os.dup2(0, descriptor)
    os.write(status, f"{child}\n".encode())
    os.write(status, f"{os.waitpid(child, 0)[1]}\n".encode())
    os._exit(0)


def _become(program: _Program) -> None:
    """Take the output, environment and arguments of the program."""
    stdout, stderr, _ = program.descriptors
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    os.close(stdout)
    os.close(stderr)
    os.environ.clear()
    os.environ.update(program.env)
    os.chdir(program.cwd)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if program.modules_from != str(ROOT):
        _import_again_from(program.modules_from)


def _import_again_from(folder: str) -> None:
    sys.path.insert(0, folder)
    for name in list(sys.modules):
        if name.partition(".")[0] in OWN_PACKAGES:
            del sys.modules[name]
    importlib.invalidate_caches()


def main() -> None:
    """Import the libraries, serve, and in each forked process run its program."""
    # What is imported stays, so the collector would find nothing.
    gc.disable()
    for name in LIBRARIES:
        importlib.import_module(name)
    from django.conf import settings

    from personas import reading, safety
    from personas.safety import files

    # Every web process reads messages by these rules and counts syllables, with tables it would load at its start.
    for language in files.REAL_WORDS:
        safety.load(language)
    reading.count_syllables("companion")

    assert not settings.configured
    assert "twisted.internet.reactor" not in sys.modules
    assert threading.active_count() == 1
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # A terminal's Ctrl-C reaches this process too; it ends with the tests.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests = socket.socket(fileno=int(sys.argv[1]))
    # The collector writes to every object it visits. Without this each program would copy all of the memory it shares
    # with this process, at the latest when it ends: nine tenths of what a small command costs.
    gc.collect()
    gc.freeze()
    gc.enable()
    program = _receive_program(requests)
    _become(program)
    if program.argv[0] == "-m":
        sys.argv = program.argv[1:]
        runpy.run_module(program.argv[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = program.argv
        runpy.run_path(program.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
