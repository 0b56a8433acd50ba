"""Runs pg_dump and pg_restore. Accepts custom and directory archives only: plain SQL can contain any statement."""

import hashlib
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ops.backups.connecting.address import Address
from ops.backups.connecting.session import READ_ONLY
from ops.backups.programs.child import ChildProgram
from ops.backups.programs.stderr import Diagnosis, FaultKind, diagnose
from ops.backups.programs.tools import Tools
from ops.backups.run.error_mapping import describe_os_error
from ops.backups.run.errors import (
    ArchiveDamaged,
    CouldNotRun,
    DoesNotRestore,
    DrillStopped,
    SourceChanged,
    SourceDamaged,
)
from ops.backups.run.run_folder import RunFolder

Tick = Callable[[], None]
BLOCK_BYTES = 1 << 20
MAGIC = b"PGDMP"


@dataclass(frozen=True, kw_only=True, slots=True)
class Archive:
    """A finished dump. `path` is a folder or a file."""

    path: Path
    is_folder: bool

    @property
    def files(self) -> list[Path]:
        return sorted(self.path.iterdir()) if self.is_folder else [self.path]

    @property
    def bytes(self) -> int:
        """Size on disk."""
        return sum(file.stat().st_size for file in self.files)


def start_dump(
    tools: Tools, address: Address, into: Path, *, snapshot: str, jobs: int, folder: RunFolder
) -> ChildProgram:
    """Start pg_dump of a snapshot into the new folder `into`."""
    argv: list[str | Path] = [
        tools["pg_dump"],
        "--format=directory",
        f"--jobs={jobs}",
        "--compress=1",
        "--lock-wait-timeout=5s",
    ]
    argv += [f"--snapshot={snapshot}", f"--file={into}", "--no-password"]
    return ChildProgram(argv, environment=address.make_environment(READ_ONLY), folder=folder)


def start_restore(
    tools: Tools, address: Address, archive: Archive, *, jobs: int, no_owner: bool, folder: RunFolder
) -> ChildProgram:
    """Start pg_restore of a whole archive into one database."""
    argv: list[str | Path] = [
        tools["pg_restore"],
        f"--jobs={jobs}",
        "--exit-on-error",
        "--no-password",
        "--no-tablespaces",
    ]
    # A subscription would connect to its publisher, and would keep the scratch database in use.
    argv += ["--no-subscriptions", *(["--no-owner", "--no-privileges"] if no_owner else [])]
    argv += [f"--dbname={address.database}", archive.path]
    return ChildProgram(argv, environment=address.make_environment(), folder=folder)


def make_error(child: ChildProgram, program: str, *, damaged: str) -> DrillStopped:
    """Return the error for a program that failed. `damaged` begins the sentence for a damaged archive."""
    return _map_diagnosis(diagnose(child.stderr_tail, code=child.exit_code or 0), program, damaged=damaged)


def _map_diagnosis(found: Diagnosis, program: str, *, damaged: str) -> DrillStopped:
    what = f"{program}: {found.what}."
    match found.kind:
        case FaultKind.TRANSIENT:
            return SourceChanged(what, mend=found.mend)
        case FaultKind.ARCHIVE:
            return ArchiveDamaged(f"{damaged}: {found.what}.", mend=found.mend)
        case FaultKind.SOURCE if program == "pg_dump":
            return SourceDamaged(found.what.removesuffix(" cannot be read"))
        case FaultKind.CONTENT if found.difference is not None:
            return DoesNotRestore(found.difference, mend=found.mend)
    # An unknown failure is not blamed on the archive.
    return CouldNotRun(what, mend=found.mend)


def recognise_archive(path: Path) -> Archive:
    """Recognise the archive at a path. Raises ArchiveDamaged for a truncated one, CouldNotRun for anything else."""
    if path.is_dir() and (path / "toc.dat").is_file():
        return Archive(path=path, is_folder=True)
    try:
        with path.open("rb") as file:
            begins = file.read(len(MAGIC))
    except OSError as error:
        raise CouldNotRun(f"{path} cannot be read: {describe_os_error(error)}.") from None
    if begins == MAGIC:
        return Archive(path=path, is_folder=False)
    if MAGIC.startswith(begins):
        raise ArchiveDamaged(
            f"{path} has been truncated to {len(begins)} bytes.",
            mend="Fetch it again, or drill an older one.",
        )
    raise CouldNotRun(
        f"{path} is neither a custom nor a directory archive of pg_dump.",
        mend="If it is packed or encrypted, unpack it first. Plain SQL files are refused, because one can drop and "
        "rewrite any database it is fed to.",
    )


def refuse_empty_files(archive: Archive) -> None:
    """Raise ArchiveDamaged for a file of 0 bytes: pg_restore reads one as an empty table, without an error."""
    empty = sum(file.stat().st_size == 0 for file in archive.files)
    if empty:
        raise ArchiveDamaged(
            f"Files of the archive with 0 bytes: {empty} of {len(archive.files)}.",
            mend="Fetch it again, or drill an older one.",
        )


def read_through(tools: Tools, archive: Archive, *, folder: RunFolder, tick: Tick) -> None:
    """Read every byte as a restore would. Raises ArchiveDamaged."""
    refuse_empty_files(archive)
    argv: list[str | Path] = [tools["pg_restore"], "--file=/dev/null", archive.path]
    with ChildProgram(argv, environment={"LC_ALL": "C"}, folder=folder) as child:
        if child.wait(tick) != 0:
            raise make_error(child, "pg_restore", damaged="The archive cannot be read through")


def read_major(archive: Archive, tools: Tools) -> int:
    """Read the major version of the server an archive was dumped from. Raises ArchiveDamaged."""
    said = subprocess.run(
        [tools["pg_restore"], "--list", archive.path],
        env={"LC_ALL": "C"},
        capture_output=True,
        text=True,
        errors="replace",
    )
    found = re.search(r"Dumped from database version: (\d+)", said.stdout)
    if said.returncode != 0:
        complained = diagnose(said.stderr, code=said.returncode)
        raise _map_diagnosis(complained, "pg_restore", damaged="The archive's table of contents is damaged")
    if found is None:
        raise ArchiveDamaged(
            "The archive's table of contents cannot be read.", mend="Fetch it again, or drill an older one."
        )
    return int(found[1])


def read_role_names(archive: Archive, tools: Tools) -> tuple[str, ...]:
    """Read the roles named by policies and user mappings, which --no-owner does not leave out."""
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


def hash_file(file: Path, tick: Tick) -> str:
    """Return the SHA-256 of a file as hex."""
    digest = hashlib.sha256()
    with file.open("rb") as opened:
        while block := opened.read(BLOCK_BYTES):
            digest.update(block)
            tick()
    return digest.hexdigest()
