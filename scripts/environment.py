"""Makes `.venv` from a hash-pinned lock file, once. Runs under the system's Python, so the standard library only.

A copy of the lock is put into the environment last of all. Where the copy is missing or differs, the environment is
half made or out of step, and is mended; where it is the same, nothing is done and no network is used.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
MADE_FROM = VENV / "made-from"
RUN_LOCK, TEST_LOCK = "requirements.lock", "requirements-dev.lock"
ROOM_NEEDED = {RUN_LOCK: 600_000_000, TEST_LOCK: 1_200_000_000}
"""Bytes: what the finished environment takes, and as much again while it is unpacked."""


class CannotMake(Exception):
    """The environment cannot be made. The text says what is wrong and what mends it."""


def main(lock: str) -> int:
    """Make the environment current for `lock`; returns the exit code."""
    try:
        if is_current(lock):
            return 0
        with open(__file__) as door:
            only_one_at_a_time(door)
            if not is_current(lock):
                make(lock)
    except CannotMake as refusal:
        print(refusal, file=sys.stderr)
        return 1
    except OSError as refusal:
        print(f"The environment cannot be made in {VENV}: {refusal}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. The environment is half made; the next run finishes it.", file=sys.stderr)
        return 130
    return 0


def is_current(lock: str) -> bool:
    """Whether the environment was made from exactly this lock, to the end, and its Python still works."""
    try:
        same = (MADE_FROM / lock).read_bytes() == (ROOT / lock).read_bytes()
    except FileNotFoundError:
        return False
    return same and works()


def works() -> bool:
    """Whether the environment's Python runs, and is still the one that its packages were put there for."""
    try:
        return subprocess.run([PYTHON, "-c", "import pip"], capture_output=True).returncode == 0
    except OSError:
        return False


def only_one_at_a_time(door: TextIO) -> None:
    """Wait while another script makes the same environment."""
    try:
        fcntl.flock(door, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("Another script is making the environment; waiting for it.", flush=True)
        fcntl.flock(door, fcntl.LOCK_EX)


def make(lock: str) -> None:
    """Make the environment, or bring one that was whole before into step."""
    refuse_shared()
    refuse_without_room(lock)
    refuse_without_venv()
    was_whole = MADE_FROM.is_dir() and any(MADE_FROM.iterdir()) and works()
    shutil.rmtree(MADE_FROM, ignore_errors=True)
    if not was_whole:
        print("Making the environment in .venv, once. This takes a minute or two.", flush=True)
        run([sys.executable, "-m", "venv", "--clear", VENV], "Python could not make the environment")
    else:
        print("Bringing the environment in .venv into step.", flush=True)
    pip = [PYTHON, "-m", "pip", "install", "--no-compile"]
    pip += ["--quiet", "--disable-pip-version-check", "--no-input"]
    run([*pip, "--require-hashes", "--requirement", ROOT / lock], "pip could not install what is needed")
    compile_packages()
    # The lock for tests holds everything the other one holds.
    whole = [RUN_LOCK, TEST_LOCK] if lock == TEST_LOCK else [lock]
    MADE_FROM.mkdir()
    for name in whole:
        partial = MADE_FROM / f"{name}.partial"
        shutil.copyfile(ROOT / name, partial)
        partial.rename(MADE_FROM / name)


def compile_packages() -> None:
    """Compile all packages, on every core: pip would use one. A file that is not valid Python is left as it is."""
    command = [PYTHON, "-m", "compileall", "-q", "-j", "0", VENV / "lib"]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def refuse_shared() -> None:
    """Raise CannotMake when the environment is a link: another checkout may be running in it."""
    if VENV.is_symlink():
        raise CannotMake(
            f"{VENV} is a link to {VENV.resolve()} and out of step with this checkout. Nothing was changed, because "
            "another checkout may use it. Remove the link, and run this again."
        )


def refuse_without_room(lock: str) -> None:
    """Raise CannotMake when the disk is too full to begin."""
    free, needed = shutil.disk_usage(ROOT).free, ROOM_NEEDED[lock]
    if free < needed:
        raise CannotMake(
            f"The disk is too full: {ROOT} has {free // 1_000_000} MB left, and the environment needs "
            f"{needed // 1_000_000} MB. Make some room and run this again."
        )


def refuse_without_venv() -> None:
    """Raise CannotMake where a distribution keeps part of Python in a package of its own."""
    asked = subprocess.run([sys.executable, "-c", "import ensurepip, venv"], capture_output=True)
    if asked.returncode != 0:
        name = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
        raise CannotMake(
            f"This Python ({sys.executable}) comes without its venv module. "
            f"On Debian or Ubuntu: apt-get install {name} (or python3-venv). Then run this again."
        )


def run(command: list[str | Path], fault: str) -> None:
    """Run one step. Raises CannotMake with the end of what it said."""
    environment = {
        name: value for name, value in os.environ.items() if name not in {"PYTHONHOME", "PYTHONPATH"}
    }
    done = subprocess.run(
        command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode == 0:
        return
    if "No space left on device" in done.stdout or "Disk quota exceeded" in done.stdout:
        raise CannotMake(f"{fault}: the disk is full. Make some room and run this again.")
    raise CannotMake(
        f"{fault}. The last it said:\n{done.stdout[-2000:].strip()}\nMend that and run this again."
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
