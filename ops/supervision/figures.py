"""Times of flags: to the first screen, to acceptance and to closing, per site and week. Read by index, never in whole.

Weeks begin on Monday, UTC. Uses Django's connection.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from ops.database import fetch_all

WEEKS = 8
"""Weeks that a page shows, this one included."""
METRICS_DAYS = 7
STEPS = ("seen", "accepted", "closed")

_TIMES = """
       percentile_disc(0.5) WITHIN GROUP (ORDER BY seen_s), percentile_disc(0.95) WITHIN GROUP (ORDER BY seen_s),
       max(seen_s),
       percentile_disc(0.5) WITHIN GROUP (ORDER BY accepted_s),
       percentile_disc(0.95) WITHIN GROUP (ORDER BY accepted_s), max(accepted_s),
       percentile_disc(0.5) WITHIN GROUP (ORDER BY closed_s), percentile_disc(0.95) WITHIN GROUP (ORDER BY closed_s),
       max(closed_s),
       count(*) FILTER (WHERE accepted_s <= %(target_s)s), count(*) FILTER (WHERE state = 'open')
"""
# Each site by its index of flags and times: joined without OFFSET, all flags of many sites would be read in whole.
_FLAGS = """
FROM companion_site s
CROSS JOIN LATERAL (
    SELECT f.state, f.opened_at,
           extract(epoch FROM f.seen_at - f.opened_at)::float8 AS seen_s,
           extract(epoch FROM f.accepted_at - f.opened_at)::float8 AS accepted_s,
           extract(epoch FROM f.closed_at - f.opened_at)::float8 AS closed_s
    FROM companion_flag f WHERE f.site_id = s.id AND f.opened_at >= {since} OFFSET 0
) f
"""
READ_WEEKS = f"""
SELECT s.id, s.name, (date_trunc('week', f.opened_at AT TIME ZONE 'UTC'))::date AS week, count(*), {_TIMES}
{_FLAGS.format(since="%(since)s")}
WHERE s.id = ANY(%(sites)s) GROUP BY s.id, s.name, week ORDER BY week DESC, s.name, s.id
"""
READ_LATELY = f"""
SELECT s.id, s.slug, NULL, count(*), {_TIMES}
{_FLAGS.format(since=f"statement_timestamp() - interval '{METRICS_DAYS} days'")}
GROUP BY s.id, s.slug ORDER BY s.slug
"""
COUNT_NOT_CLOSED = """
SELECT tier, state, count(*), max(extract(epoch FROM clock_timestamp() - opened_at))::float8
FROM companion_flag WHERE state <> 'closed' GROUP BY tier, state ORDER BY tier, state
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepTimes:
    """Seconds from the raising of a flag to one step: the median, the 95th percentile and the worst; None of none."""

    p50_s: float | None
    p95_s: float | None
    worst_s: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SiteFlags:
    """The flags of one site that were raised in one week, or lately. For metrics `site_name` is the slug."""

    site: int
    site_name: str
    week: date | None
    count: int
    times: Mapping[str, StepTimes]
    """By step: seen, accepted, closed."""
    in_target: int
    """Flags accepted within the target."""
    still_open: int


def read_weeks(sites: Sequence[int], *, since: date, target_s: int) -> list[SiteFlags]:
    """The flags of these sites since the Monday `since`, the newest week first."""
    facts = {"sites": list(sites), "since": since, "target_s": target_s}
    return [_parse(row) for row in fetch_all(READ_WEEKS, facts)]


def build_document(*, target_s: int) -> dict[str, Any]:
    """What /metrics and /ops/status.json say of flags: open ones, and the times of the last seven days. No ids."""
    counts = fetch_all(COUNT_NOT_CLOSED)
    open_ages = [age for _, state, _, age in counts if state == "open"]
    return {
        "target_s": target_s,
        "not_closed": [
            {"tier": tier, "state": state, "count": count, "oldest_s": round(age, 1)}
            for tier, state, count, age in counts
        ],
        "oldest_open_s": round(max(open_ages), 1) if open_ages else None,
        "last_week": [_describe(_parse(row)) for row in fetch_all(READ_LATELY, {"target_s": target_s})],
    }


def _describe(one: SiteFlags) -> dict[str, Any]:
    return {
        "site": one.site_name,
        "count": one.count,
        "in_target": one.in_target,
        "steps": {
            step: {
                "p50_s": one.times[step].p50_s,
                "p95_s": one.times[step].p95_s,
                "worst_s": one.times[step].worst_s,
            }
            for step in STEPS
        },
    }


def _parse(row: tuple[Any, ...]) -> SiteFlags:
    site, name, week, count, *times, in_target, still_open = row
    return SiteFlags(
        site=site,
        site_name=name,
        week=week,
        count=count,
        times={
            step: StepTimes(
                p50_s=_round(times[3 * place]),
                p95_s=_round(times[3 * place + 1]),
                worst_s=_round(times[3 * place + 2]),
            )
            for place, step in enumerate(STEPS)
        },
        in_target=in_target,
        still_open=still_open,
    )


def _round(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)
