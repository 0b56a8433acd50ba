"""The SQL of alerts: every statement that inserts one. Pages, the worker and web processes run the same statements.

Parameters are cast, because not every caller's driver sends their types.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from ops.alerts.kinds import DAILY, AlertKind
from routing.lanes import NORMAL
from routing.selection import ALERT_AFTER, LATELY

# An open alert that is raised again stays one row. It is sent anew if it was last sent long ago: `send_at` lies at
# most an hour after the last sending.
_COUNT = """
ON CONFLICT (kind, about) WHERE acknowledged_at IS NULL
DO UPDATE SET count = a.count + excluded.count, last_at = LAST_AT,
    site_id = excluded.site_id, turn = excluded.turn,
    sent_by = CASE WHEN a.send_at < clock_timestamp() - %(resend_after)s::interval THEN '{}' ELSE a.sent_by END,
    sendings = CASE WHEN a.send_at < clock_timestamp() - %(resend_after)s::interval THEN 0 ELSE a.sendings END,
    send_at = CASE WHEN a.send_at < clock_timestamp() - %(resend_after)s::interval
              THEN clock_timestamp() ELSE a.send_at END
"""
_COUNT_NOW = _COUNT.replace("LAST_AT", "clock_timestamp()")
_COUNT_AS_OF_CAUSE = _COUNT.replace("LAST_AT", "excluded.last_at")

# An alert that was closed a moment ago and is raised again stands on the pages at once. It is sent after a quiet
# time, because its cause is known. `cause` gives kind and about.
_SEND_AT = """
greatest(clock_timestamp(), %(quiet_after)s::interval + (
    SELECT closed.acknowledged_at FROM ops_alert closed
    WHERE closed.kind = cause.kind AND closed.about = cause.about AND closed.acknowledged_at IS NOT NULL
    ORDER BY closed.id DESC LIMIT 1))
"""

RAISE = f"""
INSERT INTO ops_alert AS a (kind, about, count, site_id, send_at)
SELECT cause.kind, cause.about, %(times)s::int, %(site)s::bigint, {_SEND_AT}
FROM (SELECT %(kind)s::text AS kind, %(about)s::text AS about) AS cause
{_COUNT_NOW}
"""

# About the site of a turn; the row names the last such turn.
RAISE_FOR_TURN = f"""
INSERT INTO ops_alert AS a (kind, about, site_id, turn, send_at)
SELECT cause.kind, cause.about, cause.site_id, cause.turn, {_SEND_AT}
FROM (
    SELECT %(kind)s::text AS kind, site.slug AS about, site.id AS site_id, turn.id AS turn
    FROM companion_turn turn
    JOIN companion_conversation conversation ON conversation.id = turn.conversation_id
    JOIN companion_participant person ON person.id = conversation.participant_id
    JOIN companion_site site ON site.id = person.site_id
    WHERE turn.id = %(turn)s
) AS cause
{_COUNT_NOW}
"""

# `last_at` is the end of the last minute that was counted: earlier minutes are never counted again. Two processes may
# run this at once; the second finds that the row has counted these minutes already.
RAISE_FOR_ENDINGS = f"""
WITH uncounted AS (
    SELECT minute.at, (SELECT coalesce(sum(counted.value::int), 0)
                       FROM jsonb_each_text(minute.figures -> %(part)s::text) counted
                       WHERE counted.key = ANY(%(names)s::text[])) AS turns
    FROM ops_minutefigures minute
    WHERE minute.at >= greatest(clock_timestamp() - interval '1 hour', (
        SELECT last.last_at FROM ops_alert last WHERE last.kind = %(kind)s::text AND last.about = %(about)s::text
        ORDER BY last.id DESC LIMIT 1))
),
cause AS (
    SELECT %(kind)s::text AS kind, %(about)s::text AS about, sum(turns)::int AS turns,
           min(at) AS first_at, max(at) + interval '1 minute' AS last_at
    FROM uncounted WHERE turns > 0 HAVING count(*) > 0
)
INSERT INTO ops_alert AS a (kind, about, count, first_at, last_at, send_at)
SELECT kind, about, turns, first_at, last_at, {_SEND_AT} FROM cause
{_COUNT_AS_OF_CAUSE}
WHERE a.last_at < excluded.last_at
"""


def raise_while(query: str) -> str:
    """A statement that raises an alert for each `about` that `query` finds, and closes open ones it finds no more.

    One that the service closed is raised again after an hour, one that an operator closed after `resend_after`.
    """
    return f"""
WITH cause AS MATERIALIZED (SELECT DISTINCT left(about, 100) AS about FROM ({query}) AS found),
over AS (
    UPDATE ops_alert SET acknowledged_at = clock_timestamp(), acknowledged_by = %(closed_by_service)s::text
    WHERE kind = %(kind)s::text AND acknowledged_at IS NULL AND about NOT IN (SELECT about FROM cause)
)
INSERT INTO ops_alert AS a (kind, about)
SELECT %(kind)s::text, about FROM cause
WHERE NOT EXISTS (
    SELECT 1 FROM ops_alert former WHERE former.kind = %(kind)s::text AND former.about = cause.about
    AND former.last_at > clock_timestamp() - CASE WHEN former.acknowledged_by = %(closed_by_service)s::text
                                             THEN interval '1 hour' ELSE %(resend_after)s::interval END)
{_COUNT_NOW}"""


CLOSED_BY_SERVICE = "the service"
"""Stands where the name of an operator would, for alerts whose cause is over."""

WORKER_TIMEOUT = timedelta(minutes=2)
"""A worker that has not run the send job for this long is away or hangs. It runs it every ten seconds."""

MAX_LISTED = 1_000
"""Open alerts that one read returns, the newest."""
LIST_OPEN = f"""
SELECT id, kind, about, first_at, last_at, count, site_id, turn
FROM ops_alert WHERE acknowledged_at IS NULL ORDER BY id DESC LIMIT {MAX_LISTED}
"""

# Since the first selection after the last `normal`: extending a pin does not restart its hour. Raised once.
RAISE_LONG_PIN = """
WITH pinned AS (
    SELECT min(version) AS version, min(at) AS since, (array_agg(preset ORDER BY version DESC))[1] AS preset
    FROM ops_selection
    WHERE version > (SELECT coalesce(max(version), 0) FROM ops_selection WHERE preset = %(normal)s::text)
)
INSERT INTO ops_alert (kind, about)
SELECT %(pin_long)s::text, preset || ', since version ' || version FROM pinned
WHERE since <= clock_timestamp() - %(alert_after)s::interval
  AND NOT EXISTS (SELECT 1 FROM ops_alert WHERE kind = %(pin_long)s::text
                  AND right(about, length(', since version ' || pinned.version)) = ', since version ' || pinned.version)
