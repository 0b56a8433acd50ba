"""Programs of PostgreSQL as children: a process group of their own, passwords by environment alone."""

import contextlib
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ops.backups.run.run_folder import RunFolder
from ops.backups.run.watch import Stopped, uninterrupted
from ops.stack.account import Account
from ops.stack.process import Running, family, kill

TICK_S = 0.2


class Child:
    """One program. Leaving the block kills what still runs of it and of its family."""

    def __init__(
        self,
        argv: Sequence[str | Path],
        *,
        environment: Mapping[str, str],
        folder: RunFolder,
        account: Account | None = None,
    ) -> None:
        self._stderr = folder.path / f"{Path(argv[0]).name}.stderr"
        account = account or Account()
        try:
            with open(self._stderr, "wb") as stderr, uninterrupted():
                self._process = subprocess.Popen(
                    account.command(argv),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=stderr,
                    process_group=0,
                    **{**account.popen_arguments(), "env": dict(environment)},
                )
                folder.note(self._process.pid)
        except Stopped:
            self.__exit__()
            raise

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_unused: object) -> None:
        if self._process.poll() is None and (running := Running.of(self._process.pid)):
            kill(family(running))
        self._process.wait()

    @property
    def code(self) -> int | None:
        """The exit code, or None while it runs."""
        return self._process.poll()

    def wait(self, tick: Callable[[], None]) -> int:
        """The exit code. `tick` is called every 0.2 s and may raise."""
        while True:
            tick()
            with contextlib.suppress(subprocess.TimeoutExpired):
                return self._process.wait(TICK_S)

    @property
    def said(self) -> str:
        """The end of what it complained. May quote rows: for `said.complaint` alone, never to be shown."""
        return self._stderr.read_bytes()[-20_000:].decode("utf-8", "replace")
