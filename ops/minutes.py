"""The last hour as one row for each minute, so that its cost does not grow with the stored turns.

A minute that is over does not change: it is computed once, from the turns that ended in it, and kept. Readers compute
only the minutes that are not kept yet. The worker reads every minute too, so a page seldom computes more than two.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import quantiles
from typing import Any

from django.db import connection

from companion.turn_conditions import is_live

HOUR_MIN = 60
KEEP_H = 24
SAMPLES = 100
"""Times to the first word kept for a minute, and for a lane in it: a random sample where there were more."""
MAX_LIVE = 1_000
"""Live turns, the oldest, from which the levels of this minute are computed: a longer line is drawn as so long."""
NO_WAIT_S = 0.25
"""A turn that was admitted within this time counts as not having waited."""

# A turn's end may be committed some seconds after its `closed_at`, so a minute is kept once none can be missing. The
# range of `closed_at` has two ends because a planner without statistics takes an open range for a third of the table;
# `OFFSET 0` has it look attempts up by turn instead of reading them all.
#
# Each turn is two moves for its slot and two for its place in line. A running sum over all moves is the level at each
# moment; what a turn gives back at a moment counts before what another takes.
LAST_HOUR = f"""
WITH clock AS (
    SELECT date_trunc('minute', statement_timestamp()) AS now,
           date_trunc('minute', statement_timestamp()) - interval '{HOUR_MIN - 1} minutes' AS since,
           date_trunc('minute', statement_timestamp() - interval '20 seconds') AS is_over_before
),
kept AS (SELECT m.at, m.figures FROM ops_minutefigures m WHERE m.at >= (SELECT since FROM clock)),
span AS MATERIALIZED (
    SELECT now, is_over_before,
           greatest(since, (SELECT max(at) + interval '1 minute' FROM kept)) AS begins
    FROM clock
),
turns AS MATERIALIZED (
    SELECT t.id, t.created_at, t.admitted_at, t.first_word_at, t.closed_at, t.state, t.reason, t.lane
    FROM companion_turn t
    WHERE t.closed_at >= (SELECT begins FROM span)
      AND t.closed_at < (SELECT begins FROM span) + interval '{HOUR_MIN + 60} minutes'
    UNION ALL
    (SELECT t.id, t.created_at, t.admitted_at, t.first_word_at, t.closed_at, t.state, t.reason, t.lane
     FROM companion_turn t WHERE {is_live("t")} ORDER BY t.id LIMIT {MAX_LIVE})
),
ended AS MATERIALIZED (
    SELECT date_trunc('minute', closed_at) AS at, t.id, t.state, t.reason, t.lane, t.closed_at,
           -- `greatest` passes over nulls: a turn without a word would count as one of 0 ms.
           CASE WHEN t.first_word_at >= t.admitted_at
                THEN round(1000 * extract(epoch FROM t.first_word_at - t.admitted_at))
                WHEN t.first_word_at IS NOT NULL AND t.admitted_at IS NOT NULL THEN 0 END AS first_word_ms
    FROM turns t WHERE t.closed_at IS NOT NULL
),
calls AS MATERIALIZED (
    SELECT e.at, e.id, e.state, e.closed_at, e.first_word_ms, a.lane, a.number, a.started_s,
           coalesce(nullif(a.failure, ''), 'whole') AS ended_as
    FROM ended e
    CROSS JOIN LATERAL (SELECT * FROM companion_attempt a WHERE a.turn_id = e.id OFFSET 0) a
),
states AS (
    SELECT at, jsonb_object_agg(state, n) AS counts
    FROM (SELECT at, state, count(*) AS n FROM ended GROUP BY at, state) c GROUP BY at
),
reasons AS (
    SELECT at, jsonb_object_agg(reason, n) AS counts
    FROM (SELECT at, reason, count(*) AS n FROM ended WHERE state = 'paused' GROUP BY at, reason) c GROUP BY at
),
attempts AS (
    SELECT at, jsonb_object_agg(lane, counts) AS counts FROM (
        SELECT at, lane, jsonb_object_agg(ended_as, n) AS counts
        FROM (SELECT at, lane, ended_as, count(*) AS n FROM calls GROUP BY at, lane, ended_as) c GROUP BY at, lane
    ) l GROUP BY at
),
first_words AS (
    SELECT at, (array_agg(first_word_ms ORDER BY hashint8(id)))[1:{SAMPLES}] AS ms
    FROM ended WHERE first_word_ms IS NOT NULL GROUP BY at
),
answers AS (
    SELECT at, lane, count(*) AS n, max(closed_at) AS last_at,
           (array_agg(ms ORDER BY hashint8(id)) FILTER (WHERE ms IS NOT NULL))[1:{SAMPLES}] AS ms
    FROM (
        SELECT DISTINCT ON (e.id) e.at, e.id, e.lane, e.closed_at,
               greatest(0, round((e.first_word_ms - 1000 * c.started_s)::numeric)) AS ms
        FROM ended e LEFT JOIN calls c ON c.id = e.id
        WHERE e.state = 'complete' AND e.lane <> '' ORDER BY e.id, c.number DESC
    ) spoke GROUP BY at, lane
),
lanes AS (
    SELECT at, jsonb_object_agg(lane, jsonb_build_object('answers', n, 'last_at', last_at, 'ms', ms)) AS figures
    FROM answers GROUP BY at
),
moves AS (
    SELECT admitted_at AS at, 1 AS speaks, 0 AS waits FROM turns WHERE admitted_at IS NOT NULL
    UNION ALL
    SELECT closed_at, -1, 0 FROM turns WHERE admitted_at IS NOT NULL AND closed_at IS NOT NULL
    UNION ALL
    SELECT m.at, 0, m.waits FROM turns
    CROSS JOIN LATERAL (VALUES (created_at, 1), (coalesce(admitted_at, closed_at), -1)) AS m(at, waits)
    WHERE m.at IS NOT NULL
      AND coalesce(admitted_at, closed_at, statement_timestamp()) - created_at > interval '{NO_WAIT_S} seconds'
    UNION ALL
    -- The level that a minute begins with is one of its levels, however few rows were read before it.
    SELECT generate_series(begins, now, interval '1 minute'), 0, 0 FROM span
),
levels AS (
    SELECT date_trunc('minute', at) AS minute, at,
           sum(speaks) OVER w AS speaking, sum(waits) OVER w AS waiting, row_number() OVER w AS n
    FROM moves WINDOW w AS (ORDER BY at, speaks + waits ROWS UNBOUNDED PRECEDING)
),
peaks AS (
    SELECT minute AS at, jsonb_build_array(
        max(speaking), max(waiting), (array_agg(speaking ORDER BY n DESC))[1], (array_agg(waiting ORDER BY n DESC))[1]
    ) AS levels
    FROM levels WHERE at >= (SELECT begins FROM span) GROUP BY minute
),
computed AS MATERIALIZED (
    SELECT every.at, jsonb_strip_nulls(jsonb_build_object(
        'states', s.counts, 'reasons', r.counts, 'attempts', a.counts, 'first_words_ms', to_jsonb(f.ms),
        'lanes', l.figures, 'levels', p.levels)) AS figures
    FROM span, generate_series(span.begins, span.now, interval '1 minute') AS every(at)
    LEFT JOIN states s ON s.at = every.at LEFT JOIN reasons r ON r.at = every.at
    LEFT JOIN attempts a ON a.at = every.at LEFT JOIN first_words f ON f.at = every.at
    LEFT JOIN lanes l ON l.at = every.at LEFT JOIN peaks p ON p.at = every.at
),
keep AS (
    INSERT INTO ops_minutefigures (at, figures)
    SELECT at, figures FROM computed WHERE at < (SELECT is_over_before FROM span)
    ON CONFLICT DO NOTHING
)
SELECT at, figures FROM kept UNION ALL SELECT at, figures FROM computed ORDER BY at
"""

DELETE_OLD = f"DELETE FROM ops_minutefigures WHERE at < statement_timestamp() - interval '{KEEP_H} hours'"


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneHour:
    """The replies of a lane in the last hour. Times to the first word count from its own call, in milliseconds."""

    answers: int = 0
    last_at: datetime | None = None
    p50_ms: int | None = None
    p95_ms: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class LastHour:
    """Turns that ended in the last hour, by state; paused ones by reason; calls by lane and how they ended."""

    states: Mapping[str, int] = field(default_factory=dict)
    reasons: Mapping[str, int] = field(default_factory=dict)
    attempts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    lanes: Mapping[str, LaneHour] = field(default_factory=dict)
    p50_ms: int | None = None
    p95_ms: int | None = None
    """From the slot to the first stored word."""
    minutes: Sequence[tuple[datetime, Mapping[str, Any]]] = ()
    """(begins, figures) of each minute, oldest first."""


def get_last_hour() -> LastHour:
    """The hour until now. Uses Django's connection, and keeps the minutes that are over."""
    with connection.cursor() as cursor:
        cursor.execute(LAST_HOUR)
        return aggregate(cursor.fetchall())


