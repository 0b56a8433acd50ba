"""The drill's commands, run as an operator or a scheduler runs them."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.database.backups.copies import Server
from tests.processes import ROOT

SECRET = "correct-horse-battery"
Done = subprocess.CompletedProcess[str]


def environ(live: Server, state: Path) -> dict[str, str]:
    """What the commands read: an address with a password in it."""
    return os.environ | {
        "DATABASE_URL": live.url_of("live"),
        "DIRECT_DATABASE_URL": live.url_of("live", password=SECRET),
        "COMPANION_STATE_DIR": str(state),
    }


def manage(live: Server, state: Path, *words: str, **environment: str) -> Done:
    """Run one command to its end."""
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env=environ(live, state) | environment,
        capture_output=True,
        text=True,
        timeout=90,
    )


def interrupted(
    live: Server, state: Path, *words: str, phase: str, by: Callable[[subprocess.Popen[str]], object]
) -> Done:
    """Run one command to its end, and do something to it as soon as it says that a phase begins."""
    with subprocess.Popen(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env=environ(live, state),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # What starts the tests may have told its children to be deaf to Ctrl-C.
        preexec_fn=hearing,
    ) as process:
        assert process.stdout and process.stderr
        said = []
        for line in process.stderr:
            said.append(line)
            if line.startswith(f"{phase} …"):
                by(process)
        out = process.stdout.read()
    return Done(words, process.returncode, out, "".join(said))


def hearing() -> None:
    """Hear every signal that a terminal or a scheduler sends."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
