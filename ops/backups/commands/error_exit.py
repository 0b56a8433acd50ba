"""Exit codes of the commands. An error becomes one sentence and the exit code of its verdict.

Never a traceback: Python would exit with 1, which schedulers read as DIFFERENT.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator

from ops.backups.reporting.verdict import DrillVerdict
from ops.backups.run.error_mapping import map_error
from ops.backups.run.errors import SourceChanged
from ops.backups.run.monitor import RunMonitor


@contextlib.contextmanager
def exit_on_error(say: Callable[[str], object], monitor: RunMonitor) -> Iterator[None]:
    """Run the block with signals handled. An error is passed to `say` as a sentence, and the process exits."""
    try:
        with monitor.listen_for_signals():
            yield
    except (Exception, KeyboardInterrupt) as error:
        stop = map_error(error)
        verdict = DrillVerdict.INCONCLUSIVE if isinstance(stop, SourceChanged) else DrillVerdict.COULD_NOT_RUN
        say(f"{verdict}: {stop}")
        sys.exit(verdict.exit_code)
