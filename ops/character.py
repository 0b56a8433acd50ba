"""The character and the drafted lines, read from their files once: a process shows one version everywhere."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from django.conf import settings

from personas.languages import load_languages
from personas.schema import Persona


def get_languages() -> Mapping[str, Persona]:
    """Return the character by language, the first one first. Raises PersonaInvalid."""
    return _read(settings.COMPANION_PERSONA)


def get_persona() -> Persona:
    """Return the character in its first language. Raises PersonaInvalid."""
    return next(iter(get_languages().values()))


@cache
def _read(path: Path) -> Mapping[str, Persona]:
    return load_languages(path)
