"""Reads a persona file, or says which file, which key and which mend."""

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
LARGEST_FILE = 256 * 1024


def load(path: Path) -> Persona:
    """The character in a persona file. Raises PersonaInvalid unless it is whole and well worded."""
    persona = _checked(path, _parsed(path, _read(path)))
    findings = lint(persona.lines.shown())
    if findings:
        raise PersonaInvalid(
            path,
            tuple(
                Problem(key=f"lines.{found.key}", fault=f"“{found.sentence}” {found.rule}", mend=found.mend)
                for found in findings
            ),
        )
    return persona


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise _refused(path, "there is no such file", "put the persona file there, or name another") from None
    except OSError as refusal:
        fault = f"it cannot be read ({refusal.strerror or type(refusal).__name__})"
        raise _refused(path, fault, "name a file that this account may read") from None
    if len(content) > LARGEST_FILE:
        raise _refused(path, "it is over 256 KiB", "name a persona file; this is something else")
    try:
        # An editor may have put a byte order mark first; it changes nothing.
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as refusal:
        line = content.count(b"\n", 0, refusal.start) + 1
        raise _refused(path, f"line {line} is not UTF-8", "save the file as UTF-8") from None


def _parsed(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as refusal:
        raise _refused(path, f"it is not TOML: {refusal}", "mend that line") from None


def _checked(path: Path, content: dict[str, Any]) -> Persona:
    try:
        return Persona.model_validate(content)
    except ValidationError as refusal:
        problems = tuple(_problem(error) for error in refusal.errors())
        raise PersonaInvalid(path, problems) from None


def _problem(error: ErrorDetails) -> Problem:
    refusal = explain_error(error, _PHRASES, mend="compare it with the file that ships")
    return Problem(key=refusal.key, fault=refusal.fault, mend=refusal.mend)


_PHRASES: Phrases = {
    "extra_forbidden": ("is not a key of a persona file", "take it out, or mend its spelling"),
    "string_too_short": ("is empty", "write the line"),
    "string_too_long": ("is too long", "use at most 40 letters"),
}


def _refused(path: Path, fault: str, mend: str) -> PersonaInvalid:
    return PersonaInvalid(path, (Problem(key="", fault=fault, mend=mend),))
