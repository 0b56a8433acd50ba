"""The SQL of alerts, the same for pages, worker and web processes. Types are named: not every caller sends them."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from ops.alerts.kinds import DAILY, Kind, again_after, quiet_after
from routing.lanes import NORMAL
from routing.selection import ALERT_AFTER, LATELY

# An open alert that comes again is the same row. It goes out anew if it last went out long ago: `send_at` lies at
# most an hour after the last sending.
_AGAIN = """
ON CONFLICT (kind, about) WHERE acknowledged_at IS NULL
DO UPDATE SET count = a.count + excluded.count, last_at = LAST_AT,
    site_id = excluded.site_id, turn = excluded.turn,
    sent_by = CASE WHEN a.send_at < clock_timestamp() - %(again_after)s::interval THEN '{}' ELSE a.sent_by END,
    sendings = CASE WHEN a.send_at < clock_timestamp() - %(again_after)s::interval THEN 0 ELSE a.sendings END,
    send_at = CASE WHEN a.send_at < clock_timestamp() - %(again_after)s::interval
              THEN clock_timestamp() ELSE a.send_at END
"""
COMES_AGAIN = _AGAIN.replace("LAST_AT", "clock_timestamp()")
COMES_AGAIN_AS_OF = _AGAIN.replace("LAST_AT", "excluded.last_at")
"""The same for a cause that is told of some time after it came."""

# An alert that was closed a moment ago and is raised again stands on the pages at once, and goes out after a quiet
# time: its cause is known. `cause` gives kind and about.
AFTER_QUIET = """
greatest(clock_timestamp(), %(quiet)s::interval + (
    SELECT closed.acknowledged_at FROM ops_alert closed
    WHERE closed.kind = cause.kind AND closed.about = cause.about AND closed.acknowledged_at IS NOT NULL
    ORDER BY closed.id DESC LIMIT 1))
"""

RAISE = (
    f"""
INSERT INTO ops_alert AS a (kind, about, count, send_at)
SELECT cause.kind, cause.about, %(times)s::int, {AFTER_QUIET}
FROM (SELECT %(kind)s::text AS kind, %(about)s::text AS about) AS cause
"""
    + COMES_AGAIN
)

# About the site of a turn; the row names the last such turn.
RAISE_OF_TURN = (
    f"""
INSERT INTO ops_alert AS a (kind, about, site_id, turn, send_at)
SELECT cause.kind, cause.about, cause.site_id, cause.turn, {AFTER_QUIET}
FROM (
    SELECT %(kind)s::text AS kind, site.slug AS about, site.id AS site_id, turn.id AS turn
    FROM companion_turn turn
    JOIN companion_conversation conversation ON conversation.id = turn.conversation_id
    JOIN companion_participant person ON person.id = conversation.participant_id
    JOIN companion_site site ON site.id = person.site_id
    WHERE turn.id = %(turn)s
) AS cause
"""
    + COMES_AGAIN
)

AWAY_AFTER = timedelta(minutes=2)
"""A worker that has not looked through the alerts for so long is away, or hangs. It does so every ten seconds."""

OPEN = """
SELECT id, kind, about, first_at, last_at, count, site_id, turn
FROM ops_alert WHERE acknowledged_at IS NULL ORDER BY id DESC
"""

# Since the first selection after the last `normal`: extending a pin does not begin its hour anew. Told once.
PIN_IS_LONG = """
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

# Where there has been none yet, the first processes get an hour's time. Told once a day, as long as it is so.
DRILL_IS_OVERDUE = (
    """
INSERT INTO ops_alert AS a (kind, about)
SELECT %(drill_overdue)s::text, 'the fallback drill'
WHERE coalesce((SELECT max(at) FROM ops_laneprobe WHERE how = 'drill') + %(lately)s::interval,
               (SELECT min(started_at) FROM companion_process) + %(first_drill)s::interval) < clock_timestamp()
  AND NOT EXISTS (SELECT 1 FROM ops_alert WHERE kind = %(drill_overdue)s::text
                  AND last_at > clock_timestamp() - %(lately)s::interval)
"""
    + COMES_AGAIN
)

SENDING = "send_alerts"
"""The job that looks through the alerts, as its rounds are kept."""
BACKUP = "backup"
"""The command that makes backups, as its last success is kept beside the jobs."""
WENT_ROUND = """
INSERT INTO ops_round (job, at) VALUES (%(job)s::text, clock_timestamp())
ON CONFLICT (job) DO UPDATE SET at = excluded.at
"""

# Told of by the web processes. Where no worker has ever been, the first processes get an hour's time.
WORKER_IS_AWAY = """
INSERT INTO ops_alert (kind, about)
SELECT %(worker_away)s::text, 'more than two minutes'
WHERE coalesce((SELECT at FROM ops_round WHERE job = %(sending)s::text) + %(away)s::interval,
               (SELECT min(started_at) FROM companion_process) + %(first_drill)s::interval) < clock_timestamp()
ON CONFLICT DO NOTHING
"""

# Against the last turn: whoever answered it had another file. Told once for each time that this step is taken, and at
# most once an hour: while two releases run side by side, each finds the other's turns.
PERSONA_IS_ANOTHER = (
    """
WITH step AS (
    SELECT persona_version || ' to ' || %(persona)s::text AS about, created_at
    FROM (SELECT persona_version, created_at FROM companion_turn ORDER BY id DESC LIMIT 1) last
    WHERE persona_version <> %(persona)s::text
)
INSERT INTO ops_alert AS a (kind, about)
SELECT %(persona_changed)s::text, about FROM step
WHERE NOT EXISTS (SELECT 1 FROM ops_alert told WHERE told.kind = %(persona_changed)s::text AND told.about = step.about
                  AND told.last_at > least(step.created_at, clock_timestamp() - interval '1 hour'))
"""
    + COMES_AGAIN
)


def facts(kind: Kind, about: str, *, times: int = 1) -> Mapping[str, Any]:
    """What RAISE takes."""
    return {**_timing(kind), "about": about[:100], "times": times}


def facts_of_turn(kind: Kind, turn: int) -> Mapping[str, Any]:
    """What RAISE_OF_TURN takes."""
    return {**_timing(kind), "turn": turn}


def _timing(kind: Kind) -> Mapping[str, Any]:
    return {"kind": kind.value, "again_after": again_after(kind), "quiet": quiet_after(kind)}


def watching(persona_version: str = "") -> Mapping[str, Any]:
    """What the other statements take."""
    return {
        "normal": NORMAL,
        "alert_after": ALERT_AFTER,
        "lately": LATELY,
        "first_drill": timedelta(hours=1),
        "persona": persona_version,
        "again_after": DAILY,
        "sending": SENDING,
        "away": AWAY_AFTER,
        **{
            kind.value: kind.value
            for kind in (Kind.PIN_LONG, Kind.DRILL_OVERDUE, Kind.PERSONA_CHANGED, Kind.WORKER_AWAY)
        },
    }
