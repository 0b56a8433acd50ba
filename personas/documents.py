"""Reads a TOML file of this room, or reports the file, the line and the mend."""

import tomllib
from pathlib import Path
from typing import Any

from personas.errors import PersonaInvalid, Problem

MAX_FILE_BYTES = 256 * 1024


def read_document(
    path: Path, *, what: str = "persona file", refusal: type[PersonaInvalid] = PersonaInvalid
) -> dict[str, Any]:
    """Return the tables of a file. `what` names the kind of file in the text of `refusal`, which it raises."""

    def refuse(fault: str, mend: str) -> PersonaInvalid:
        return refusal(path, (Problem(key="", fault=fault, mend=mend),))

    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise refuse("there is no such file", f"put the {what} there, or name another") from None
    except OSError as error:
        fault = f"it cannot be read ({error.strerror or type(error).__name__})"
        raise refuse(fault, "name a file that this account may read") from None
    if len(content) > MAX_FILE_BYTES:
        raise refuse("it is over 256 KiB", f"name a {what}; this is something else")
    try:
        # Accept a byte order mark, which some editors write.
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise refuse(f"line {line} is not UTF-8", "save the file as UTF-8") from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise refuse(f"it is not TOML: {error}", "mend that line") from None
