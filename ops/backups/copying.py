"""Copies an encrypted backup elsewhere by the operators' own program, one file at a time, the manifest last (D4).

The program is an argument list, such as rclone's, and no shell reads it. What arrives without a manifest is no backup,
so a copy that was interrupted cannot be taken for a whole one.
"""

import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from ops.backups.archive import manifest, signature
from ops.backups.programs.child import ChildProgram
from ops.backups.restoring.order import RunEnvironment
from ops.backups.run.errors import CouldNotRun
from ops.backups.run.monitor import RunMonitor
from ops.backups.run.run_folder import Marker, RunFolder

SETTING = "BACKUP_COPY_COMMAND"
FILE_PLACEHOLDER = "{file}"
"""The path of the file here."""
NAME_PLACEHOLDER = "{name}"
"""What it is to be called there: the backup's folder and the file."""
MAX_COPY_S = 6 * 3600.0
BACKUP_FILES = (manifest.ENCRYPTED, signature.FILE, manifest.FILE)
PASSED_ON = frozenset({"PATH", "HOME", "XDG_CONFIG_HOME", "SSH_AUTH_SOCK", "HTTPS_PROXY", "https_proxy"})
PASSED_ON_BEGINNINGS = ("RCLONE_", "AWS_")
"""No key of this service is given to the program."""


def copy_elsewhere(
    backup: Path,
    command: Sequence[str],
    *,
    beside: Sequence[Path],
    monitor: RunMonitor,
    environment: RunEnvironment | None = None,
) -> None:
    """Copy an encrypted backup, and the files that lie beside it. Raises CouldNotRun for the first that fails."""
    environment = environment or RunEnvironment()
    until = time.monotonic() + MAX_COPY_S

    def tick() -> None:
        monitor.tick()
        if time.monotonic() > until:
            raise CouldNotRun(f"{command[0]} took longer than {MAX_COPY_S / 3600:.0f} hours.")

    if not (backup / manifest.ENCRYPTED).is_file():
        raise CouldNotRun(f"{backup} is not encrypted, so it is not copied elsewhere.")
    files = [(path, path.name) for path in beside if path.exists()]
    files += [(backup / name, f"{backup.name}/{name}") for name in BACKUP_FILES]
    marker = Marker(run=environment.draw_run_name(), source=backup.name, scratch="")
    with monitor.time_phase("copy elsewhere"), monitor.open_cleanup_stack() as stack:
        folder = _create_folder(backup.parent / ".work", marker, stack)
        for path, name in files:
            _copy(path, name, command, folder=folder, tick=tick)


def _create_folder(work: Path, marker: Marker, stack: ExitStack) -> RunFolder:
    folder = RunFolder.create(work, marker)
    stack.callback(folder.remove)
    return folder


def _copy(
    path: Path, name: str, command: Sequence[str], *, folder: RunFolder, tick: Callable[[], None]
) -> None:
    words = [word.replace(FILE_PLACEHOLDER, str(path)).replace(NAME_PLACEHOLDER, name) for word in command]
    if shutil.which(words[0]) is None:
        raise CouldNotRun(f"{SETTING} names the program {words[0]}, which is not on this machine.")
    with ChildProgram(words, environment=_select_environment(os.environ), folder=folder) as child:
        if child.wait(tick) != 0:
            # Its stderr may quote addresses with passwords in them.
            raise CouldNotRun(
                f"{words[0]} ended with exit code {child.exit_code} at {name}.",
                mend=f"Run the command of {SETTING} by hand as this account.",
            )


def _select_environment(environ: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environ.items()
        if name in PASSED_ON or name.startswith(PASSED_ON_BEGINNINGS)
    }
