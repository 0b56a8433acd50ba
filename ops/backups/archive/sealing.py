"""Makes a backup of a dump: puts dump, manifest and signature into one folder."""

import errno
import os
import shutil
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from ops.backups.archive import manifest, signature
from ops.backups.programs.dump import Archive, Tick
from ops.backups.run.facts import DatabaseIdentity, Fingerprint
from ops.stack.state import write_private


def seal(
    archive: Archive,
    folder: Path,
    *,
    fingerprint: Fingerprint,
    identity: DatabaseIdentity,
    made_at: datetime,
    pg_dump: str,
    key: str,
    tick: Tick,
) -> Archive:
    """Move a dump into a new private folder, add its manifest and signature, and return the moved archive.

    The folder is complete and synced to disk, or it is removed.
    """
    folder.mkdir(mode=0o700)
    moved = replace(archive, path=folder / manifest.DUMP)
    try:
        _move(archive.path, moved.path, tick)
        made = manifest.make(fingerprint, identity, moved, made_at=made_at, pg_dump=pg_dump, tick=tick)
        text = made.model_dump_json()
        write_private(folder / manifest.FILE, text)
        write_private(folder / signature.FILE, signature.sign(text.encode(), key))
        sync_folder(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return moved


def _move(dump: Path, to: Path, tick: Tick) -> None:
    try:
        dump.rename(to)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        # Another disk: copy file by file, so that a signal ends it and other accounts can read no file.
        to.mkdir(mode=0o700)
        for file in sorted(dump.iterdir()):
            tick()
            shutil.copyfile(file, to / file.name)
            os.chmod(to / file.name, 0o600)


def sync_folder(folder: Path) -> None:
    """Write a folder and all that is in it to the disk."""
    for path in [*folder.rglob("*"), folder]:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
