"""What a run is asked to do, and the few things of the world it is handed."""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex

from ops.backups.connecting.address import Address
from ops.backups.reporting.not_proved import Where
from ops.backups.reporting.records import FOLDER
from ops.backups.run.run_folder import PREFIX

WORK = "drill-work"


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """One drill. `archive` is None for a fresh dump of the source; `source` may be None when a file is drilled."""

    source: Address | None
    state: Path
    key: str = field(repr=False)
    """Signs manifests, and tells which were signed here."""
    trust: bool = False
    """Take a backup that was not signed here as it is."""
    archive: Path | None = None
    where: Where = "private server"
    target: Address | None = None
    """The maintenance database of another server; None for the source's own, or for a private one."""
    target_setting: str = "--target"
    """Where that was named."""
    jobs: int = 2
    keep_dump: bool = False
    no_owner: bool = False
    work: Path | None = None
    bin: Path | None = None
    setting: str = "DIRECT_DATABASE_URL"
    in_use: Address | None = None
    """The address the service uses, where it is another one."""
    known: tuple[Address, ...] = ()
    """Further servers whose passwords are known: where earlier drills may have left something."""

    @property
    def addresses(self) -> tuple[Address, ...]:
        """Every address that is known."""
        return tuple(one for one in (self.target, self.source, *self.known) if one is not None)

    @property
    def work_folder(self) -> Path:
        """Where runs have their private folders."""
        return (self.work or self.state / WORK).absolute()

    @property
    def reports(self) -> Path:
        """Where reports are kept."""
        return self.state / FOLDER

    @property
    def kept_dumps(self) -> Path:
        """Where --keep-dump puts dumps, each with its manifest."""
        return self.reports / "kept"


@dataclass(frozen=True, kw_only=True, slots=True)
class World:
    """Time, chance and the disk."""

    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    free: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free
    draw: Callable[[], str] = lambda: token_hex(4)
    sleep: Callable[[float], None] = time.sleep

    def run_name(self) -> str:
        """The name of a new run: sorts by time, and is drawn at random too."""
        return f"{self.now():%Y%m%dt%H%M%S}_{self.draw()}"


def scratch_name(run: str) -> str:
    """PURE: the scratch database of a run."""
    return f"{PREFIX}{run}"
