"""How a command of this room ends, whatever happens: one sentence, and the exit code that belongs to it.

Never a traceback, and never an exit code 1 that would read as DIFFERENT.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator

from ops.backups.reporting.verdict import Verdict
from ops.backups.run.error_mapping import stop_for
from ops.backups.run.errors import Unsettled
from ops.backups.run.watch import Watch


@contextlib.contextmanager
def ending(say: Callable[[str], object], watch: Watch) -> Iterator[None]:
    """Hear signals meanwhile. What stops the block is said by `say`, and the process ends with its exit code."""
    try:
        with watch.listening():
            yield
    except (Exception, KeyboardInterrupt) as error:
        stop = stop_for(error)
        verdict = Verdict.INCONCLUSIVE if isinstance(stop, Unsettled) else Verdict.COULD_NOT_RUN
        say(f"{verdict}: {stop}")
        sys.exit(verdict.exit_code)
