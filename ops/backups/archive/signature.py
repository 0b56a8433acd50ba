"""Who wrote a manifest: a code over its bytes, made with a key that lies neither in the dump nor beside it (D4).

A manifest says what a backup ought to hold, and its definitions are parsed by servers. One that anybody could have
written proves nothing, so it is refused unless the operator says that it is to be trusted.
"""

import hashlib
import hmac
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ops.backups.run.error_mapping import reason_of
from ops.backups.run.errors import ArchiveDamaged, CouldNotRun

FILE = "manifest.sig"
PURPOSE = b"companion backup manifest, version 1"
"""So that the same secret signs nothing else with the same key."""
TRUST = "If you know where it comes from and that nobody else could write there, say --trust."


class Signature(BaseModel):
    """The file beside the manifest."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    signature: Literal[1] = 1
    key: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    """Tells keys apart, and gives none away."""
    hmac: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """HMAC-SHA256 of the manifest's bytes, hex."""


def sign(text: bytes, key: str) -> str:
    """The signature file of a manifest, as JSON. `key` is the setting BACKUP_KEY."""
    derived = _derived(key)
    return Signature(key=_name(derived), hmac=_code(derived, text)).model_dump_json()


def check(manifest: Path, key: str, *, trust: bool) -> bool:
    """Whether this service signed the manifest. False only where the operator trusts one that it did not sign.

    Raises ArchiveDamaged for one that was changed afterwards, CouldNotRun for one with no signature or another's.
    """
    path, derived = manifest.with_name(FILE), _derived(key)
    found = _read(path)
    if found is not None and found.key == _name(derived):
        if hmac.compare_digest(found.hmac, _code(derived, manifest.read_bytes())):
            return True
        raise ArchiveDamaged(
            f"The manifest {manifest} has been changed since it was signed.",
            mend="Fetch the backup again, or drill an older one.",
        )
    if trust:
        return False
    if found is None:
        what = f"The manifest {manifest} carries no signature ({FILE}): anybody may have written it."
        mend = f"Fetch the whole folder again. {TRUST}"
    else:
        what = f"The manifest {manifest} was signed with another key (BACKUP_KEY, or SECRET_KEY where that is not set)."
        mend = f"Set BACKUP_KEY to the key of then. {TRUST}"
    raise CouldNotRun(what, mend=mend)


def _read(path: Path) -> Signature | None:
    try:
        return Signature.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CouldNotRun(f"{path} cannot be read: {reason_of(error)}.") from None
    except ValidationError:
        raise ArchiveDamaged(
            f"The signature {path} is not whole.", mend="Fetch the backup again, or drill an older one."
        ) from None


def _derived(key: str) -> bytes:
    return hmac.new(key.encode(), PURPOSE, hashlib.sha256).digest()


def _name(derived: bytes) -> str:
    return hmac.new(derived, b"name", hashlib.sha256).hexdigest()[:16]


def _code(derived: bytes, text: bytes) -> str:
    return hmac.new(derived, text, hashlib.sha256).hexdigest()
