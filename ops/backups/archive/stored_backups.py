"""Looks up backups in folders: checks a path that was given as a backup, and lists stored backups."""

from datetime import UTC, datetime
from pathlib import Path

from ops.backups.archive import manifest, rotation
from ops.backups.run.clock import is_in_the_future
from ops.backups.run.errors import CouldNotRun, DrillStopped

TABLE_OF_CONTENTS = "toc.dat"
"""The file by which a folder is recognised as a directory archive."""


def require_backup(path: Path, *, with_manifest: bool = False) -> None:
    """Raise CouldNotRun unless the path is a backup, or an archive alone if no manifest is needed."""
    if not path.exists():
        raise CouldNotRun(f"{path} does not exist.", mend=_suggest_newest(path.parent))
    if (whole := _find_whole_backup(path)) is not None:
        part = (
            "the dump of a backup, without the manifest beside it"
            if path.is_dir()
            else "one file of a backup"
        )
        raise CouldNotRun(f"{path} is {part}.", mend=f"Name the whole backup: {whole}")
    if (path / manifest.FILE).is_file():
        return
    if path.is_dir() and (with_manifest or not (path / TABLE_OF_CONTENTS).is_file()):
        raise _make_folder_error(path)
    if with_manifest:
        raise CouldNotRun(f"{path} has no manifest.", mend="Name a folder that manage.py backup made.")


def refuse_removed_backup(path: Path) -> None:
    """Raise CouldNotRun if a backup was removed while it was read, which would look like damage."""
    if not path.exists():
        raise CouldNotRun(
            f"{path} was removed during the run, perhaps by rotation.", mend="Drill a newer one."
        )


def find_newest(folder: Path) -> Path | None:
    """Return the newest complete backup of a folder by the dates of the manifests; None without one.

    A backup dated in the future comes last: its clock was wrong, so its age is unknown.
    """
    found = [kept for entry in _list_entries(folder) if not isinstance(kept := _inspect(entry), str)]
    now = datetime.now(UTC)
    found.sort(key=lambda kept: (not is_in_the_future(kept.made_at, now), kept.made_at, kept.name))
    return folder / found[-1].name if found else None


def list_backups(
    folder: Path, *, made_by: rotation.StoredBackup
) -> tuple[list[rotation.StoredBackup], list[str]]:
    """List the complete backups of the source of `made_by`, and why each other entry is left alone."""
    ours, left = [], []
    for entry in _list_entries(folder):
        kept = _inspect(entry)
        if isinstance(kept, str):
            left.append(f"{entry.name}: {kept}")
        elif kept.source != made_by.source:
            left.append(f"{entry.name}: it is a backup of another database")
        elif kept.made_at > made_by.made_at:
            left.append(f"{entry.name}: its manifest dates it in the future, {kept.made_at:%Y-%m-%d}")
        else:
            ours.append(kept)
    return ours, left


def find_encrypted(folder: Path) -> Path | None:
    """Return an encrypted backup of a folder, or None."""
    return next((entry for entry in _list_entries(folder) if manifest.is_encrypted(entry)), None)


def _list_entries(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{rotation.PREFIX}*")) if folder.is_dir() else []


def _inspect(entry: Path) -> rotation.StoredBackup | str:
    """Return the stored backup, or why the entry is not one."""
    if entry.is_symlink():
        return "it is a link"
    if not rotation.NAME.fullmatch(entry.name):
        return "its name is not that of a backup"
    if not entry.is_dir():
        return "it is not a folder"
    try:
        head = manifest.read_head(entry / manifest.FILE)
    except DrillStopped:
        return f"it has no readable {manifest.FILE}"
    return rotation.StoredBackup(name=entry.name, made_at=head.made_at, source=head.name)


def _make_folder_error(path: Path) -> CouldNotRun:
    if (path / manifest.ENCRYPTED).is_file():
        return CouldNotRun(
            f"{path} is an encrypted backup without its {manifest.FILE}.",
            mend="Fetch the whole folder again.",
        )
    if (path / manifest.DUMP / TABLE_OF_CONTENTS).is_file():
        return CouldNotRun(
            f"{path} is a backup without its {manifest.FILE}.",
            mend=f"Fetch the whole folder again. To test only whether it restores, drill {path / manifest.DUMP}",
        )
    if find_newest(path) is not None:
        return CouldNotRun(f"{path} is a folder of backups.", mend=_suggest_newest(path))
    return CouldNotRun(
        f"There is no backup in the folder {path}: neither {manifest.FILE} nor {TABLE_OF_CONTENTS}.",
        mend="Name the folder that manage.py backup printed.",
    )


def _suggest_newest(folder: Path) -> str:
    found = find_newest(folder)
    return f"Name one of its backups; the newest is {found}" if found else "Correct the path."


def _find_whole_backup(path: Path) -> Path | None:
    # Resolve links: a manifest beside the real file must not be ignored.
    path = path.resolve()
    if not path.is_file():
        is_dump = path.name == manifest.DUMP and (path.parent / manifest.FILE).is_file()
        return path.parent if is_dump else None
    if (path.parent.parent / manifest.FILE).is_file() and path.parent.name == manifest.DUMP:
        return path.parent.parent
    beside = (path.parent / TABLE_OF_CONTENTS).is_file() or path.name in {manifest.FILE, manifest.ENCRYPTED}
    return path.parent if beside else None
