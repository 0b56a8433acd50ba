"""What a copy must be made like, known before anything is made: from the source, a manifest, or an archive alone."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ops.backups.archive import archive_lookup, manifest
from ops.backups.archive.capture import Source
from ops.backups.connecting import direct
from ops.backups.connecting import in_use as database_in_use
from ops.backups.connecting.address import Address
from ops.backups.connecting.session import open_source
from ops.backups.programs import dump, tools
from ops.backups.programs.dump import Archive, Tick
from ops.backups.reading import catalogue, snapshot, uncompared
from ops.backups.reading.database_locale import kind_of_database
from ops.backups.reporting.verdict import Level
from ops.backups.restoring import preflight
from ops.backups.run.errors import CouldNotRun
from ops.backups.run.facts import Catalogue, Entry, Identity, Picture

UNPACKED = 8
"""How much larger than its archive a database was at most in our measurements."""
PLAIN: Entry = {"encoding": "UTF8", "provider": "c", "collate": "C", "ctype": "C"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """One thing to restore. `picture` and `archive` are None until a fresh dump has been taken."""

    level: Level
    identity: Identity
    like: Entry
    catalogue: Catalogue
    roles: tuple[str, ...]
    label: str
    archive: Archive | None = None
    picture: Picture | None = None
    is_signed: bool = True
    """Whether this service made it: it was just dumped, or its manifest carries the signature of the service."""
    made_at: datetime | None = None
    """When a backup was made, by its manifest; None for a fresh dump, and for a file that does not say."""

    @property
    def name(self) -> str:
        """For markers: the cluster's number and the database's name."""
        return f"{self.identity.system}/{self.identity.database}"

    @property
    def size_guessed(self) -> int:
        """Bytes that the restored database may take: known, or guessed from a file that does not say."""
        return self.identity.bytes * (UNPACKED if self.level == "C" else 1)


def open_right_source(address: Address, *, setting: str, in_use: Address | None = None) -> Source:
    """Connect to the source, directly, and find it fit to be drilled. Raises CouldNotRun."""
    session = open_source(address, setting=setting)
    try:
        direct.refuse_catch_all(address, setting=setting)
        preflight.check_source(session)
        if in_use is not None:
            database_in_use.refuse_another(session, in_use)
    except BaseException:
        session.close()
        raise
    return Source(address=address, setting=setting, session=session)


def of_source(source: Source) -> Wanted:
    """A database that will be dumped."""
    return Wanted(
        level="A",
        identity=snapshot.identity(source.session),
        like=kind_of_database(source.session),
        catalogue=catalogue.read(source.session),
        roles=uncompared.roles(source.session),
        label=source.address.label,
    )


def of_file(path: Path, *, bin_folder: Path | None, tick: Tick, key: str, trust: bool) -> Wanted:
    """A backup that lies there, with the manifest beside its dump or without. Raises ArchiveDamaged or CouldNotRun."""
    archive_lookup.refuse_anything_else(path)
    beside = path / manifest.FILE
    if beside.is_file():
        return _with_manifest(path, tick, key=key, trust=trust)
    archive = dump.recognise(path)
    dump.refuse_emptied_files(archive)
    newest = tools.find(None, tools.places(bin_folder), server=False)
    major = dump.major_of(archive, newest)
    identity = Identity(system="a file", database=path.name, server=f"{major}", bytes=archive.bytes)
    return Wanted(
        level="C",
        identity=identity,
        like=PLAIN,
        catalogue={},
        roles=dump.roles_named(archive, newest),
        label=path.name,
        archive=archive,
        is_signed=False,
    )


def _with_manifest(path: Path, tick: Tick, *, key: str, trust: bool) -> Wanted:
    facts, is_signed = manifest.read_signed(path / manifest.FILE, key, trust=trust)
    try:
        archive = dump.recognise(path / manifest.DUMP)
    except CouldNotRun:
        archive = Archive(path=path / manifest.DUMP, is_folder=(path / manifest.DUMP).is_dir())
    # Nothing of a file is run before it is known to be the one the manifest was made for.
    manifest.refuse_other_files(facts, archive, tick)
    dump.refuse_emptied_files(archive)
    return Wanted(
        level="B",
        identity=facts.identity,
        like=facts.catalogue["database"]["itself"],
        catalogue=facts.catalogue,
        roles=facts.roles,
        label=f"{facts.source.database}, as {path.name} holds it",
        archive=archive,
        picture=facts.picture,
        is_signed=is_signed,
        made_at=facts.made_at,
    )
