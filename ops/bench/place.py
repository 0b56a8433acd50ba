"""A place of the bench's own: a temporary folder with its own database, named before the settings are read.

So a bench never touches the people of a running service, and needs nothing to be configured.
"""

import atexit
import os
import secrets
import shutil
import tempfile
from collections.abc import MutableMapping
from pathlib import Path

from ops.stack.postgres import EmbeddedPostgres

MARK = "CARE_BENCH_PLACE"
HOME = "CARE_BENCH_HOME"
ROOT = Path(__file__).resolve().parents[2]
CEILING = 512
"""Turns in flight: above what any round asks for, so that the waiting room stays empty."""


class NoPlace(Exception):
    """The settings name some other database, which may be a real one."""


def take(environ: MutableMapping[str, str] = os.environ) -> None:
    """Make the folder, and let every setting point into it. It goes when this program ends."""
    folder = Path(tempfile.mkdtemp(prefix="companion-bench-"))
    # The database server may run as an account of its own, which has to pass through.
    folder.chmod(0o755)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    environ[HOME] = str(Path(environ.get("COMPANION_STATE_DIR") or ROOT / "var").absolute())
    for name in [name for name in environ if name.startswith("COMPANION_")]:
        del environ[name]
    environ.update(
        {
            MARK: str(folder),
            "COMPANION_STATE_DIR": str(folder),
            "COMPANION_CEILING": str(CEILING),
            # Everybody here comes from one address.
            "COMPANION_PAGES_PER_ADDRESS": "1000000",
            "DATABASE_URL": database(folder).url,
            "SECRET_KEY": secrets.token_urlsafe(40),
        }
    )


def taken(environ: MutableMapping[str, str] = os.environ) -> Path:
    """The folder that `take` made. Raises NoPlace if it was not called before the settings were read."""
    folder = environ.get(MARK)
    if not folder or environ.get("COMPANION_STATE_DIR") != folder:
        raise NoPlace("Run it as `manage.py bench`: it then brings a database of its own.")
    return Path(folder)


def home(environ: MutableMapping[str, str] = os.environ) -> Path:
    """The state folder that was named before `take`: what is worth keeping goes there."""
    return Path(environ[HOME])


def database(folder: Path) -> EmbeddedPostgres:
    """The PostgreSQL of this place."""
    return EmbeddedPostgres(folder / "postgres")
