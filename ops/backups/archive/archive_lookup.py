"""What lies where a backup was named: the backup, or something else that is said, with what to name instead."""

from datetime import UTC, datetime
from pathlib import Path

from ops.backups.archive import manifest, rotation
from ops.backups.run.clock import is_of_the_future
from ops.backups.run.errors import CouldNotRun, DrillStopped

CONTENTS = "toc.dat"
"""The file that makes a folder a directory archive."""


def refuse_anything_else(path: Path, *, with_manifest: bool = False) -> None:
    """Raise CouldNotRun unless a backup lies there: with its manifest, or (where that will do) an archive alone."""
    if not path.exists():
        raise CouldNotRun(f"There is nothing at {path}.", mend=_instead(path.parent))
    if (whole := _of_which_it_is_a_part(path)) is not None:
        part = (
            "the dump of a backup without the manifest beside it" if path.is_dir() else "one file of a backup"
        )
        raise CouldNotRun(f"{path} is {part}.", mend=f"Name the whole: {whole}")
    if (path / manifest.FILE).is_file():
        return
    if path.is_dir() and (with_manifest or not (path / CONTENTS).is_file()):
        raise _of_a_folder(path)
    if with_manifest:
        raise CouldNotRun(f"{path} has no manifest.", mend="Name a folder that manage.py backup made.")


def refuse_a_removed_one(path: Path) -> None:
    """Raise CouldNotRun when a backup has gone while it was read: that is no damage."""
    if not path.exists():
        raise CouldNotRun(f"{path} was removed meanwhile, by a rotation perhaps.", mend="Drill a newer one.")


def newest(folder: Path) -> Path | None:
    """The newest whole backup in a folder of backups, by its manifest.

    One that is dated in the future is older than it says: it is named only where there is no other.
    """
    found = [kept for entry in _entries(folder) if not isinstance(kept := _look_at(entry), str)]
    now = datetime.now(UTC)
    found.sort(key=lambda kept: (not is_of_the_future(kept.made_at, now), kept.made_at, kept.name))
    return folder / found[-1].name if found else None


def backups_in(folder: Path, *, made_by: rotation.Kept) -> tuple[list[rotation.Kept], list[str]]:
    """The whole backups of the same source as `made_by`; and what else lies there, each with why it is left alone."""
    ours, left = [], []
    for entry in _entries(folder):
        kept = _look_at(entry)
        if isinstance(kept, str):
            left.append(f"{entry.name}: {kept}")
        elif kept.source != made_by.source:
            left.append(f"{entry.name}: it is of another database")
        elif kept.made_at > made_by.made_at:
            left.append(f"{entry.name}: its manifest dates it in the future, {kept.made_at:%Y-%m-%d}")
        else:
            ours.append(kept)
    return ours, left


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{rotation.PREFIX}*")) if folder.is_dir() else []


def _look_at(entry: Path) -> rotation.Kept | str:
    """What a backup says of itself, or why this is none."""
    if entry.is_symlink():
        return "it is a link"
    if not rotation.NAME.fullmatch(entry.name):
        return "its name is not that of a backup"
    if not entry.is_dir():
        return "it is not a folder"
    try:
        head = manifest.read_head(entry / manifest.FILE)
    except DrillStopped:
        return f"it has no {manifest.FILE} that can be read"
    return rotation.Kept(name=entry.name, made_at=head.made_at, source=head.name)


def _of_a_folder(path: Path) -> CouldNotRun:
    if (path / manifest.DUMP / CONTENTS).is_file():
        return CouldNotRun(
            f"{path} is a backup without its {manifest.FILE}.",
            mend=f"Fetch the whole folder again. To see whether it restores at all, drill {path / manifest.DUMP}",
        )
    if newest(path) is not None:
        return CouldNotRun(f"{path} is a folder of backups.", mend=_instead(path))
    return CouldNotRun(
        f"There is no backup in the folder {path}: neither {manifest.FILE} nor {CONTENTS}.",
        mend="Name the folder that manage.py backup printed.",
    )


def _instead(folder: Path) -> str:
    found = newest(folder)
    return f"Name one of them; the newest is {found}" if found else "Correct the path."


def _of_which_it_is_a_part(path: Path) -> Path | None:
    # Through links too: a manifest that lies beside what was named must not be passed over in silence.
    path = path.resolve()
    if not path.is_file():
        is_dump = path.name == manifest.DUMP and (path.parent / manifest.FILE).is_file()
        return path.parent if is_dump else None
    if (path.parent.parent / manifest.FILE).is_file() and path.parent.name == manifest.DUMP:
        return path.parent.parent
    beside = (path.parent / CONTENTS).is_file() or path.name == manifest.FILE
    return path.parent if beside else None
