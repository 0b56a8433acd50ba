"""The manifest beside a backup: what its database was at the very snapshot the dump was taken (D4).

Version 2; documented in MANIFEST.md. A file that comes back from a store is untrusted: pydantic reads it.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, model_validator

from ops.backups.archive import signature
from ops.backups.programs.dump import Archive, Tick, fingerprint
from ops.backups.reading.database_locale import PROVIDERS
from ops.backups.run.error_mapping import reason_of
from ops.backups.run.errors import ArchiveDamaged, CouldNotRun
from ops.backups.run.facts import Identity, Picture, Sequence, TableSum

VERSION = 2
FILE = "manifest.json"
DUMP = "dump"
LARGEST = 2**63 - 1
Count = Annotated[int, Field(ge=0, le=LARGEST)]
Position = Annotated[int, Field(ge=-LARGEST - 2, le=LARGEST + 1)]
"""Of a sequence: one beyond either end of 64 bits, where it has not been called yet."""
Big = Annotated[str, Field(pattern=r"^-?\d{1,40}$")]
"""A sum of 64-bit hashes: too long for the numbers of many JSON readers."""


class Strict(BaseModel):
    """No unknown keys, nothing changed afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class FileFacts(Strict):
    """One file of the archive."""

    bytes: Count
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class SourceFacts(Strict):
    """Where the backup came from."""

    system: str
    database: str
    server: Annotated[str, Field(pattern=r"^\d{1,4}(\.\d{1,4})*[a-z0-9]{0,12}$")]
    bytes: Count


class TableFacts(Strict):
    """One table: rows, and per bucket [rows, first sum, second sum]."""

    rows: Count
    bytes: Count
    buckets: Mapping[Annotated[int, Field(ge=0, le=255)], tuple[Count, Big, Big]]

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.rows != sum(rows for rows, _first, _second in self.buckets.values()):
            raise ValueError("the rows of the buckets are another number")
        return self


class SequenceFacts(Strict):
    """Where a sequence stood at the snapshot and when the dump had ended."""

    increment: Position
    before: Position
    after: Position
    reached: Position | None


class Numbered(BaseModel):
    """The one field that every version has."""

    manifest: int


class HeadSource(BaseModel):
    """Which database a backup is of, of any version."""

    system: str
    database: str


class Head(BaseModel):
    """What rotation needs to know, the same in every version."""

    made_at: AwareDatetime
    source: HeadSource

    @property
    def name(self) -> str:
        """The cluster's number and the database's name."""
        return f"{self.source.system}/{self.source.database}"


class Manifest(Strict):
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
    def _says_what_the_database_is_like(self) -> Self:
        like = self.catalogue.get("database", {}).get("itself", {})
        needed = {"encoding", "provider", "collate", "ctype"}
        if like.get("provider") != "c":
            needed.add("locale")
        if not needed <= like.keys() or like["provider"] not in PROVIDERS:
            raise ValueError("it does not say what the database is like")
        return self

    @property
    def identity(self) -> Identity:
        """The source."""
        return Identity(**self.source.model_dump())

    @property
    def picture(self) -> Picture:
        """What a restored copy must look like."""
        return Picture(
            tables={name: _sum(facts) for name, facts in self.tables.items()},
            materialized={name: _sum(facts) for name, facts in self.materialized.items()},
            catalogue=self.catalogue,
            ledger=self.ledger,
            sequences={name: Sequence(**facts.model_dump()) for name, facts in self.sequences.items()},
            roles=self.roles,
            asides=self.asides,
        )


