"""The state folder of this machine: whether it can be written, and whether the disk has room."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from django.core.checks import CheckMessage, Error

from ops.backups.restoring.preflight import MIN_FREE_BYTES, MeasureFreeBytes, check_disk, check_reports
from ops.backups.run.errors import CouldNotRun


def measure_free_bytes(folder: Path) -> int:
    """The free bytes on the disk of a folder."""
    return shutil.disk_usage(folder).free


def judge_state_folder(
    folder: Path, *, free: MeasureFreeBytes = measure_free_bytes
) -> Iterator[CheckMessage]:
    """Whether reports, keys and the copy of the selection can be kept."""
    try:
        check_disk(folder, MIN_FREE_BYTES, free=free, option="")
        check_reports(folder / "reports")
    except CouldNotRun as refusal:
        yield Error(refusal.what, hint=refusal.mend, id="companion.E030")
