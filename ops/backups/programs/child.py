"""Child processes: each has a process group of its own and receives passwords by environment only."""

import contextlib
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from ops.backups.run.monitor import StopSignal
from ops.backups.run.run_folder import RunFolder
from ops.stack.account import Account
from ops.stack.process import Running, family, kill
from ops.stack.signals import defer_signals

TICK_S = 0.2


class ChildProgram:
    """One running program. Leaving the block kills it and its descendants."""

    def __init__(
        self,
        argv: Sequence[str | Path],
        *,
        environment: Mapping[str, str],
        folder: RunFolder,
        account: Account | None = None,
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.DEVNULL,
    ) -> None:
        self._stderr = folder.path / f"{Path(argv[0]).name}.stderr"
        account = account or Account()
        try:
            # A signal between the start and the note of the pid would leave a program that no later run could find.
            with open(self._stderr, "wb") as stderr, defer_signals():
                self._process = subprocess.Popen(
                    account.command(argv),
                    stdin=stdin,
                    stdout=stdout,
                    stderr=stderr,
                    process_group=0,
                    **{**account.popen_arguments(), "env": dict(environment)},
                )
                folder.record_child(self._process.pid)
        except StopSignal:
            self.__exit__()
            raise

    def __enter__(self) -> "ChildProgram":
        return self

    def __exit__(self, *_unused: object) -> None:
        # The whole family: pg_dump and pg_restore start a process for each job, which outlive a killed leader.
        if self._process.poll() is None and (running := Running.of(self._process.pid)):
            kill(family(running))
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            # What is still buffered has no reader left.
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    @property
    def stdin(self) -> IO[bytes]:
        """What the program reads, of one that was started with `stdin=subprocess.PIPE`."""
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def stdout(self) -> IO[bytes]:
        """What the program writes, of one that was started with `stdout=subprocess.PIPE`."""
        assert self._process.stdout is not None
        return self._process.stdout

    @property
    def exit_code(self) -> int | None:
        """Exit code; None while the program runs."""
        return self._process.poll()

    def wait(self, tick: Callable[[], None]) -> int:
        """Wait for the end and return the exit code. `tick` is called every 0.2 s and may raise."""
        while True:
            tick()
            with contextlib.suppress(subprocess.TimeoutExpired):
                return self._process.wait(TICK_S)

    @property
    def stderr_tail(self) -> str:
        """The last 20,000 bytes of stderr. May quote rows: only for `stderr.diagnose`, never to be shown."""
        return self._stderr.read_bytes()[-20_000:].decode("utf-8", "replace")
