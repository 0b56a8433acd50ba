"""The guard: outlives an `up` that was killed, and ends what it left running, in order.

It waits for its standard input to close, which happens however `up` ends, and then ends every process that is
still on the roster. It shares the lock of the state folder, so the next `up` waits until it has finished.
"""

import signal
import subprocess
import sys
from pathlib import Path

from ops.stack import roster
from ops.stack.state import StateFolder

BROKEN_OFF = "An earlier start was broken off. What it had left running has been ended."


def start(state: StateFolder, lock: int, *, program: str = "ops.stack.guard") -> subprocess.Popen[bytes]:
    """Start the guard of one state folder. It ends by itself soon after its standard input is closed.

    `program` is the module to run.
    """
    return subprocess.Popen(
        [sys.executable, "-m", program, str(state.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=Path(__file__).resolve().parents[2],
        # Out of reach of a signal to the whole group of the terminal.
        start_new_session=True,
        pass_fds=[lock],
    )


def clear_up(state: StateFolder) -> bool:
    """End what an earlier `up` left running under this folder; True when there was something."""
    left = [entry for entry in roster.read(state.children) if entry.running.process() is not None]
    roster.end_in_order(left)
    state.withdraw()
    return bool(left)


def wait_for_end() -> bytes:
    """Wait until the program that started this guard closes the pipe; returns what it wrote into it."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    return sys.stdin.buffer.read()


def main() -> None:
    """Wait for the end of `up`, then clear up behind it."""
    wait_for_end()
    clear_up(StateFolder(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
