"""Keys of age for tests, made by its own program."""

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class AgeKeys:
    """One pair. `identity` is a file, `recipient` the public key."""

    identity: Path
    recipient: str


def make_keys(folder: Path, name: str = "identity") -> AgeKeys:
    """A new pair, whose identity only its owner can read."""
    identity = folder / name
    subprocess.run(["age-keygen", "--output", identity], check=True, capture_output=True)
    public = subprocess.run(["age-keygen", "-y", identity], check=True, capture_output=True, text=True)
    return AgeKeys(identity=identity, recipient=public.stdout.strip())


def decrypt_by_hand(backup: Path, keys: AgeKeys, into: Path) -> Path:
    """What the runbook says: age, and tar."""
    into.mkdir(mode=0o700)
    opened = subprocess.run(
        ["age", "--decrypt", "--identity", keys.identity, backup / "backup.tar.age"],
        check=True,
        capture_output=True,
    )
    subprocess.run(["tar", "--extract", "--directory", into], input=opened.stdout, check=True)
    return into
