"""The rules that read messages and replies, and the second reading."""

from typing import Any

from django.conf import settings
from psycopg_pool import AsyncConnectionPool

from companion.supervision.noticing import Noticing
from companion.supervision.second_reading import SecondReader, SecondReadingPolicy
from ops.alerts.buffer import AlertBuffer
from ops.alerts.kinds import AlertKind
from ops.character import get_languages
from personas import safety
from personas.safety import SafetyRules
from personas.safety.several import SeveralRules
from routing.chain import Caller
from routing.errors import RoutingFileInvalid
from routing.lanes import Routing


def build_safety_rules() -> SafetyRules:
    """The rules of English; those of every language are read, once in a process. Raises SafetyInvalid."""
    for language, _ in settings.LANGUAGES:
        safety.load(language)
    return safety.load()


def build_noticing(alerts: AlertBuffer) -> Noticing:
    """What reads messages and replies by the rules. Raises SafetyInvalid."""
    rules = build_safety_rules()
    return Noticing(
        rules,
        # People write English too, whatever language they have chosen.
        translations={
            language: SeveralRules([language, "en"], [safety.load(language), rules])
            for language in get_languages()
            if language != "en"
        },
        on_broken=lambda rule: alerts.add(AlertKind.SAFETY_RULE_BROKEN, rule),
    )


def build_second_reader(
    pool: AsyncConnectionPool[Any], caller: Caller, routing: Routing, alerts: AlertBuffer
) -> SecondReader | None:
    """What reads messages after they were stored; None: it is off. Raises RoutingFileInvalid for an unknown lane."""
    name = settings.COMPANION_SECOND_READING_LANE
    if not name:
        return None
    if name not in routing.lanes:
        known = ", ".join(routing.lanes)
        raise RoutingFileInvalid(
            f"COMPANION_SECOND_READING_LANE: no lane is called {name!r}. Name one of: {known}."
        )
    rules = build_safety_rules()
    policy = SecondReadingPolicy(
        lane=routing.lanes[name],
        question=rules.second_reading,
        version=rules.version,
        calls_per_minute=settings.COMPANION_SECOND_READING_CALLS,
        seconds=settings.COMPANION_SECOND_READING_S,
    )
    return SecondReader(
        pool,
        caller,
        policy,
        on_trouble=lambda code: alerts.add(AlertKind.SECOND_READING, f"lane {name}, {code}"),
    )
