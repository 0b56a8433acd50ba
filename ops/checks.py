"""Numbered system checks: what must be right before anything is served (`ops/reference/checks.md` lists them).

`manage.py check` runs those without a tag, `--deploy` those of a deployment, and `--database default` those that ask
the database. `manage.py preflight` runs all of them and more (`ops/preflight/`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.utils.timezone import localdate

from ops.character import get_languages
from ops.preflight.web_settings import WebSettings, judge_web_settings
from personas import safety
from personas.errors import PersonaInvalid
from routing import lanes
from routing.errors import RoutingFileInvalid


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


@register(deploy=True)
def routing_is_whole(app_configs: Sequence[Any] | None, **_options: Any) -> list[CheckMessage]:
    """The file of lanes and presets can be used."""
    try:
        if settings.COMPANION_ROUTING:
            lanes.load(Path(settings.COMPANION_ROUTING))
    except RoutingFileInvalid as refusal:
        return [Error(str(refusal), hint="ops/reference/providers.md describes it.", id="companion.E002")]
    return []


@register(deploy=True)
def safety_rules_are_whole(app_configs: Sequence[Any] | None, **_options: Any) -> list[CheckMessage]:
    """The rules that read messages can be used, in every language."""
    try:
        for language, _ in settings.LANGUAGES:
            safety.load(language)
    except PersonaInvalid as refusal:
        return [Error(str(refusal), hint="manage.py check_safety says it again.", id="companion.E003")]
    return []


@register(deploy=True)
def web_settings_agree(app_configs: Sequence[Any] | None, **_options: Any) -> list[CheckMessage]:
    """Hosts, origins, cookies, proxy and alerts fit together."""
    web = WebSettings(
        origins=settings.TRUSTED_ORIGINS,
        hosts=settings.ALLOWED_HOSTS,
        secure_cookies=settings.COMPANION_SECURE_COOKIES,
        behind_proxy=settings.COMPANION_BEHIND_PROXY,
        ops_token=settings.OPS_TOKEN,
        alert_transports=len(settings.ALERT_EMAIL) + bool(settings.ALERT_WEBHOOK_URL),
    )
    return list(judge_web_settings(web))


@register(Tags.database)
def database_is_usable(
    app_configs: Sequence[Any] | None, databases: Sequence[str] | None, **_options: Any
) -> list[CheckMessage]:
    """The database is one that this release can use at all. `manage.py migrate` asks this too."""
    if "default" not in (databases or ()):
        return []
    # Imported here: every command and job would import the sections of a preflight, a quarter of its start.
    from ops.preflight.sections import judge_refusals

    return list(judge_refusals())
