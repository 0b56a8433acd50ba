"""The figures of the moment, from the rows themselves: one query for the ops page, /ops/status.json and /metrics."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from companion.turn_conditions import is_live
from ops.minutes import LastHour, get_last_hour
from ops.stack.version import VERSION
from ops.status.held_questions import IS_HELD
from ops.status.rules import ServiceRule

MAX_COUNTED = 500
"""Waiting turns and held questions are counted up to this: staff pages count them once a second."""

# The longest wait is among the first live turns, in the order of the index `turn_live`.
FIGURES = f"""
SELECT
    (SELECT count(*) FROM companion_turn WHERE state = 'speaking'),
    (SELECT count(*) FROM (SELECT FROM companion_turn WHERE state = 'waiting' LIMIT {MAX_COUNTED + 1}) counted),
    (SELECT coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0)::float8
       FROM (SELECT state, created_at FROM companion_turn t WHERE {is_live("t")}
             ORDER BY id LIMIT {MAX_COUNTED}) front WHERE state = 'waiting'),
    (SELECT count(*) FROM (SELECT FROM companion_turn t WHERE {IS_HELD}
                           ORDER BY t.held_until LIMIT {MAX_COUNTED + 1}) counted),
    (SELECT extract(epoch FROM clock_timestamp() - at)::float8 FROM ops_round WHERE job = 'send_alerts'),
    (SELECT jsonb_build_object('value', value, 'by', by, 'reason', reason, 'at', at)
       FROM companion_ceiling ORDER BY id DESC LIMIT 1),
    (SELECT jsonb_agg(jsonb_build_object(
        'id', p.id,
        'in_flight', coalesce(speaking.turns, 0),
        'sockets', p.sockets,
        'routing_version', p.routing_version,
        'preset', p.preset,
        'routing_hash', p.routing_hash,
        'persona_version', p.persona_version,
        'documents_refused', p.documents_refused,
        'conditions', p.conditions,
        'age_s', round(extract(epoch FROM clock_timestamp() - p.started_at)),
        'draining', p.draining,
        'beat_age_s', round(extract(epoch FROM clock_timestamp() - p.beat_at)::numeric, 1)) ORDER BY p.started_at)
       FROM companion_process p
       LEFT JOIN (SELECT owner, count(*) AS turns FROM companion_turn WHERE state = 'speaking' GROUP BY owner) speaking
         ON speaking.owner = p.id
       WHERE p.beat_at > clock_timestamp() - interval '10 minutes'),
    (SELECT jsonb_object_agg(kind, n) FROM (
        SELECT kind, count(*) AS n FROM ops_alert WHERE acknowledged_at IS NULL GROUP BY kind) list_open_alerts),
    (SELECT jsonb_object_agg(ways, n) FROM (
        SELECT cardinality(sent_by) AS ways, count(*) AS n FROM ops_alert
        WHERE acknowledged_at IS NULL AND sendings > 1 GROUP BY 1) tried)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class StatusSettings:
    """What the figures are compared with: settings, routing, the last drill, usage."""

    ceiling: int
    """As the environment sets it. A ceiling that operators have set takes its place."""
    wait_ceiling_s: int
    hold_s: int
    persona: dict[str, str]
    routing: dict[str, Any]
    preset_ceiling: int | None = None
    alert_transports: int = 0
    """How many transports send alerts: one for each e-mail address, and the webhook."""
    drill: Mapping[str, str | None] = field(default_factory=dict)
    """When a backup was last drilled, with which verdict, and when the next drill is due."""
    usage: Sequence[Mapping[str, Any]] = ()
    """The usage of each lane today and yesterday."""
    rules: tuple[ServiceRule, ...] = ()
    flags: Mapping[str, Any] = field(default_factory=dict)
    """Open flags, and how soon flags were seen, accepted and closed; see `ops.supervision.figures`."""


def get_status(settings: StatusSettings, hour: LastHour | None = None) -> dict[str, Any]:
    """The document of /ops/status.json. `hour` is the last hour, where the caller has it. Uses Django's connection."""
    with connection.cursor() as cursor:
        cursor.execute(FIGURES)
        row = cursor.fetchone()
    return build_status(row, settings, hour or get_last_hour())


def build_status(row: tuple[Any, ...], settings: StatusSettings, hour: LastHour) -> dict[str, Any]:
    """The document from the row that FIGURES gives, the last hour and the settings."""
    in_flight, waiting, oldest_s, held, looked_s, *documents = row
    operators, processes, alerts, tried = (_parse_json(value) or {} for value in documents)
    chosen, preset = operators.get("value"), settings.preset_ceiling
    return {
        "version": VERSION,
        "in_flight": in_flight,
        "ceiling": compute_ceiling(setting=settings.ceiling, operators=chosen, preset=preset),
        # Where it comes from. A lane's own limit applies as well, to the turns on that lane.
        "ceiling_from": {
            "setting": settings.ceiling,
            "operators": chosen,
            "preset": preset,
            **{name: operators.get(name, "") for name in ("by", "reason", "at")},
        },
        "waiting": min(waiting, MAX_COUNTED),
        "oldest_wait_s": round(oldest_s, 1),
        "wait_ceiling_s": settings.wait_ceiling_s,
        "hold_s": settings.hold_s,
        "held_questions": min(held, MAX_COUNTED),
        # These are counted up to a limit, and there are more.
        "counted_in_part": [
            name for name, count in (("waiting", waiting), ("held_questions", held)) if count > MAX_COUNTED
        ],
        "last_hour": {
            state: hour.states.get(state, 0) for state in ("complete", "paused", "refused", "stopped")
        },
        # During an outage these two name its cause: why replies broke off, and how the calls to each lane ended.
        "paused_last_hour_by_reason": dict(hour.reasons),
        "attempts_last_hour_by_lane": {lane: dict(ends) for lane, ends in hour.attempts.items()},
        "first_word_ms": {"p50": hour.p50_ms, "p95": hour.p95_ms},
        "processes": processes or [],
        "alerts": {
            "open": dict(sorted(alerts.items())),
            # The worker does this every ten seconds. None: it never has.
            "looked_through_s": None if looked_s is None else round(looked_s, 1),
            # Tried more than once, and still not sent by every transport.
            "unsent": sum(n for ways, n in tried.items() if int(ways) < settings.alert_transports),
            "ways": settings.alert_transports,
        },
        "routing": settings.routing,
        "drill": dict(settings.drill),
        # Days of UTC. None: the provider reports no tokens, or the routing file has no price.
        "usage": [dict(day) for day in settings.usage],
        "flags": dict(settings.flags),
        "persona": settings.persona,
        "settings": {rule.name: rule.value for rule in settings.rules},
    }


def compute_ceiling(*, setting: int, operators: int | None, preset: int | None) -> int:
    """The operators' ceiling, else the setting; the preset's where that is lower."""
    chosen = setting if operators is None else operators
    return chosen if preset is None else min(chosen, preset)


def _parse_json(value: Any) -> Any:
    # Django's cursors hand JSON over as text.
    return json.loads(value) if isinstance(value, str) else value
