"""What lasts: each condition is one query, told of while the query finds something, and closed when it does not.

Web processes look once a minute. What was closed by itself is told of again an hour later at the earliest, so that a
condition that comes and goes fills no mailbox; what an operator has seen, a day later.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from ops.alerts.kinds import DAILY, Kind
from ops.alerts.statements import BACKUP, COMES_AGAIN

BY_ITSELF = "the service"
"""Stands where the name of an operator would, for alerts whose cause is over."""
NOT_REAL = ("willow-house", "bench")
"""Sites of people who are made up; those of load tests besides."""
LOAD_TESTS = "load-test-%"

PAUSES_WITHIN_MIN = 15
PAUSES_AT_LEAST = 3
PAUSES_PERCENT = 10
"""Many pauses: at least so many in so many minutes, and so many of a hundred turns that were answered or paused.

Not counted: what a provider refused, which is told of for itself, and people who had left.
"""
QUEUE_STANDS_MIN = 5
"""The waiting room does not empty: somebody waited at the end of each of so many minutes."""
BACKUP_WITHIN = timedelta(hours=26)
"""A backup each night, and two hours for a slow one."""

# Minutes are kept once they are over: see `ops.minutes`.
_KEPT = """
minute.at < date_trunc('minute', clock_timestamp() - interval '20 seconds')
AND minute.at >= date_trunc('minute', clock_timestamp() - interval '20 seconds')
"""
_REAL_PEOPLE = """
FROM companion_participant person JOIN companion_site site ON site.id = person.site_id
WHERE person.is_active AND site.is_open AND site.slug <> ALL(%(not_real)s::text[])
  AND site.slug NOT LIKE %(load_tests)s::text
"""

_LIVE = "p.beat_at > clock_timestamp() - interval '15 seconds' AND NOT p.draining"
# While a release is rolled out, processes differ for as long as it takes.
_SETTLED = f"{_LIVE} AND p.started_at < clock_timestamp() - interval '2 minutes'"
_SAID = f"""
SELECT substr(said, length(%(kind)s::text) + 2) AS about
FROM companion_process p, unnest(p.conditions) AS said
WHERE {_LIVE} AND said LIKE %(kind)s::text || ' _%%'
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lasting:
    """A condition. `query` gives one row with a column `about` for each thing it is true of."""

    kind: Kind
    query: str

    @property
    def statement(self) -> str:
        """Closes what is over, and tells of what is so."""
        return f"""
WITH cause AS MATERIALIZED (SELECT DISTINCT left(about, 100) AS about FROM ({self.query}) AS found),
over AS (
    UPDATE ops_alert SET acknowledged_at = clock_timestamp(), acknowledged_by = %(by_itself)s::text
    WHERE kind = %(kind)s::text AND acknowledged_at IS NULL AND about NOT IN (SELECT about FROM cause)
)
INSERT INTO ops_alert AS a (kind, about)
SELECT %(kind)s::text, about FROM cause
WHERE NOT EXISTS (
    SELECT 1 FROM ops_alert said WHERE said.kind = %(kind)s::text AND said.about = cause.about
    AND said.last_at > clock_timestamp() - CASE WHEN said.acknowledged_by = %(by_itself)s::text
                                           THEN interval '1 hour' ELSE %(again_after)s::interval END)
{COMES_AGAIN}"""

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the statement takes."""
        return {
            "kind": self.kind.value,
            "by_itself": BY_ITSELF,
            "again_after": DAILY,
            "not_real": list(NOT_REAL),
            "load_tests": LOAD_TESTS,
            "pauses_within_min": PAUSES_WITHIN_MIN,
            "pauses_at_least": PAUSES_AT_LEAST,
            "pauses_percent": PAUSES_PERCENT,
            "queue_stands_min": QUEUE_STANDS_MIN,
            "backup": BACKUP,
            "backup_within": BACKUP_WITHIN,
        }


LASTING = (
    Lasting(kind=Kind.FILE_REFUSED, query=_SAID),
    Lasting(kind=Kind.FILE_CHANGED, query=_SAID),
    Lasting(kind=Kind.NO_FALLBACK, query=_SAID),
    Lasting(kind=Kind.WINDOW_TOO_SMALL, query=_SAID),
    Lasting(
        kind=Kind.SCRIPTED_REPLIES,
        query=f"{_SAID} AND EXISTS (SELECT 1 {_REAL_PEOPLE})",
    ),
    Lasting(
        kind=Kind.CHECK_FAILED,
        query="""
