"""The manifest of a backup: the fingerprint of its database at the snapshot of the dump (D4).

Version 2; documented in MANIFEST.md. A file that comes back from storage is untrusted, so pydantic validates it.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, model_validator

from ops.backups.archive import signature
from ops.backups.programs.dump import Archive, Tick, hash_file
from ops.backups.reading.database_locale import PROVIDERS
from ops.backups.run.error_mapping import describe_os_error
from ops.backups.run.errors import ArchiveDamaged, CouldNotRun
from ops.backups.run.facts import DatabaseIdentity, Fingerprint, SequencePosition, TableSum

VERSION = 2
FILE = "manifest.json"
DUMP = "dump"
ENCRYPTED_VERSION = 3
"""The version of the manifest that lies beside an encrypted backup: `ops.backups.archive.encryption`."""
ENCRYPTED = "backup.tar.age"
"""The one file of an encrypted backup: a tar archive of dump, manifest and signature."""
MAX_INT64 = 2**63 - 1
Count = Annotated[int, Field(ge=0, le=MAX_INT64)]
Position = Annotated[int, Field(ge=-MAX_INT64 - 2, le=MAX_INT64 + 1)]
"""Position of a sequence. Before its first call it may stand one beyond either end of 64 bits."""
Big = Annotated[str, Field(pattern=r"^-?\d{1,40}$")]
"""A sum of 64-bit hashes, as text: too large for the numbers of many JSON readers."""


class StrictFacts(BaseModel):
    """Base class: rejects unknown keys; frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class FileFacts(StrictFacts):
    """One file of the archive."""

    bytes: Count
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class SourceFacts(StrictFacts):
    """The database that was backed up."""

    system: str
    database: str
    server: Annotated[str, Field(pattern=r"^\d{1,4}(\.\d{1,4})*[a-z0-9]{0,12}$")]
    bytes: Count


class TableFacts(StrictFacts):
    """One table: rows, and {bucket: [rows, first sum, second sum]}."""

    rows: Count
    bytes: Count
    buckets: Mapping[Annotated[int, Field(ge=0, le=255)], tuple[Count, Big, Big]]

    @model_validator(mode="after")
    def _check_rows(self) -> Self:
        if self.rows != sum(rows for rows, _first, _second in self.buckets.values()):
            raise ValueError("the buckets do not add up to the rows")
        return self


class SequenceFacts(StrictFacts):
    """Positions of a sequence at the snapshot and after the dump."""

    increment: Position
    before: Position
    after: Position
    reached: Position | None


class ManifestVersion(BaseModel):
    """The field that every version has."""

    manifest: int


class ManifestHeadSource(BaseModel):
    """The database that was backed up, in any version."""

    system: str
    database: str


class ManifestHead(BaseModel):
    """The fields that rotation needs, the same in every version."""

    made_at: AwareDatetime
    source: ManifestHeadSource

    @property
    def name(self) -> str:
        """System identifier and database name."""
        return f"{self.source.system}/{self.source.database}"


class Manifest(StrictFacts):
    """The whole file."""

    manifest: int
    made_at: Annotated[AwareDatetime, Field(ge=datetime(2000, 1, 1, tzinfo=UTC))]
    pg_dump: str
    source: SourceFacts
    files: Mapping[str, FileFacts]
    tables: Mapping[str, TableFacts]
    materialized: Mapping[str, TableFacts]
    catalogue: Mapping[str, Mapping[str, Mapping[str, str]]]
    ledger: tuple[str, ...]
    sequences: Mapping[str, SequenceFacts]
    roles: tuple[str, ...]
    asides: Mapping[str, Count]

    @model_validator(mode="after")
    def _check_locale(self) -> Self:
        like = self.catalogue.get("database", {}).get("itself", {})
        needed = {"encoding", "provider", "collate", "ctype"}
        if like.get("provider") != "c":
            needed.add("locale")
        if not needed <= like.keys() or like["provider"] not in PROVIDERS:
            raise ValueError("encoding or locale of the database is missing")
        return self

    @property
    def identity(self) -> DatabaseIdentity:
        return DatabaseIdentity(**self.source.model_dump())

    @property
    def fingerprint(self) -> Fingerprint:
        """The fingerprint that a restored copy must have."""
        return Fingerprint(
            tables={name: _to_table_sum(facts) for name, facts in self.tables.items()},
            materialized={name: _to_table_sum(facts) for name, facts in self.materialized.items()},
            catalogue=self.catalogue,
            ledger=self.ledger,
            sequences={
                name: SequencePosition(**facts.model_dump()) for name, facts in self.sequences.items()
            },
            roles=self.roles,
            uncompared=self.asides,
        )


