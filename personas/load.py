"""Reads a persona file, or reports the file, the key and the mend."""

import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from personas.errors import PersonaInvalid, Problem
from personas.schema import Persona
from personas.wording import lint
from validation.phrases import Phrases, explain_error

DEFAULT = Path(__file__).parent / "files" / "robin.toml"
MAX_FILE_BYTES = 256 * 1024


def load(path: Path) -> Persona:
    """Load a persona file. Raises PersonaInvalid unless it is complete and passes the lint of `wording`."""
    persona = _validate(path, _parse(path, _read(path)))
    findings = lint(persona.lines.shown())
    if findings:
        raise PersonaInvalid(
            path,
            tuple(
                Problem(
                    key=f"lines.{finding.key}",
                    fault=f"“{finding.sentence}” {finding.rule}",
                    mend=finding.mend,
                )
                for finding in findings
            ),
        )
    return persona


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise _refuse(path, "there is no such file", "put the persona file there, or name another") from None
    except OSError as refusal:
        fault = f"it cannot be read ({refusal.strerror or type(refusal).__name__})"
        raise _refuse(path, fault, "name a file that this account may read") from None
    if len(content) > MAX_FILE_BYTES:
        raise _refuse(path, "it is over 256 KiB", "name a persona file; this is something else")
    try:
        # Accept a byte order mark, which some editors write.
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as refusal:
        line = content.count(b"\n", 0, refusal.start) + 1
        raise _refuse(path, f"line {line} is not UTF-8", "save the file as UTF-8") from None


def _parse(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as refusal:
        raise _refuse(path, f"it is not TOML: {refusal}", "mend that line") from None


def _validate(path: Path, content: dict[str, Any]) -> Persona:
    try:
        return Persona.model_validate(content)
    except ValidationError as refusal:
        problems = tuple(_to_problem(error) for error in refusal.errors())
        raise PersonaInvalid(path, problems) from None


def _to_problem(error: ErrorDetails) -> Problem:
    refusal = explain_error(error, _PHRASES, mend="compare it with the file that ships")
    return Problem(key=refusal.key, fault=refusal.fault, mend=refusal.mend)


_PHRASES: Phrases = {
    "extra_forbidden": ("is not a key of a persona file", "take it out, or mend its spelling"),
    "string_too_short": ("is empty", "write the line"),
    "string_too_long": ("is too long", "use at most 40 letters"),
}


def _refuse(path: Path, fault: str, mend: str) -> PersonaInvalid:
    return PersonaInvalid(path, (Problem(key="", fault=fault, mend=mend),))
