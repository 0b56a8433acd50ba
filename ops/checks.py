"""Numbered system checks: what must be right before anything is served.

companion.E001        the persona file cannot be used
companion.W001        a persona file's review date has passed
"""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.utils.timezone import localdate

from ops.character import get_languages
from personas.errors import PersonaInvalid


@register()
def persona_is_whole(app_configs: Sequence[Any] | None, **_options: Any) -> list[CheckMessage]:
    """The character is there, whole and well worded (P1)."""
    try:
        languages = get_languages()
    except PersonaInvalid as refusal:
        return [Error(str(refusal), hint="manage.py check_persona says it again.", id="companion.E001")]
    return [
        Warning(
            f"{settings.COMPANION_PERSONA} ({language}): its lines were to be read again by {persona.review_by}.",
            hint="Have them read, then set review_by and approver.",
            id="companion.W001",
        )
        for language, persona in languages.items()
        if persona.review_by < localdate()
    ]
