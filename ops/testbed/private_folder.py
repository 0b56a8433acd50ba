"""A temporary state folder with its own database, chosen before the settings are read.

So a measurement never touches the people of a running service and needs no configuration.
"""

import atexit
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import MutableMapping
from pathlib import Path

import psutil

from ops.stack.postgres import EmbeddedPostgres

FOLDER_VARIABLE = "CARE_PRIVATE_FOLDER"
ORIGINAL_VARIABLE = "CARE_ORIGINAL_STATE_DIR"
ROOT = Path(__file__).resolve().parents[2]
CEILING = 512
"""Turns in flight: more than any round asks for, so that the waiting room stays empty."""


class NoPrivateFolder(Exception):
    """The settings do not point to a private folder: their database may be a real one."""


def enter(environ: MutableMapping[str, str] = os.environ) -> None:
    """Create the folder and point every setting into it. It is discarded when this program ends."""
    folder = Path(tempfile.mkdtemp(prefix="companion-bench-"))
    # The database server may run as another account, which must be able to enter.
    folder.chmod(0o755)
    atexit.register(discard, folder)
    environ[ORIGINAL_VARIABLE] = str(Path(environ.get("COMPANION_STATE_DIR") or ROOT / "var").absolute())
    for name in [name for name in environ if name.startswith("COMPANION_")]:
        del environ[name]
    environ.update(
        {
            FOLDER_VARIABLE: str(folder),
            "COMPANION_STATE_DIR": str(folder),
            "COMPANION_CEILING": str(CEILING),
            # All simulated people share one address.
            "COMPANION_PAGES_PER_ADDRESS": "1000000",
            "DATABASE_URL": postgres_in(folder).url,
            "SECRET_KEY": secrets.token_urlsafe(40),
        }
    )


def current(environ: MutableMapping[str, str] = os.environ) -> Path:
    """The folder that `enter` created. Raises NoPrivateFolder if the settings were read without it."""
    folder = environ.get(FOLDER_VARIABLE)
    if not folder or environ.get("COMPANION_STATE_DIR") != folder:
        raise NoPrivateFolder("Run it through `manage.py`: it then brings a database of its own.")
    return Path(folder)


def discard(folder: Path) -> None:
    """Delete the folder with everything in it; disks that are mounted in it are given back first."""
    unmount_under(folder)
    shutil.rmtree(folder, ignore_errors=True)


def unmount_under(folder: Path) -> None:
    """Unmount this folder and what is mounted below it."""
    mounted = [Path(disk.mountpoint) for disk in psutil.disk_partitions(all=True)]
    for path in sorted((path for path in mounted if path.is_relative_to(folder.resolve())), reverse=True):
        subprocess.run(["umount", "--lazy", str(path)], check=False, capture_output=True)


def original_state_dir(environ: MutableMapping[str, str] = os.environ) -> Path:
    """The state folder that was set before `enter`, for results that outlive the private folder."""
    return Path(environ[ORIGINAL_VARIABLE])


def postgres_in(folder: Path) -> EmbeddedPostgres:
    """The PostgreSQL server under this folder."""
    return EmbeddedPostgres(folder / "postgres")