def make(
    fingerprint: Fingerprint,
    identity: DatabaseIdentity,
    archive: Archive,
    *,
    made_at: datetime,
    pg_dump: str,
    tick: Tick,
) -> Manifest:
    """Make the manifest of a complete dump."""
    return Manifest(
        manifest=VERSION,
        # Whole seconds, as in the name of the folder.
        made_at=made_at.replace(microsecond=0),
        pg_dump=pg_dump,
        source=SourceFacts(
            system=identity.system, database=identity.database, server=identity.server, bytes=identity.bytes
        ),
        files={
            file.name: FileFacts(bytes=file.stat().st_size, sha256=hash_file(file, tick))
            for file in archive.files
        },
        tables={name: _to_table_facts(found) for name, found in fingerprint.tables.items()},
        materialized={name: _to_table_facts(found) for name, found in fingerprint.materialized.items()},
        catalogue=fingerprint.catalogue,
        ledger=fingerprint.ledger,
        sequences={
            name: SequenceFacts(increment=s.increment, before=s.before, after=s.after, reached=s.reached)
            for name, s in fingerprint.sequences.items()
        },
        roles=fingerprint.roles,
        asides=fingerprint.uncompared,
    )


def read(path: Path) -> Manifest:
    """Read a manifest. Raises CouldNotRun for another version, ArchiveDamaged if it is not valid."""
    text = _read_bytes(path)
    # The version first: a later one has keys that this release would reject as invalid.
    _refuse_another_version(text, path)
    try:
        return Manifest.model_validate_json(text)
    except ValidationError as error:
        raise make_invalid_error(path, error) from None


def read_signed(path: Path, key: str, *, trust: bool) -> tuple[Manifest, bool]:
    """Read a manifest; return it and whether this service signed it. Raises CouldNotRun or ArchiveDamaged."""
    # The version before the signature: a later release may sign in another way.
    _refuse_another_version(_read_bytes(path), path)
    is_signed = signature.check_signature(path, key, trust=trust)
    return read(path), is_signed


def is_encrypted(backup: Path) -> bool:
    """Whether a path is the folder of an encrypted backup, by its manifest."""
    try:
        text = (backup / FILE).read_bytes()
        return ManifestVersion.model_validate_json(text).manifest == ENCRYPTED_VERSION
    except (OSError, ValidationError):
        return False


def read_head(path: Path) -> ManifestHead:
    """Read database and time of a manifest of any version. Raises CouldNotRun or ArchiveDamaged."""
    try:
        return ManifestHead.model_validate_json(_read_bytes(path))
    except ValidationError as error:
        raise make_invalid_error(path, error) from None


def refuse_other_files(manifest: Manifest, archive: Archive, tick: Tick) -> None:
    """Raise ArchiveDamaged unless the archive has exactly the files and bytes that the manifest names."""
    there = {file.name: file for file in archive.files} if archive.is_folder else {}
    missing = sorted(manifest.files.keys() - there.keys())
    added = sorted(there.keys() - manifest.files.keys())
    changed = [
        name
        for name, facts in manifest.files.items()
        if name in there
        and (there[name].stat().st_size != facts.bytes or hash_file(there[name], tick) != facts.sha256)
    ]
    said = [
        f"{len(names)} {word} ({', '.join(names[:3])})"
        for names, word in ((missing, "missing"), (added, "not of this backup"), (changed, "changed"))
        if names
    ]
    if said:
        raise ArchiveDamaged(
            f"The archive's files do not match the manifest: {'; '.join(said)}.",
            mend="Fetch the backup again, or drill an older one.",
        )


def _refuse_another_version(text: bytes, path: Path) -> None:
    try:
        version = ManifestVersion.model_validate_json(text).manifest
    except ValidationError as error:
        raise make_invalid_error(path, error) from None
    if version == ENCRYPTED_VERSION:
        raise CouldNotRun(
            f"{path.parent} is encrypted.",
            mend="Decrypt it into a private folder, and name that: age --decrypt --identity FILE "
            f"{path.with_name(ENCRYPTED)} | tar --extract --directory FOLDER",
        )
    # Not damaged: a later release, or an earlier one, reads it.
    if version != VERSION:
        raise CouldNotRun(
            f"The manifest has version {version}; this release reads version {VERSION}.",
            mend="Drill it with the release that made it.",
        )


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CouldNotRun(f"{path} cannot be read: {describe_os_error(error)}.") from None


def make_invalid_error(path: Path, error: ValidationError) -> ArchiveDamaged:
    """Return the error for a manifest of the wrong structure, which quotes nothing of it."""
    return ArchiveDamaged(
        f"The manifest {path} is not valid; errors in its structure: {error.error_count()}.",
        mend="Fetch the backup again, or drill an older one.",
    )


def _to_table_facts(found: TableSum) -> TableFacts:
    return TableFacts(
        rows=found.rows,
        bytes=found.bytes,
        buckets={
            # As text: JSON readers may round integers above 2 ** 53.
            key: (rows, str(first), str(second))
            for key, (rows, first, second) in found.buckets.items()
        },
    )


def _to_table_sum(facts: TableFacts) -> TableSum:
    return TableSum(
        rows=facts.rows,
        bytes=facts.bytes,
        buckets={
            key: (rows, int(first), int(second)) for key, (rows, first, second) in facts.buckets.items()
        },
    )
