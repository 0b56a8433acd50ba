"""Encrypts a finished backup into one file, and decrypts it for a drill (D4).

The folder of an encrypted backup has three files: the tar archive of the whole backup, encrypted by age; a manifest of
version 3, which names that file with its size and SHA-256; and the signature of that manifest. Rotation, and the check
of a copy that came from elsewhere, need no identity. Inside lies the signed backup as it was.
"""

import os
import re
import shutil
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Annotated

from pydantic import AwareDatetime, Field, ValidationError

from ops.backups.archive import manifest, signature
from ops.backups.archive.manifest import FileFacts, ManifestHead, ManifestHeadSource, StrictFacts
from ops.backups.archive.sealing import sync_folder
from ops.backups.programs import age
from ops.backups.programs.dump import BLOCK_BYTES, Tick, hash_file
from ops.backups.run.errors import ArchiveDamaged
from ops.backups.run.run_folder import RunFolder
from ops.stack.state import write_private

RECIPIENTS = "recipients"
FETCH_AGAIN = "Fetch the backup again, or drill an older one."
MEMBER = re.compile(r"manifest\.(?:json|sig)|dump/\w[\w.-]{0,200}", re.ASCII)
"""The files of a backup, by their names in the tar archive. Any other could lead out of the folder."""


class EncryptedSource(StrictFacts):
    """The database that was backed up. Nothing else is told of it without the identity."""

    system: str
    database: str


class EncryptedManifest(StrictFacts):
    """The manifest beside an encrypted backup."""

    manifest: Annotated[int, Field(ge=manifest.ENCRYPTED_VERSION, le=manifest.ENCRYPTED_VERSION)]
    made_at: Annotated[AwareDatetime, Field(ge=datetime(2000, 1, 1, tzinfo=UTC))]
    source: EncryptedSource
    encrypted: FileFacts

    @property
    def source_name(self) -> str:
        """System identifier and database name."""
        return f"{self.source.system}/{self.source.database}"


def encrypt(backup: Path, into: Path, *, recipients: str, key: str, folder: RunFolder, tick: Tick) -> int:
    """Encrypt a sealed backup into the new folder `into`; return the size of the encrypted file in bytes.

    `recipients`: public keys of age, one a line. `key` signs. Raises CouldNotRun.
    """
    keys = folder.path / RECIPIENTS
    write_private(keys, recipients)
    into.mkdir(mode=0o700)
    encrypted = into / manifest.ENCRYPTED
    with age.start_encryption(keys, encrypted, folder=folder) as child:
        is_broken = False
        try:
            _pack(backup, child.stdin, tick)
            child.stdin.close()
        except BrokenPipeError:
            is_broken = True
        if child.wait(tick) != 0 or is_broken:
            raise age.make_error(child, encrypted=encrypted)
    os.chmod(encrypted, 0o600)
    head = manifest.read_head(backup / manifest.FILE)
    facts = EncryptedManifest(
        manifest=manifest.ENCRYPTED_VERSION,
        made_at=head.made_at,
        source=EncryptedSource(system=head.source.system, database=head.source.database),
        encrypted=FileFacts(bytes=encrypted.stat().st_size, sha256=hash_file(encrypted, tick)),
    )
    text = facts.model_dump_json()
    write_private(into / manifest.FILE, text)
    write_private(into / signature.FILE, signature.sign(text.encode(), key))
    sync_folder(into)
    return facts.encrypted.bytes


def read_signed(backup: Path, key: str, *, trust: bool) -> EncryptedManifest:
    """Read the manifest beside an encrypted backup. Raises CouldNotRun or ArchiveDamaged."""
    path = backup / manifest.FILE
    signature.check_signature(path, key, trust=trust)
    try:
        return EncryptedManifest.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise manifest.make_invalid_error(path, error) from None


def decrypt(
    backup: Path, facts: EncryptedManifest, into: Path, *, identity: Path, folder: RunFolder, tick: Tick
) -> None:
    """Check the encrypted file against its manifest, then decrypt it into the new private folder `into`.

    Raises ArchiveDamaged if the file is not what the manifest names, CouldNotRun if the identity does not open it.
    """
    encrypted = backup / manifest.ENCRYPTED
    _refuse_other_file(encrypted, facts, tick)
    into.mkdir(mode=0o700)
    damage = ""
    with age.start_decryption(encrypted, identity, folder=folder) as child:
        try:
            damage = _unpack(child.stdout, into, tick)
        except tarfile.TarError:
            damage = "what is in it is no tar archive"
        # To the end, for age checks the last block there; and an age that failed has given no archive at all.
        while child.stdout.read(BLOCK_BYTES):
            tick()
        if child.wait(tick) != 0:
            raise age.make_error(child, encrypted=encrypted)
    inner = ManifestHead(
        made_at=facts.made_at,
        source=ManifestHeadSource(system=facts.source.system, database=facts.source.database),
    )
    if not damage and manifest.read_head(into / manifest.FILE) != inner:
        damage = "it holds another backup than its manifest says"
    if damage:
        raise ArchiveDamaged(f"{encrypted}: {damage}.", mend=FETCH_AGAIN)


def _refuse_other_file(encrypted: Path, facts: EncryptedManifest, tick: Tick) -> None:
    if not encrypted.is_file():
        raise ArchiveDamaged(f"{encrypted} is missing.", mend="Fetch the whole folder again.")
    if encrypted.stat().st_size != facts.encrypted.bytes or (
        hash_file(encrypted, tick) != facts.encrypted.sha256
    ):
        raise ArchiveDamaged(f"{encrypted} is not the file that its manifest names.", mend=FETCH_AGAIN)


def _pack(backup: Path, stream: IO[bytes], tick: Tick) -> None:
    with tarfile.open(fileobj=stream, mode="w|", bufsize=BLOCK_BYTES) as packed:
        for file in [*sorted((backup / manifest.DUMP).iterdir()), *sorted(backup.glob("manifest.*"))]:
            tick()
            packed.add(file, str(file.relative_to(backup)), recursive=False, filter=_hide_account)


def _hide_account(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o600
    return member


def _unpack(stream: IO[bytes], into: Path, tick: Tick) -> str:
    """Unpack the files of a backup; return what is wrong with the archive, or an empty text."""
    (into / manifest.DUMP).mkdir(mode=0o700)
    with tarfile.open(fileobj=stream, mode="r|", bufsize=BLOCK_BYTES) as packed:
        for member in packed:
            tick()
            content = packed.extractfile(member) if member.isreg() else None
            if content is None or not MEMBER.fullmatch(member.name) or (into / member.name).exists():
                return "it holds a file that is none of a backup"
            with open(os.open(into / member.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                shutil.copyfileobj(content, file, BLOCK_BYTES)
    return ""
