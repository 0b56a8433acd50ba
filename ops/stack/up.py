"""`scripts/up`: everything on one machine, from nothing to a line that says it is ready, until Ctrl-C."""

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ops.stack import guard
from ops.stack.doors import DEFAULT_PORT, Door, open_doors
from ops.stack.errors import CannotStart, DiskFull, is_disk_full
from ops.stack.launch import Launch
from ops.stack.roster import Roster
from ops.stack.signals import StopRequested, stop_on_signals
from ops.stack.state import StateFolder
from ops.stack.supervise import CONFIGURATION_REFUSED, ConfigurationRefused
from ops.stack.switch import leave_root

ROOT = Path(__file__).resolve().parents[2]
MAX_PROCESSES = 32
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `up`; returns the exit code: 0 ended on request, 1 cannot run here, 78 a setting must be mended."""
    options = read_arguments(arguments)
    try:
        with stop_on_signals(say) as ignore_further_signals:
            if sentence := leave_root(Path(options.state)):
                say(sentence)
            return _run(options, ignore_further_signals)
    except StopRequested:
        return INTERRUPTED
    except ConfigurationRefused as refusal:
        say(str(refusal))
        return CONFIGURATION_REFUSED
    except CannotStart as refusal:
        say(str(refusal))
    except PermissionError as refusal:
        say(
            f"{refusal.filename} belongs to another account. "
            "Start as that account, or choose another folder with --state."
        )
    except OSError as refusal:
        if not is_disk_full(refusal):
            raise
        say(str(DiskFull("The disk is full. Make some room and start again; nothing needs to be repaired.")))
    return 1


def _run(options: argparse.Namespace, ignore_further_signals: Callable[[], None]) -> int:
    with _everything(options) as launch:
        try:
            launch.bring_up()
            with contextlib.suppress(StopRequested):
                launch.serve()
        finally:
            ignore_further_signals()
            say("Ending everything in order.")
            launch.supervisor.end_everything()
            say("Ended. Nothing is left running.")
    return 0


def say(sentence: str) -> None:
    """One line for the person at the keyboard, at once."""
    # A terminal that has gone away must not keep us from ending everything in order.
    with contextlib.suppress(BrokenPipeError, OSError):
        print(sentence, flush=True)


def read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """What was asked for. Ends the program on nonsense, as argparse does."""
    parser = argparse.ArgumentParser(
        prog="scripts/up",
        description="Start the database, the queue, the rehearsal provider, the worker and the web processes.",
        epilog="With DATABASE_URL or VALKEY_URL set, those servers are used and none of its own is started.",
    )
    parser.add_argument(
        "--port", type=_port, default=DEFAULT_PORT, help=f"of the first web process (default {DEFAULT_PORT})"
    )
    parser.add_argument(
        "--processes",
        type=_count,
        default=1,
        metavar="N",
        help="web processes, on ports in a row (default 1)",
    )
    state = os.environ.get("COMPANION_STATE_DIR") or ROOT / "var"
    parser.add_argument(
        "--state",
        type=Path,
        default=state,
        metavar="DIR",
        help="where data, logs and keys live (default var/)",
    )
    parser.add_argument(
        "--demo",
        action="store_true",
        help="make the demo site and its people, also where DATABASE_URL is set",
    )
    options = parser.parse_args(arguments)
    if options.port + options.processes - 1 > 65535:
        parser.error(
            f"there are no {options.processes} ports in a row from {options.port}; choose a lower --port"
        )
    return options


@contextlib.contextmanager
def _everything(options: argparse.Namespace) -> Iterator[Launch]:
    """What a launch stands on: the ports, the state folder and its guard. All of it is given back at the end."""
    ports = range(options.port, options.port + options.processes)
    with contextlib.ExitStack() as stack:
        state = StateFolder(Path(options.state))
        lock = stack.enter_context(state.lock())
        doors: list[Door] = stack.enter_context(open_doors(ports))
        if guard.clear_up(state):
            say(guard.BROKEN_OFF)
        watching = guard.start(state, lock)
        stack.callback(watching.wait)
        assert watching.stdin is not None
        stack.callback(watching.stdin.close)
        try:
            roster = Roster(path=state.children)
            yield Launch(state=state, doors=doors, roster=roster, say=say, wants_demo=options.demo)
        finally:
            state.withdraw()


def _port(text: str) -> int:
    port = int(text)
    if not 1 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{port} is not a port; choose one from 1024 to 65535")
    return port


def _count(text: str) -> int:
    count = int(text)
    if not 1 <= count <= MAX_PROCESSES:
        raise argparse.ArgumentTypeError(f"choose from 1 to {MAX_PROCESSES}, not {count}")
    return count


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    sys.exit(main())