SELECT last.preset AS about FROM (
    SELECT preset, ok FROM ops_contractcheck WHERE preset = 'normal' ORDER BY id DESC LIMIT 1) last
WHERE NOT last.ok""",
    ),
    # Where there has been none yet, the first processes get a day's time. Scripted replies need no check.
    Lasting(
        kind=Kind.CHECK_OVERDUE,
        query=f"""
SELECT 'normal' AS about
WHERE EXISTS (SELECT 1 FROM companion_process p WHERE {_LIVE} AND p.routing_hash <> '')
  AND coalesce((SELECT at FROM ops_contractcheck WHERE preset = 'normal' ORDER BY id DESC LIMIT 1)
               + interval '3 days',
               (SELECT min(started_at) FROM companion_process) + interval '1 day') < clock_timestamp()""",
    ),
    # Days begin at midnight UTC. A day with few replies has no lane that carries it.
    Lasting(
        kind=Kind.CHEAPER_LANE,
        query="""
SELECT d.lane || ' in place of ' || d.cheaper_than AS about FROM ops_laneday d
WHERE d.day = (clock_timestamp() AT TIME ZONE 'UTC')::date AND d.cheaper_than <> '' AND d.replies_unmarked >= 20
  AND d.replies_unmarked * 2 > (SELECT sum(replies) FROM ops_laneday every WHERE every.day = d.day)""",
    ),
    Lasting(kind=Kind.PERSONA_UNAPPROVED, query=f"{_SAID} AND EXISTS (SELECT 1 {_REAL_PEOPLE})"),
    Lasting(kind=Kind.PERSONA_OVERDUE, query=f"{_SAID} AND EXISTS (SELECT 1 {_REAL_PEOPLE})"),
    Lasting(
        kind=Kind.PROCESSES_DIFFER,
        query=f"""
SELECT 'routing file' AS about FROM companion_process p WHERE {_SETTLED} HAVING count(DISTINCT p.routing_hash) > 1
UNION ALL
SELECT 'character' FROM companion_process p WHERE {_SETTLED} HAVING count(DISTINCT p.persona_version) > 1""",
    ),
    Lasting(
        kind=Kind.SELECTION_UNRECORDED,
        query=f"""
SELECT 'version ' || p.routing_version || ' (' || p.preset || ')' AS about FROM companion_process p
WHERE {_LIVE} AND p.routing_version > (SELECT coalesce(max(version), 0) FROM ops_selection)""",
    ),
    Lasting(
        kind=Kind.MANY_PAUSES,
        query=f"""
SELECT %(pauses_percent)s::int || ' of 100 or more, in ' || %(pauses_within_min)s::int || ' minutes' AS about
FROM (
    SELECT sum(coalesce((figures #>> '{{states,complete}}')::int, 0)) AS complete,
           sum(coalesce((figures #>> '{{states,paused}}')::int, 0)
               - coalesce((figures #>> '{{reasons,refused}}')::int, 0)
               - coalesce((figures #>> '{{reasons,away}}')::int, 0)) AS paused
    FROM ops_minutefigures minute WHERE {_KEPT} - make_interval(mins => %(pauses_within_min)s::int)
) ended
WHERE paused >= %(pauses_at_least)s::int AND 100 * paused >= %(pauses_percent)s::int * (paused + complete)""",
    ),
    Lasting(
        kind=Kind.STANDING_QUEUE,
        query=f"""
SELECT 'somebody has waited for ' || %(queue_stands_min)s::int || ' minutes or more' AS about
FROM ops_minutefigures minute
WHERE {_KEPT} - make_interval(mins => %(queue_stands_min)s::int) AND (figures #>> '{{levels,3}}')::int > 0
HAVING count(*) >= %(queue_stands_min)s::int""",
    ),
    Lasting(
        kind=Kind.BACKUP_OLD,
        query=f"""
SELECT CASE WHEN made.at IS NULL THEN 'none was ever made' ELSE 'the last is of ' || to_char(
           made.at AT TIME ZONE 'UTC', 'YYYY-MM-DD') END AS about
FROM (SELECT (SELECT at FROM ops_round WHERE job = %(backup)s::text) AS at) made
WHERE coalesce(made.at, (SELECT min(person.created_at) {_REAL_PEOPLE}))
      < clock_timestamp() - %(backup_within)s::interval
  AND EXISTS (SELECT 1 {_REAL_PEOPLE})""",
    ),
)
