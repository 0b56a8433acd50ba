"""Numbered system checks: what must be right before anything is served.

companion.E001        the persona file cannot be used
companion.W001        the persona file's review date has passed
"""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.utils.timezone import localdate

from personas.errors import PersonaInvalid
from personas.load import load


@register()
def persona_is_whole(app_configs: Sequence[Any] | None, **_options: Any) -> list[CheckMessage]:
    """The character is there, whole and well worded (P1)."""
    try:
        persona = load(settings.COMPANION_PERSONA)
    except PersonaInvalid as refusal:
        return [Error(str(refusal), hint="manage.py check_persona says it again.", id="companion.E001")]
    if persona.review_by < localdate():
        text = f"{settings.COMPANION_PERSONA}: its lines were to be read again by {persona.review_by}."
        return [Warning(text, hint="Have them read, then set review_by and approver.", id="companion.W001")]
    return []
