"""The figures and drafted lines that turns run by."""

from dataclasses import fields
from typing import Any

from django.conf import settings

from companion.turn_policy import CharacterTexts, TurnPolicy
from ops.character import get_languages, get_persona
from personas.schema import system_prompt


def build_turn_policy() -> TurnPolicy:
    """The figures and drafted lines of this process. Raises PersonaInvalid."""
    translations = {
        language: CharacterTexts(
            lines=persona.lines,
            character=persona.name,
            system_prompt=system_prompt(persona),
            persona_version=persona.version,
        )
        for language, persona in get_languages().items()
    }
    first = get_persona().language
    texts = {field.name: getattr(translations[first], field.name) for field in fields(CharacterTexts)}
    return TurnPolicy(language=first, translations=translations, **texts, **_policy_settings())


def _policy_settings() -> dict[str, Any]:
    """The fields of TurnPolicy that can be set: `hold_s` is COMPANION_HOLD_S."""
    names = {field.name: f"COMPANION_{field.name.upper()}" for field in fields(TurnPolicy)}
    return {field: getattr(settings, name) for field, name in names.items() if hasattr(settings, name)}
