"""Conditions that last, a query each. An alert is open while its query finds something.

Web processes run them once a minute.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from ops.alerts.kinds import DAILY, AlertKind
from ops.alerts.statements import BACKUP_JOB, CLOSED_BY_SERVICE, raise_while

FLAG_REHEARSAL_SITE = "rehearsal-of-flags"
DEMO_SITES = ("willow-house", "bench", FLAG_REHEARSAL_SITE)
"""Sites without real people, besides those of load tests."""
LOAD_TESTS = "load-test-%"

PAUSES_WINDOW_MIN = 15
MIN_PAUSES = 3
PAUSES_PERCENT = 10
"""Many pauses: at least MIN_PAUSES in the window, and this percentage of the turns that were answered or paused.

Content refusals have an alert of their own, people who had left need no reply, and staff have paused on purpose: none
of them counts.
"""
QUEUE_STANDS_MIN = 5
"""The waiting room does not empty: people waited at the end of each of this many consecutive minutes."""
MAX_BACKUP_AGE = timedelta(hours=26)
"""A backup each night, and two hours for a slow one."""

# Minutes are kept once they are over: see `ops.minutes`.
_KEPT = """
minute.at < date_trunc('minute', clock_timestamp() - interval '20 seconds')
AND minute.at >= date_trunc('minute', clock_timestamp() - interval '20 seconds')
"""
_REAL_PEOPLE = """
FROM companion_participant person JOIN companion_site site ON site.id = person.site_id
WHERE person.is_active AND site.is_open AND site.slug <> ALL(%(demo_sites)s::text[])
  AND site.slug NOT LIKE %(load_tests)s::text
"""
_OPEN_SITES = "FROM companion_site site WHERE site.is_open AND site.slug NOT LIKE %(load_tests)s::text"

_LIVE = "p.beat_at > clock_timestamp() - interval '15 seconds' AND NOT p.draining"
# While a release is rolled out, processes differ for as long as it takes.
_SETTLED = f"{_LIVE} AND p.started_at < clock_timestamp() - interval '2 minutes'"
_REPORTED = f"""
SELECT substr(condition, length(%(kind)s::text) + 2) AS about
FROM companion_process p, unnest(p.conditions) AS condition
WHERE {_LIVE} AND condition LIKE %(kind)s::text || ' _%%'
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ConditionQuery:
    """A condition in the database. `query` gives a row with one column, `about`, for each thing it is true of."""

    kind: AlertKind
    query: str

    @property
    def statement(self) -> str:
        """Raises and closes the alerts of this kind."""
        return raise_while(self.query)

    @property
    def params(self) -> Mapping[str, Any]:
        """The parameters of `statement`."""
        return {
            "kind": self.kind.value,
            "closed_by_service": CLOSED_BY_SERVICE,
            "resend_after": DAILY,
            "demo_sites": list(DEMO_SITES),
            "load_tests": LOAD_TESTS,
            "pauses_window_min": PAUSES_WINDOW_MIN,
            "min_pauses": MIN_PAUSES,
            "pauses_percent": PAUSES_PERCENT,
            "queue_stands_min": QUEUE_STANDS_MIN,
            "backup": BACKUP_JOB,
            "max_backup_age": MAX_BACKUP_AGE,
        }