def aggregate(rows: Iterable[tuple[datetime, Any]]) -> LastHour:
    """Add up the rows that LAST_HOUR gives."""
    minutes = [(at, json.loads(figures) if isinstance(figures, str) else figures) for at, figures in rows]
    all_figures = [figures for _, figures in minutes]
    p50_ms, p95_ms = _percentiles(ms for figures in all_figures for ms in figures.get("first_words_ms", ()))
    lanes = sorted({lane for figures in all_figures for lane in figures.get("lanes", ())})
    called = sorted({lane for figures in all_figures for lane in figures.get("attempts", ())})
    return LastHour(
        states=_sum(figures.get("states", {}) for figures in all_figures),
        reasons=_sum(figures.get("reasons", {}) for figures in all_figures),
        attempts={
            lane: _sum(figures.get("attempts", {}).get(lane, {}) for figures in all_figures)
            for lane in called
        },
        lanes={
            lane: _lane(
                [figures["lanes"][lane] for figures in all_figures if lane in figures.get("lanes", ())]
            )
            for lane in lanes
        },
        p50_ms=p50_ms,
        p95_ms=p95_ms,
        minutes=minutes,
    )


def _lane(minutes: Sequence[Mapping[str, Any]]) -> LaneHour:
    p50_ms, p95_ms = _percentiles(ms for one in minutes for ms in one.get("ms") or ())
    return LaneHour(
        answers=sum(one["answers"] for one in minutes),
        last_at=max(datetime.fromisoformat(one["last_at"]) for one in minutes),
        p50_ms=p50_ms,
        p95_ms=p95_ms,
    )


def _sum(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Summed, the most frequent first."""
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return dict(sorted(total.items(), key=lambda counted: (-counted[1], counted[0])))


def _percentiles(values: Iterable[float]) -> tuple[int | None, int | None]:
    """The 50th and the 95th; (None, None) of nothing."""
    known = list(values)
    if not known:
        return None, None
    if len(known) == 1:
        return round(known[0]), round(known[0])
    cuts = quantiles(known, n=100, method="inclusive")
    return round(cuts[49]), round(cuts[94])