def make(
    picture: Picture, identity: Identity, archive: Archive, *, made_at: datetime, pg_dump: str, tick: Tick
) -> Manifest:
    """The manifest of a dump that is whole."""
    return Manifest(
        manifest=VERSION,
        made_at=made_at.replace(microsecond=0),
        pg_dump=pg_dump,
        source=SourceFacts(
            system=identity.system, database=identity.database, server=identity.server, bytes=identity.bytes
        ),
        files={
            file.name: FileFacts(bytes=file.stat().st_size, sha256=fingerprint(file, tick))
            for file in archive.files
        },
        tables={name: _facts(found) for name, found in picture.tables.items()},
        materialized={name: _facts(found) for name, found in picture.materialized.items()},
        catalogue=picture.catalogue,
        ledger=picture.ledger,
        sequences={
            name: SequenceFacts(increment=s.increment, before=s.before, after=s.after, reached=s.reached)
            for name, s in picture.sequences.items()
        },
        roles=picture.roles,
        asides=picture.asides,
    )


def read(path: Path) -> Manifest:
    """Read a manifest. Raises CouldNotRun for another version, ArchiveDamaged for anything that is none."""
    text = _bytes(path)
    # The number first: a later version has keys that this release would call faults.
    _refuse_another_version(text, path)
    try:
        return Manifest.model_validate_json(text)
    except ValidationError as error:
        raise _not_whole(path, error) from None


def read_signed(path: Path, key: str, *, trust: bool) -> tuple[Manifest, bool]:
    """A manifest, and whether this service signed it. Raises CouldNotRun or ArchiveDamaged, as `read` and `check`."""
    # The version before the signature: a later release may sign otherwise.
    _refuse_another_version(_bytes(path), path)
    is_signed = signature.check(path, key, trust=trust)
    return read(path), is_signed


def read_head(path: Path) -> Head:
    """Which database a manifest is of, and when it was made. Raises CouldNotRun or ArchiveDamaged."""
    try:
        return Head.model_validate_json(_bytes(path))
    except ValidationError as error:
        raise _not_whole(path, error) from None


def refuse_other_files(manifest: Manifest, archive: Archive, tick: Tick) -> None:
    """Raise ArchiveDamaged when the archive's files are not, byte for byte, the ones the manifest was made for."""
    there = {file.name: file for file in archive.files} if archive.is_folder else {}
    missing = sorted(manifest.files.keys() - there.keys())
    added = sorted(there.keys() - manifest.files.keys())
    changed = [
        name
        for name, facts in manifest.files.items()
        if name in there
        and (there[name].stat().st_size != facts.bytes or fingerprint(there[name], tick) != facts.sha256)
    ]
    said = [
        f"{len(names)} {word} ({', '.join(names[:3])})"
        for names, word in ((missing, "missing"), (added, "not of this backup"), (changed, "changed"))
        if names
    ]
    if said:
        raise ArchiveDamaged(
            f"The archive's files are not as the manifest says: {'; '.join(said)}.",
            mend="Fetch the backup again, or drill an older one.",
        )


def _refuse_another_version(text: bytes, path: Path) -> None:
    try:
        version = Numbered.model_validate_json(text).manifest
    except ValidationError as error:
        raise _not_whole(path, error) from None
    if version != VERSION:
        raise CouldNotRun(
            f"The manifest is of version {version}; this release reads version {VERSION}.",
            mend="Drill it with the release that made it.",
        )


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CouldNotRun(f"{path} cannot be read: {reason_of(error)}.") from None


def _not_whole(path: Path, error: ValidationError) -> ArchiveDamaged:
    return ArchiveDamaged(
        f"The manifest {path} is not whole; faults in its shape: {error.error_count()}.",
        mend="Fetch the backup again, or drill an older one.",
    )


def _facts(found: TableSum) -> TableFacts:
    return TableFacts(
        rows=found.rows,
        bytes=found.bytes,
        buckets={
            key: (rows, str(first), str(second)) for key, (rows, first, second) in found.buckets.items()
        },
    )


def _sum(facts: TableFacts) -> TableSum:
    return TableSum(
        rows=facts.rows,
        bytes=facts.bytes,
        buckets={
            key: (rows, int(first), int(second)) for key, (rows, first, second) in facts.buckets.items()
        },
    )
