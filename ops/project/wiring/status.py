"""The figures of the moment: for pages, and for the sockets of staff."""

import time
from dataclasses import replace
from functools import cache

from django.conf import settings
from django.db import connection

from ops.backups.reporting import records
from ops.project.wiring.pools import STAFF_CONNECTIONS, build_pool
from ops.project.wiring.routing import build_routing
from ops.project.wiring.turns import build_turn_policy
from ops.selections.board import board_summary, read_board
from ops.socket_access import StaffSessions
from ops.staff.dashboard_page import get_turn_url
from ops.status.caching import BackgroundValue, CachedValue
from ops.status.figures import StatusSettings
from ops.status.live import LiveStatus
from ops.status.rules import POLICY_MEANINGS, list_rules
from ops.status.usage import list_usage
from ops.supervision.figures import build_document
from routing import lanes


@cache
def build_facts() -> StatusSettings:
    """What the figures of the moment are held against, and every rule the service runs by."""
    policy, routing = build_turn_policy(), build_routing()
    numbers = {
        setting.name: setting.meaning for setting in settings.DECLARED_SETTINGS if setting.low is not None
    }
    values = {name: getattr(settings, name) for name in numbers}
    values |= {name: getattr(policy, name) for name in POLICY_MEANINGS}
    return StatusSettings(
        ceiling=policy.ceiling,
        wait_ceiling_s=settings.COMPANION_WAIT_CEILING_S,
        hold_s=settings.COMPANION_HOLD_S,
        persona={"name": policy.character, "version": policy.persona_version},
        routing={
            "version": 0,
            "preset": lanes.NORMAL,
            "chain": [],
            "scripted": routing.is_rehearsed,
            "routing_hash": routing.file_hash,
            "normal_weakness": routing.weakness(lanes.NORMAL),
        },
        preset_ceiling=routing.presets[lanes.NORMAL].ceiling,
        alert_transports=len(settings.ALERT_EMAIL) + bool(settings.ALERT_WEBHOOK_URL),
        rules=tuple(list_rules(values, {**numbers, **POLICY_MEANINGS})),
    )


def facts_now() -> StatusSettings:
    """The same, with the chain that is in force and how its lanes are. For pages: uses Django's connection."""
    seen = read_board(build_routing())
    ceiling = build_routing().presets[seen.preset].ceiling
    return replace(
        build_facts(),
        routing=dict(board_summary(seen)),
        preset_ceiling=ceiling,
        drill=records.make_status(settings.COMPANION_STATE_DIR),
        usage=tuple(day.build_document() for day in list_usage(2)),
        flags=_flag_figures(),
    )


_flag_figures = CachedValue(
    lambda: build_document(target_s=settings.COMPANION_FLAG_TARGET_S), for_s=15.0, now=time.monotonic
)
"""Figures of weeks need not be of this second."""


def build_facts_lately() -> BackgroundValue[StatusSettings]:
    """The same for an event loop, which may not wait for Django's connection: as it was a moment ago."""

    def read() -> StatusSettings:
        try:
            return facts_now()
        finally:
            connection.close()

    return BackgroundValue(read, first=build_facts(), for_s=2.0, now=time.monotonic)


def build_live() -> LiveStatus:
    """The figures that staff watch on one process. Its pool is its own: watching takes no connection from a reply."""
    pool = build_pool("companion staff", max_size=STAFF_CONNECTIONS)
    return LiveStatus(pool, StaffSessions(pool), settings=build_facts_lately(), turn_url=get_turn_url)
