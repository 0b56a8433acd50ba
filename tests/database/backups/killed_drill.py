"""A drill in a process of its own that kills itself with -9. Arguments: URL, STATE, WHERE, PHASE, and WORK if need be.

A PHASE with a plus is killed in the middle of it, once its programs run; without, as it begins. No phase: no death.
"""

import os
import signal
import sys
from pathlib import Path

from ops.backups.connecting.address import Address
from ops.backups.drill import Drill
from ops.backups.restoring.order import DrillOrder
from ops.backups.run.monitor import RunMonitor
from tests.database.backups.drill_server import KEY


class Killer:
    """Shows nothing, and strikes in the middle of one phase."""

    def __init__(self, phase: str) -> None:
        self._phase = phase
        self._is_now = False

    def begin_phase(self, phase: str, *, of_bytes: int | None) -> None:
        """Is it this one?"""
        self._is_now = phase == self._phase

    def show(self, *, done_bytes: int, rows: int) -> None:
        """Strike."""
        if self._is_now:
            die()

    def end_phase(self) -> None:
        """Too late."""
        self._is_now = False


def die() -> None:
    """kill -9."""
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> int:
    """Drill, and die on the way."""
    url, state, where, phase, *work = sys.argv[1:6]
    in_the_middle = phase.removesuffix("+") if phase.endswith("+") else ""

    def announce(begun: str) -> None:
        if begun == phase:
            die()

    order = DrillOrder(
        source=Address.parse(url, setting="DIRECT_DATABASE_URL"),
        state=Path(state),
        key=KEY,
        where=where,  # type: ignore[arg-type]
        work=Path(work[0]) if work else None,
    )
    report = Drill(order, RunMonitor(Killer(in_the_middle), announce=announce)).run()
    print(report.to_text())
    return report.verdict.exit_code


if __name__ == "__main__":
    sys.exit(main())
