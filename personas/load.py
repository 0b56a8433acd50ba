"""Reads a persona file, or reports the file, the key and the mend."""

from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from personas.documents import read_document
from personas.errors import PersonaInvalid, Problem
from personas.schema import Persona
from personas.wording import RULES, lint
from validation.phrases import Phrases, explain_error

DEFAULT = Path(__file__).parent / "files" / "robin.toml"


def load(path: Path) -> Persona:
    """Load a persona file. Raises PersonaInvalid unless it is complete and passes the lint of `wording`."""
    persona = _validate(path, read_document(path))
    if persona.language not in RULES:
        fault = f"there are no wording rules for “{persona.language}”, so its lines cannot be checked"
        mend = f"add rules for it to personas.wording, or use one of: {', '.join(RULES)}"
        raise PersonaInvalid(path, (Problem(key="language", fault=fault, mend=mend),))
    parts = {"lines": persona.lines.shown(), "choices": persona.choices.shown()}
    findings = [(part, finding) for part, lines in parts.items() for finding in lint(lines, persona.language)]
    if findings:
        raise PersonaInvalid(
            path,
            tuple(
                Problem(
                    key=f"{part}.{finding.key}",
                    fault=f"“{finding.sentence}” {finding.rule}",
                    mend=finding.mend,
                )
                for part, finding in findings
            ),
        )
    return persona


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