CONDITION_QUERIES = (
    ConditionQuery(kind=AlertKind.FILE_REFUSED, query=_REPORTED),
    ConditionQuery(kind=AlertKind.FILE_CHANGED, query=_REPORTED),
    ConditionQuery(kind=AlertKind.NO_FALLBACK, query=_REPORTED),
    ConditionQuery(kind=AlertKind.WINDOW_TOO_SMALL, query=_REPORTED),
    ConditionQuery(
        kind=AlertKind.SCRIPTED_REPLIES,
        query=f"{_REPORTED} AND EXISTS (SELECT 1 {_REAL_PEOPLE})",
    ),
    ConditionQuery(
        kind=AlertKind.CHECK_FAILED,
        query="""
SELECT last.preset AS about FROM (
    SELECT preset, ok FROM ops_contractcheck WHERE preset = 'normal' ORDER BY id DESC LIMIT 1) last
WHERE NOT last.ok""",
    ),
    # Before the first check, the first processes get a day. Scripted replies need no check.
    ConditionQuery(
        kind=AlertKind.CHECK_OVERDUE,
        query=f"""
SELECT 'normal' AS about
WHERE EXISTS (SELECT 1 FROM companion_process p WHERE {_LIVE} AND p.routing_hash <> '')
  AND coalesce((SELECT at FROM ops_contractcheck WHERE preset = 'normal' ORDER BY id DESC LIMIT 1)
               + interval '3 days',
               (SELECT min(started_at) FROM companion_process) + interval '1 day') < clock_timestamp()""",
    ),
    # Days begin at midnight UTC. With fewer than 20 replies, one lane's share says nothing.
    ConditionQuery(
        kind=AlertKind.CHEAPER_LANE,
        query="""
SELECT d.lane || ' in place of ' || d.cheaper_than AS about FROM ops_laneday d
WHERE d.day = (clock_timestamp() AT TIME ZONE 'UTC')::date AND d.cheaper_than <> '' AND d.replies_unmarked >= 20
  AND d.replies_unmarked * 2 > (SELECT sum(replies) FROM ops_laneday every WHERE every.day = d.day)""",
    ),
    ConditionQuery(
        kind=AlertKind.PERSONA_UNAPPROVED, query=f"{_REPORTED} AND EXISTS (SELECT 1 {_REAL_PEOPLE})"
    ),
    ConditionQuery(kind=AlertKind.PERSONA_OVERDUE, query=f"{_REPORTED} AND EXISTS (SELECT 1 {_REAL_PEOPLE})"),
    # Sites are few, and one that people may enter counts before its first person comes.
    ConditionQuery(
        kind=AlertKind.NO_HELPLINE,
        query=f"""
SELECT site.slug AS about {_OPEN_SITES}
AND ('' IN (site.helpline_voice, site.helpline_text, site.helpline_owner) OR site.helpline_review_by IS NULL)""",
    ),
    ConditionQuery(
        kind=AlertKind.HELPLINE_OVERDUE,
        query=f"""
SELECT site.slug || ', due on ' || site.helpline_review_by AS about {_OPEN_SITES}
AND site.helpline_review_by < (clock_timestamp() AT TIME ZONE 'UTC')::date""",
    ),
    ConditionQuery(
        kind=AlertKind.HOLD_OVERDUE,
        query="""
SELECT hold.participant_id || ', due on ' || hold.review_by AS about FROM ops_safeguardinghold hold
WHERE hold.ended_at IS NULL AND hold.review_by < (clock_timestamp() AT TIME ZONE 'UTC')::date""",
    ),
    ConditionQuery(
        kind=AlertKind.PROCESSES_DIFFER,
        query=f"""
SELECT 'routing file' AS about FROM companion_process p WHERE {_SETTLED} HAVING count(DISTINCT p.routing_hash) > 1
UNION ALL
SELECT 'character' FROM companion_process p WHERE {_SETTLED} HAVING count(DISTINCT p.persona_version) > 1""",
    ),
    ConditionQuery(
        kind=AlertKind.SELECTION_UNRECORDED,
        query=f"""
SELECT 'version ' || p.routing_version || ' (' || p.preset || ')' AS about FROM companion_process p
WHERE {_LIVE} AND p.routing_version > (SELECT coalesce(max(version), 0) FROM ops_selection)""",
    ),
    ConditionQuery(
        kind=AlertKind.MANY_PAUSES,
        query=f"""
SELECT %(pauses_percent)s::int || ' of 100 or more, in ' || %(pauses_window_min)s::int || ' minutes' AS about
FROM (
    SELECT sum(coalesce((figures #>> '{{states,complete}}')::int, 0)) AS complete,
           sum(coalesce((figures #>> '{{states,paused}}')::int, 0)
               - coalesce((figures #>> '{{reasons,refused}}')::int, 0)
               - coalesce((figures #>> '{{reasons,away}}')::int, 0)
               - coalesce((figures #>> '{{reasons,staff_pause}}')::int, 0)) AS paused
    FROM ops_minutefigures minute WHERE {_KEPT} - make_interval(mins => %(pauses_window_min)s::int)
) ended
WHERE paused >= %(min_pauses)s::int AND 100 * paused >= %(pauses_percent)s::int * (paused + complete)""",
    ),
    ConditionQuery(
        kind=AlertKind.STANDING_QUEUE,
        query=f"""
SELECT 'people have waited for ' || %(queue_stands_min)s::int || ' minutes or more' AS about
FROM ops_minutefigures minute
WHERE {_KEPT} - make_interval(mins => %(queue_stands_min)s::int) AND (figures #>> '{{levels,3}}')::int > 0
HAVING count(*) >= %(queue_stands_min)s::int""",
    ),
    # A visit of two minutes with an open page: staff who change a shift have the time to open the desk.
    ConditionQuery(
        kind=AlertKind.SITE_UNWATCHED,
        query="""
SELECT DISTINCT site.slug AS about
FROM companion_visit visit
JOIN companion_participant person ON person.id = visit.participant_id
JOIN companion_site site ON site.id = person.site_id
JOIN companion_conversation conversation ON conversation.participant_id = person.id
WHERE visit.ended_at IS NULL AND visit.expires_at > statement_timestamp()
  AND visit.opened_at < statement_timestamp() - interval '2 minutes'
  AND site.slug <> ALL(%(demo_sites)s::text[]) AND site.slug NOT LIKE %(load_tests)s::text
  AND EXISTS (SELECT 1 FROM companion_process process
              WHERE process.beat_at > statement_timestamp() - interval '15 seconds'
                AND conversation.id = ANY(process.pages))
  AND NOT EXISTS (SELECT 1 FROM ops_deskprocess desk
                  WHERE desk.at > statement_timestamp() - interval '30 seconds'
                    AND site.id = ANY(desk.sites))""",
    ),
    ConditionQuery(
        kind=AlertKind.BACKUP_OLD,
        query=f"""
SELECT CASE WHEN made.at IS NULL THEN 'none was ever made' ELSE 'the last is of ' || to_char(
           made.at AT TIME ZONE 'UTC', 'YYYY-MM-DD') END AS about
FROM (SELECT (SELECT at FROM ops_round WHERE job = %(backup)s::text) AS at) made
WHERE coalesce(made.at, (SELECT person.created_at {_REAL_PEOPLE} ORDER BY person.id LIMIT 1))
      < clock_timestamp() - %(max_backup_age)s::interval
  AND EXISTS (SELECT 1 {_REAL_PEOPLE})""",
    ),
)
