"""What to restore, known before anything is created: from the source, a manifest, or an archive alone."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ops.backups.archive import manifest, stored_backups
from ops.backups.archive.capture import Source
from ops.backups.connecting import direct
from ops.backups.connecting import in_use as database_in_use
from ops.backups.connecting.address import Address
from ops.backups.connecting.session import open_source
from ops.backups.programs import dump, tools
from ops.backups.programs.dump import Archive, Tick
from ops.backups.reading import catalogue, snapshot, uncompared
from ops.backups.reading.database_locale import read_locale
from ops.backups.reporting.verdict import Level
from ops.backups.restoring import preflight
from ops.backups.run.errors import CouldNotRun
from ops.backups.run.facts import Catalogue, DatabaseIdentity, Entry, Fingerprint

MAX_UNPACKED_FACTOR = 8
"""Largest measured ratio of a database to its archive."""
DEFAULT_LOCALE: Entry = {"encoding": "UTF8", "provider": "c", "collate": "C", "ctype": "C"}


@dataclass(frozen=True, kw_only=True, slots=True)
class RestoreSpec:
    """What to restore. `fingerprint` and `archive` are None until a fresh dump has been taken."""

    level: Level
    identity: DatabaseIdentity
    like: Entry
    catalogue: Catalogue
    roles: tuple[str, ...]
    label: str
    archive: Archive | None = None
    fingerprint: Fingerprint | None = None
    is_signed: bool = True
    """Whether this service made it: dumped just now, or with a manifest that it signed."""
    made_at: datetime | None = None
    """Time of the backup by its manifest; None for a fresh dump or a file alone."""

    @property
    def name(self) -> str:
        """System identifier and database name, as markers have it."""
        return f"{self.identity.system}/{self.identity.database}"

    @property
    def estimated_bytes(self) -> int:
        """Size of the restored database in bytes, estimated from the archive for a file alone."""
        return self.identity.bytes * (MAX_UNPACKED_FACTOR if self.level == "C" else 1)


def open_checked_source(address: Address, *, setting: str, in_use: Address | None = None) -> Source:
    """Connect directly to the source and check that it can be dumped. Raises CouldNotRun."""
    session = open_source(address, setting=setting)
    try:
        direct.refuse_catch_all(address, setting=setting)
        preflight.check_source(session)
        if in_use is not None:
            database_in_use.refuse_other_database(session, in_use)
    except BaseException:
        session.close()
        raise
    return Source(address=address, setting=setting, session=session)


def describe_source(source: Source) -> RestoreSpec:
    """Return the spec of a database that will be dumped."""
    return RestoreSpec(
        level="A",
        identity=snapshot.read_identity(source.session),
        like=read_locale(source.session),
        catalogue=catalogue.read(source.session),
        roles=uncompared.read_roles(source.session),
        label=source.address.label,
    )


def describe_file(path: Path, *, bin_folder: Path | None, tick: Tick, key: str, trust: bool) -> RestoreSpec:
    """Return the spec of a backup, or of an archive without manifest. Raises ArchiveDamaged or CouldNotRun."""
    stored_backups.require_backup(path)
    beside = path / manifest.FILE
    if beside.is_file():
        return _describe_backup(path, tick, key=key, trust=trust)
    archive = dump.recognise_archive(path)
    dump.refuse_empty_files(archive)
    newest = tools.find_tools(None, tools.list_folders(bin_folder), server=False)
    major = dump.read_major(archive, newest)
    identity = DatabaseIdentity(system="a file", database=path.name, server=f"{major}", bytes=archive.bytes)
    return RestoreSpec(
        level="C",
        identity=identity,
        like=DEFAULT_LOCALE,
        catalogue={},
        roles=dump.read_role_names(archive, newest),
        label=path.name,
        archive=archive,
        is_signed=False,
    )


def _describe_backup(path: Path, tick: Tick, *, key: str, trust: bool) -> RestoreSpec:
    facts, is_signed = manifest.read_signed(path / manifest.FILE, key, trust=trust)
    try:
        archive = dump.recognise_archive(path / manifest.DUMP)
    except CouldNotRun:
        archive = Archive(path=path / manifest.DUMP, is_folder=(path / manifest.DUMP).is_dir())
    # Verify the files before pg_restore reads them.
    manifest.refuse_other_files(facts, archive, tick)
    dump.refuse_empty_files(archive)
    return RestoreSpec(
        level="B",
        identity=facts.identity,
        like=facts.catalogue["database"]["itself"],
        catalogue=facts.catalogue,
        roles=facts.roles,
        label=f"{facts.source.database}, as in {path.name}",
        archive=archive,
        fingerprint=facts.fingerprint,
        is_signed=is_signed,
        made_at=facts.made_at,
    )