ON CONFLICT DO NOTHING
"""

# Before the first drill, the first processes get an hour. Raised once a day while it lasts.
RAISE_OVERDUE_DRILL = f"""
INSERT INTO ops_alert AS a (kind, about)
SELECT %(drill_overdue)s::text, 'the fallback drill'
WHERE coalesce((SELECT max(at) FROM ops_laneprobe WHERE how = 'drill') + %(lately)s::interval,
               (SELECT min(started_at) FROM companion_process) + %(first_drill)s::interval) < clock_timestamp()
  AND NOT EXISTS (SELECT 1 FROM ops_alert WHERE kind = %(drill_overdue)s::text
                  AND last_at > clock_timestamp() - %(lately)s::interval)
{_COUNT_NOW}
"""

SEND_JOB = "send_alerts"
"""The name under which the rounds of the job that sends alerts are kept."""
BACKUP_JOB = "backup"
"""The name under which the last successful backup is kept beside the jobs."""
RECORD_ROUND = """
INSERT INTO ops_round (job, at) VALUES (%(job)s::text, clock_timestamp())
ON CONFLICT (job) DO UPDATE SET at = excluded.at
"""

# Raised by the web processes. Before the worker's first round, the first processes get an hour.
RAISE_WORKER_AWAY = """
INSERT INTO ops_alert (kind, about)
SELECT %(worker_away)s::text, 'more than two minutes'
WHERE coalesce((SELECT at FROM ops_round WHERE job = %(sending)s::text) + %(away)s::interval,
               (SELECT min(started_at) FROM companion_process) + %(first_drill)s::interval) < clock_timestamp()
ON CONFLICT DO NOTHING
"""

# Compared with the last turn: the process that answered it had another file in its language. Raised once for each
# change, and at most once an hour: while two releases run side by side, each finds the other's turns.
RAISE_PERSONA_CHANGED = f"""
WITH step AS (
    SELECT persona_version || ' to ' || %(persona)s::text AS about, created_at
    FROM (SELECT persona_version, created_at FROM companion_turn ORDER BY id DESC LIMIT 1) last
    WHERE persona_version <> ALL(%(personas)s::text[])
)
INSERT INTO ops_alert AS a (kind, about)
SELECT %(persona_changed)s::text, about FROM step
WHERE NOT EXISTS (SELECT 1 FROM ops_alert former
                  WHERE former.kind = %(persona_changed)s::text AND former.about = step.about
                  AND former.last_at > least(step.created_at, clock_timestamp() - interval '1 hour'))
{_COUNT_NOW}
"""

# A common table expression, so that a pin's end and its alert are one statement. `ended` gives version and preset.
RAISE_FOR_ENDED_PIN = """
INSERT INTO ops_alert AS a (kind, about)
SELECT %(reverted)s::text, 'version ' || version || ' (' || preset || ')' FROM ended
ON CONFLICT (kind, about) WHERE acknowledged_at IS NULL
DO UPDATE SET count = a.count + 1, last_at = clock_timestamp()
"""


def raise_params(
    kind: AlertKind, about: str, *, times: int = 1, site: int | None = None
) -> Mapping[str, Any]:
    return {**timing_params(kind), "about": about[:100], "times": times, "site": site}


def raise_for_turn_params(kind: AlertKind, turn: int) -> Mapping[str, Any]:
    return {**timing_params(kind), "turn": turn}


def timing_params(kind: AlertKind) -> Mapping[str, Any]:
    """The kind, and the times that decide when it is sent."""
    return {"kind": kind.value, "resend_after": kind.resend_after, "quiet_after": kind.quiet_after}


def watch_params(persona_versions: Sequence[str] = ()) -> Mapping[str, Any]:
    """The parameters of RAISE_LONG_PIN, RAISE_OVERDUE_DRILL, RAISE_WORKER_AWAY and RAISE_PERSONA_CHANGED."""
    return {
        "normal": NORMAL,
        "alert_after": ALERT_AFTER,
        "lately": LATELY,
        "first_drill": timedelta(hours=1),
        "persona": persona_versions[0] if persona_versions else "",
        "personas": list(persona_versions),
        "resend_after": DAILY,
        "sending": SEND_JOB,
        "away": WORKER_TIMEOUT,
        **{
            kind.value: kind.value
            for kind in (
                AlertKind.PIN_LONG,
                AlertKind.DRILL_OVERDUE,
                AlertKind.PERSONA_CHANGED,
                AlertKind.WORKER_AWAY,
            )
        },
    }
