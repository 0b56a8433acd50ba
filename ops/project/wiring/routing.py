"""Lanes and presets, and what selects among them."""

from functools import cache
from pathlib import Path

from django.conf import settings

from ops.selections.board import build_concerns
from ops.selections.last_known_good import LastKnownGood
from ops.selections.selector import Selector
from routing import lanes


@cache
def build_routing() -> lanes.Routing:
    """The file that COMPANION_ROUTING names, or the rehearsal provider; read once. Raises RoutingFileInvalid."""
    if settings.COMPANION_ROUTING:
        return lanes.load(Path(settings.COMPANION_ROUTING))
    return lanes.rehearsal_routing(settings.REHEARSAL_URL)


def build_selector(routing: lanes.Routing) -> Selector:
    """Selects presets for people: on pages and in commands."""
    return Selector(
        routing, concerns_about=build_concerns(routing), copy_version=lambda: build_copy(routing).version
    )


def build_copy(routing: lanes.Routing) -> LastKnownGood:
    """The copy of the selection on this machine's disk."""
    return LastKnownGood(settings.COMPANION_STATE_DIR, routing)
