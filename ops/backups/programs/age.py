"""Runs age, which encrypts for public keys and decrypts with an identity. Both are read from files, never from argv."""

import os
import shutil
import subprocess
from pathlib import Path

from ops.backups.programs.child import ChildProgram
from ops.backups.run.error_mapping import describe_os_error
from ops.backups.run.errors import CouldNotRun, DrillStopped
from ops.backups.run.run_folder import RunFolder
from ops.stack.errors import NO_SPACE

IDENTITY_SETTING = "BACKUP_IDENTITY_FILE"
RECIPIENTS_SETTING = "BACKUP_RECIPIENTS"
IDENTITY_BEGINS = b"AGE-SECRET-KEY-1"
MAX_IDENTITY_BYTES = 100_000
ENVIRONMENT = {"LC_ALL": "C"}
NO_IDENTITY_MATCHED = "no identity matched"


def find_age() -> Path:
    """Return the path of the program. Raises CouldNotRun."""
    found = shutil.which("age")
    if found is None:
        raise CouldNotRun(
            "The program age, which encrypts backups, is not on this machine.",
            mend="Install it: apt-get install age",
        )
    return Path(found)


def require_identity(path: Path | None, *, backup: Path) -> Path:
    """Return the file of the identity if age can use it without asking a person. Raises CouldNotRun."""
    if path is None:
        raise CouldNotRun(
            f"{backup} is encrypted, and no identity is named.",
            mend=f"Name the file of the identity of age that opens it: {IDENTITY_SETTING}.",
        )
    try:
        with path.open("rb") as file:
            mode, text = os.fstat(file.fileno()).st_mode, file.read(MAX_IDENTITY_BYTES)
    except OSError as error:
        raise CouldNotRun(
            f"The identity {path} cannot be read: {describe_os_error(error)}.",
            mend=f"Correct {IDENTITY_SETTING}.",
        ) from None
    if mode & 0o007:
        raise CouldNotRun(
            f"Every account of this machine may use the identity {path}.", mend=f"chmod o= {path}"
        )
    # age would ask for the passphrase of a protected identity on the terminal, and wait there.
    if not any(line.startswith(IDENTITY_BEGINS) for line in text.splitlines()):
        raise CouldNotRun(
            f"{path} is no identity of age, or a passphrase protects it.",
            mend=f"Name a file with a line that begins with {IDENTITY_BEGINS.decode()} in {IDENTITY_SETTING}.",
        )
    return path


def start_encryption(recipients: Path, into: Path, *, folder: RunFolder) -> ChildProgram:
    """Start to encrypt what is written to the program's stdin into the new file `into`."""
    argv: list[str | Path] = [find_age(), "--encrypt", "--recipients-file", recipients, "--output", into]
    return ChildProgram(argv, environment=ENVIRONMENT, folder=folder, stdin=subprocess.PIPE)


def start_decryption(encrypted: Path, identity: Path, *, folder: RunFolder) -> ChildProgram:
    """Start to decrypt a file to the program's stdout."""
    argv: list[str | Path] = [find_age(), "--decrypt", "--identity", identity, encrypted]
    return ChildProgram(argv, environment=ENVIRONMENT, folder=folder, stdout=subprocess.PIPE)


def make_error(child: ChildProgram, *, encrypted: Path) -> DrillStopped:
    """Return the error for an age that failed at the file `encrypted`."""
    said = child.stderr_tail
    if NO_SPACE.lower() in said.lower():
        return CouldNotRun(f"The disk of {encrypted.parent} is full.", mend="Make room.")
    if NO_IDENTITY_MATCHED in said:
        return CouldNotRun(
            f"{encrypted} was encrypted for other keys than that of the identity here.",
            mend=f"Name the identity of the key that {RECIPIENTS_SETTING} named then in {IDENTITY_SETTING}.",
        )
    return CouldNotRun(
        f"age: it ended with exit code {child.exit_code} at {encrypted}.",
        mend=f"Try it by hand, with the keys of {RECIPIENTS_SETTING} or {IDENTITY_SETTING}.",
    )
