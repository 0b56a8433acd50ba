"""pg_dump and pg_restore, as they are run here. Custom and directory archives only: a plain file can do anything."""

import hashlib
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ops.backups.connecting.address import Address
from ops.backups.connecting.session import READ_ONLY
from ops.backups.programs.child import Child
from ops.backups.programs.stderr import Complaint, Kind, complaint
from ops.backups.programs.tools import Tools
from ops.backups.run.error_mapping import reason_of
from ops.backups.run.errors import (
    ArchiveDamaged,
    CouldNotRun,
    DoesNotRestore,
    DrillStopped,
    SourceDamaged,
    Unsettled,
)
from ops.backups.run.run_folder import RunFolder

Tick = Callable[[], None]
BLOCK = 1 << 20
MAGIC = b"PGDMP"


@dataclass(frozen=True, kw_only=True, slots=True)
class Archive:
    """A dump that is there. `path` is a folder or a file."""

    path: Path
    is_folder: bool

    @property
    def files(self) -> list[Path]:
        """Every file of it."""
        return sorted(self.path.iterdir()) if self.is_folder else [self.path]

    @property
    def bytes(self) -> int:
        """On disk."""
        return sum(file.stat().st_size for file in self.files)


def start_dump(
    tools: Tools, address: Address, into: Path, *, snapshot: str, jobs: int, folder: RunFolder
) -> Child:
    """Dump the snapshot into the folder `into`, which appears."""
    argv: list[str | Path] = [
        tools["pg_dump"],
        "--format=directory",
        f"--jobs={jobs}",
        "--compress=1",
        "--lock-wait-timeout=5s",
    ]
    argv += [f"--snapshot={snapshot}", f"--file={into}", "--no-password"]
    return Child(argv, environment=address.environment(READ_ONLY), folder=folder)


def start_restore(
    tools: Tools, address: Address, archive: Archive, *, jobs: int, no_owner: bool, folder: RunFolder
) -> Child:
    """Restore everything into one database."""
    argv: list[str | Path] = [
        tools["pg_restore"],
        f"--jobs={jobs}",
        "--exit-on-error",
        "--no-password",
        "--no-tablespaces",
    ]
    # A subscription would call its publisher, and would hold the scratch database open.
    argv += ["--no-subscriptions", *(["--no-owner", "--no-privileges"] if no_owner else [])]
    argv += [f"--dbname={address.database}", archive.path]
    return Child(argv, environment=address.environment(), folder=folder)


def failed(child: Child, program: str, *, damaged: str) -> DrillStopped:
    """Why a program ended badly: as surroundings to mend, as a passing state, or as the archive's own fault."""
    return _error_for(complaint(child.said, code=child.code or 0), program, damaged=damaged)


def _error_for(found: Complaint, program: str, *, damaged: str) -> DrillStopped:
    what = f"{program}: {found.what}."
    match found.kind:
        case Kind.PASSING:
            return Unsettled(what, mend=found.mend)
        case Kind.ARCHIVE:
            return ArchiveDamaged(f"{damaged}: {found.what}.", mend=found.mend)
        case Kind.SOURCE if program == "pg_dump":
            return SourceDamaged(found.what.removesuffix(" cannot be read"))
        case Kind.CONTENT if found.difference is not None:
            return DoesNotRestore(found.difference, mend=found.mend)
    # What is not known to be the archive's fault is not said to be.
    return CouldNotRun(what, mend=found.mend)


def recognise(path: Path) -> Archive:
    """What kind of archive lies there. Raises ArchiveDamaged for a beginning of one, CouldNotRun for anything else."""
    if path.is_dir() and (path / "toc.dat").is_file():
        return Archive(path=path, is_folder=True)
    try:
        with path.open("rb") as file:
            begins = file.read(len(MAGIC))
    except OSError as error:
        raise CouldNotRun(f"{path} cannot be read: {reason_of(error)}.") from None
    if begins == MAGIC:
        return Archive(path=path, is_folder=False)
    if MAGIC.startswith(begins):
        raise ArchiveDamaged(
            f"{path} has been cut to {len(begins)} bytes.", mend="Fetch it again, or drill an older one."
        )
    raise CouldNotRun(
        f"{path} is neither a custom nor a directory archive of pg_dump.",
        mend="If it is packed or encrypted, unpack it first. Plain SQL files are refused, because one can drop and "
        "rewrite any database it is fed to.",
    )


def refuse_emptied_files(archive: Archive) -> None:
    """Raise ArchiveDamaged for a file of no bytes: pg_restore takes one for an empty table and says nothing."""
    empty = sum(file.stat().st_size == 0 for file in archive.files)
    if empty:
        raise ArchiveDamaged(
            f"Files of the archive that have been cut to nothing: {empty} of {len(archive.files)}.",
            mend="Fetch it again, or drill an older one.",
        )


def read_through(tools: Tools, archive: Archive, *, folder: RunFolder, tick: Tick) -> None:
    """Read every byte as a restore would. Raises ArchiveDamaged."""
    refuse_emptied_files(archive)
    argv: list[str | Path] = [tools["pg_restore"], "--file=/dev/null", archive.path]
    with Child(argv, environment={"LC_ALL": "C"}, folder=folder) as child:
        if child.wait(tick) != 0:
            raise failed(child, "pg_restore", damaged="The archive cannot be read through")


def major_of(archive: Archive, tools: Tools) -> int:
    """The major of the server an archive was dumped from. Raises ArchiveDamaged."""
    said = subprocess.run(
        [tools["pg_restore"], "--list", archive.path],
        env={"LC_ALL": "C"},
        capture_output=True,
        text=True,
        errors="replace",
    )
    found = re.search(r"Dumped from database version: (\d+)", said.stdout)
    if said.returncode != 0:
        complained = complaint(said.stderr, code=said.returncode)
        raise _error_for(complained, "pg_restore", damaged="The archive's table of contents is damaged")
    if found is None:
        raise ArchiveDamaged(
            "The archive's table of contents cannot be read.", mend="Fetch it again, or drill an older one."
        )
    return int(found[1])


def roles_named(archive: Archive, tools: Tools) -> tuple[str, ...]:
    """The roles that policies and user mappings of an archive name: those that --no-owner does not leave out."""
    argv: list[str | Path] = [
        tools["pg_restore"],
        "--schema-only",
        "--no-owner",
        "--no-privileges",
        "--file=-",
        archive.path,
    ]
    said = subprocess.run(argv, env={"LC_ALL": "C"}, capture_output=True, text=True, errors="replace")
    lists = re.findall(r"^CREATE POLICY .*? TO (.*?)(?: USING | WITH CHECK |;$)", said.stdout, re.MULTILINE)
    lists += re.findall(r"^CREATE USER MAPPING FOR (\S+) SERVER", said.stdout, re.MULTILINE)
    names = {name.strip().strip('"') for named in lists for name in named.split(",")}
    return tuple(sorted(names - {"PUBLIC", "public"}))


def fingerprint(file: Path, tick: Tick) -> str:
    """SHA-256 of a file's bytes, as hex."""
    digest = hashlib.sha256()
    with file.open("rb") as opened:
        while block := opened.read(BLOCK):
            digest.update(block)
            tick()
    return digest.hexdigest()
