"""Reads, damages and edits the files of a backup."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ops.backups.backup import BackupResult


def list_stored_backups(state: Path) -> list[str]:
    """The backups there are."""
    return sorted(path.name for path in (state / "backups").iterdir() if not path.name.startswith("."))


def truncate_to_nothing(backup: Path) -> None:
    largest = max((backup / "dump").glob("*.dat.gz"), key=lambda path: path.stat().st_size)
    largest.write_bytes(b"")


def truncate_end(backup: Path) -> None:
    largest = max((backup / "dump").glob("*.dat.gz"), key=lambda path: path.stat().st_size)
    largest.write_bytes(largest.read_bytes()[:-40])


def remove_file(backup: Path) -> None:
    next((backup / "dump").glob("*.dat.gz")).unlink()


def add_file(backup: Path) -> None:
    (backup / "dump" / "9999.dat.gz").write_bytes(gzip.compress(b"\\.\n"))


def remove_table_of_contents(backup: Path) -> None:
    (backup / "dump" / "toc.dat").unlink()


def change_value(backup: Path) -> None:
    for path in (backup / "dump").glob("*.dat.gz"):
        text = gzip.decompress(path.read_bytes())
        if b"Person 5\t" in text:
            path.write_bytes(gzip.compress(text.replace(b"Person 5\t", b"Person V\t"), mtime=0))


def write_invalid_manifest(backup: Path) -> None:
    (backup / "manifest.json").write_text('{"manifest": 2, "tables": 3}')


EditManifest = Callable[[dict[str, Any]], object]
"""A change of a manifest's facts."""


def change_content(told: dict[str, Any]) -> None:
    """Another sum, in a bucket of its own."""
    rows, first, second = told["tables"]["public.heap"]["buckets"].popitem()[1]
    told["tables"]["public.heap"]["buckets"]["9"] = [rows, str(int(first) + 1), second]


def lower_rows(told: dict[str, Any]) -> None:
    """A count that is not compared."""
    told["tables"]["public.person"]["rows"] -= 1


def widen_sequence(told: dict[str, Any]) -> None:
    """A sequence that may stand anywhere."""
    name = next(iter(told["sequences"]))
    told["sequences"][name] |= {"before": -(2**62), "after": 2**62}


def remove_kind(told: dict[str, Any]) -> None:
    """A catalogue of which a kind was taken out."""
    del told["catalogue"]["index"]


def move_date(told: dict[str, Any]) -> None:
    """A backup that claims to be of tonight."""
    told["made_at"] = "2026-03-05T12:00:00Z"


def edit_manifest(backup: Path, edit: EditManifest) -> None:
    """Change the manifest, and leave its signature as it is."""
    told = json.loads((backup / "manifest.json").read_text())
    edit(told)
    (backup / "manifest.json").write_text(json.dumps(told))


def remove_manifest(made: BackupResult) -> Path:
    """The dump of a backup whose manifest is lost."""
    (made.path / "manifest.json").unlink()
    return made.path / "dump"
