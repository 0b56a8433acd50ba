"""Finds the files of one character in every language, and loads them together."""

from pathlib import Path

from personas.errors import PersonaInvalid, Problem
from personas.load import load
from personas.schema import Persona


def load_languages(path: Path) -> dict[str, Persona]:
    """Load a persona file and the files of the languages in its `also_in`, by language; its own comes first.

    Raises PersonaInvalid for the first file that is missing, incomplete or badly worded.
    """
    own = load(path)
    languages = {own.language: own}
    for language in own.also_in:
        translated = language_path(path, language)
        persona = load(translated)
        if fault := _find_fault(persona, language):
            raise PersonaInvalid(translated, (fault,))
        languages[language] = persona
    return languages


def language_path(path: Path, language: str) -> Path:
    """Return where the file of a language stands: `robin.es.toml` beside `robin.toml`."""
    return path.with_name(f"{path.stem}.{language}{path.suffix}")


def _find_fault(persona: Persona, language: str) -> Problem | None:
    if persona.language != language:
        return Problem(
            key="language",
            fault=f"is “{persona.language}” in the file of “{language}”",
            mend="set it to the language in the name of the file",
        )
    if persona.also_in:
        return Problem(
            key="also_in", fault="belongs to the first file alone", mend="take it out of this language's file"
        )
    return None
