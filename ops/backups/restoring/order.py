"""The options of a drill, and the environment it runs in."""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex

from ops.backups.connecting.address import Address
from ops.backups.reporting.not_proved import Where
from ops.backups.reporting.records import REPORTS_FOLDER
from ops.backups.run.run_folder import RUN_PREFIX

WORK_FOLDER = "drill-work"


@dataclass(frozen=True, kw_only=True, slots=True)
class DrillOrder:
    """The options of one drill. `archive` is None for a fresh dump; `source` may be None if a file is drilled."""

    source: Address | None
    state: Path
    key: str = field(repr=False)
    """Signs manifests and verifies their signatures (BACKUP_KEY)."""
    trust: bool = False
    """Accept a backup that this service did not sign."""
    identity: Path | None = None
    """The file of age's identity that opens encrypted backups."""
    archive: Path | None = None
    where: Where = "private server"
    target: Address | None = None
    """Maintenance database of another server; None for the source's own or a private one."""
    target_setting: str = "--target"
    """The option or setting that names it."""
    jobs: int = 2
    keep_dump: bool = False
    no_owner: bool = False
    work: Path | None = None
    bin: Path | None = None
    setting: str = "DIRECT_DATABASE_URL"
    in_use: Address | None = None
    """The address the service uses, if it differs from the source's."""
    known: tuple[Address, ...] = ()
    """Further servers with known passwords, on which earlier drills may have left something."""

    @property
    def addresses(self) -> tuple[Address, ...]:
        """All known addresses."""
        return tuple(one for one in (self.target, self.source, *self.known) if one is not None)

    @property
    def work_folder(self) -> Path:
        """Parent of the runs' private folders."""
        return (self.work or self.state / WORK_FOLDER).absolute()

    @property
    def reports(self) -> Path:
        return self.state / REPORTS_FOLDER

    @property
    def kept_dumps(self) -> Path:
        """Folder of dumps kept by --keep-dump, each with its manifest."""
        return self.reports / "kept"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunEnvironment:
    """Clock, random names, free disk space and sleep; tests replace them."""

    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    free: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free
    draw: Callable[[], str] = lambda: token_hex(4)
    sleep: Callable[[float], None] = time.sleep

    def draw_run_name(self) -> str:
        """Draw the name of a new run: its time, by which names sort, and a random part."""
        return f"{self.now():%Y%m%dt%H%M%S}_{self.draw()}"


def name_scratch(run: str) -> str:
    """PURE: return the name of a run's scratch database and folder."""
    return f"{RUN_PREFIX}{run}"
