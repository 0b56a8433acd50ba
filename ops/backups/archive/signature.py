"""The signature of a manifest: an HMAC with a key that is stored neither in the dump nor beside it (D4).

A manifest states what a backup must contain, and servers parse its definitions. Without a signature of this service it
could have any author, so it is refused unless the operator trusts it (--trust).
"""

import hashlib
import hmac
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ops.backups.run.error_mapping import describe_os_error
from ops.backups.run.errors import ArchiveDamaged, CouldNotRun

FILE = "manifest.sig"
PURPOSE = b"companion backup manifest, version 1"
"""Separates this use of the secret from others."""
TRUST_HINT = "If you know its origin and that no other account could write there, pass --trust."


class Signature(BaseModel):
    """The file beside the manifest."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    signature: Literal[1] = 1
    key: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    """Identifies the key without revealing it."""
    hmac: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """HMAC-SHA256 of the manifest's bytes, hex."""


def sign(text: bytes, key: str) -> str:
    """Return the signature of a manifest's bytes as JSON. `key` is the setting BACKUP_KEY."""
    derived = _derive_key(key)
    return Signature(key=_name_key(derived), hmac=_compute_hmac(derived, text)).model_dump_json()


def check_signature(manifest: Path, key: str, *, trust: bool) -> bool:
    """Return whether this service signed the manifest; False only with `trust`.

    Raises ArchiveDamaged if it was changed after signing, CouldNotRun if the signature is missing or of another key.
    """
    path, derived = manifest.with_name(FILE), _derive_key(key)
    found = _read(path)
    if found is not None and found.key == _name_key(derived):
        if hmac.compare_digest(found.hmac, _compute_hmac(derived, manifest.read_bytes())):
            return True
        raise ArchiveDamaged(
            f"The manifest {manifest} has been changed since it was signed.",
            mend="Fetch the backup again, or drill an older one.",
        )
    if trust:
        return False
    if found is None:
        what = f"The manifest {manifest} has no signature ({FILE}): its author is unknown."
        mend = f"Fetch the whole folder again. {TRUST_HINT}"
    else:
        what = f"The manifest {manifest} was signed with another key (BACKUP_KEY, or SECRET_KEY where that is not set)."
        mend = f"Set BACKUP_KEY to the key of that time. {TRUST_HINT}"
    raise CouldNotRun(what, mend=mend)


def _read(path: Path) -> Signature | None:
    try:
        return Signature.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CouldNotRun(f"{path} cannot be read: {describe_os_error(error)}.") from None
    except ValidationError:
        raise ArchiveDamaged(
            f"The signature {path} is not valid.", mend="Fetch the backup again, or drill an older one."
        ) from None


def _derive_key(key: str) -> bytes:
    return hmac.new(key.encode(), PURPOSE, hashlib.sha256).digest()


def _name_key(derived: bytes) -> str:
    return hmac.new(derived, b"name", hashlib.sha256).hexdigest()[:16]


def _compute_hmac(derived: bytes, text: bytes) -> str:
    return hmac.new(derived, text, hashlib.sha256).hexdigest()
