"""The drill's commands, run as an operator or a scheduler runs them."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.database.backups.drill_server import Server
from tests.prefork import prefork
from tests.processes import ROOT

SECRET = "correct-horse-battery"
Finished = subprocess.CompletedProcess[str]


def make_environ(live: Server, state: Path) -> dict[str, str]:
    """What the commands read: an address with a password in it."""
    return os.environ | {
        "DATABASE_URL": live.url_of("live"),
        "DIRECT_DATABASE_URL": live.url_of("live", password=SECRET),
        "COMPANION_STATE_DIR": str(state),
    }


def run_command(live: Server, state: Path, *words: str, **environment: str) -> Finished:
    """Run one command to its end."""
    return prefork.run(["manage.py", *words], env=make_environ(live, state) | environment)


def run_interrupted(
    live: Server, state: Path, *words: str, phase: str, by: Callable[[subprocess.Popen[str]], object]
) -> Finished:
    """Run one command to its end, and do something to it as soon as it says that a phase begins."""
    with subprocess.Popen(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env=make_environ(live, state),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # What starts the tests may have told its children to be deaf to Ctrl-C.
        preexec_fn=reset_signals,
    ) as process:
        assert process.stdout and process.stderr
        said = []
        for line in process.stderr:
            said.append(line)
            if line.startswith(f"{phase} …"):
                by(process)
        out = process.stdout.read()
    return Finished(words, process.returncode, out, "".join(said))


def reset_signals() -> None:
    """Hear every signal that a terminal or a scheduler sends."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
