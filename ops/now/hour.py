"""The last hour, minute by minute: how many spoke and waited at most, and how turns ended. From the rows themselves."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

NO_WAIT = 0.25
"""Seconds: whoever was let in sooner has not waited."""

# Each turn is two moves for its slot and two for its place in line. A running sum over all moves is the level at each
# moment; what a turn gives back at a moment counts before what another takes.
HOUR = """
WITH span AS (SELECT date_trunc('minute', clock_timestamp()) - interval '59 minutes' AS begins),
alive AS (
    SELECT t.created_at, t.admitted_at, t.closed_at, t.state
    FROM companion_turn t, span WHERE t.closed_at IS NULL OR t.closed_at >= span.begins
),
moves AS (
    SELECT admitted_at AS at, 1 AS speaks, 0 AS waits FROM alive WHERE admitted_at IS NOT NULL
    UNION ALL
    SELECT closed_at, -1, 0 FROM alive WHERE admitted_at IS NOT NULL AND closed_at IS NOT NULL
    UNION ALL
    SELECT m.at, 0, m.waits FROM alive
    CROSS JOIN LATERAL (VALUES (created_at, 1), (coalesce(admitted_at, closed_at), -1)) AS m(at, waits)
    WHERE m.at IS NOT NULL
      AND coalesce(admitted_at, closed_at, clock_timestamp()) - created_at > make_interval(secs => %(no_wait)s)
),
levels AS (
    SELECT date_trunc('minute', greatest(at, begins)) AS minute, at,
           sum(speaks) OVER w AS speaking, sum(waits) OVER w AS waiting
    FROM moves, span WINDOW w AS (ORDER BY at, speaks + waits ROWS UNBOUNDED PRECEDING)
),
peaks AS (
    SELECT minute, max(speaking) AS speaking, max(waiting) AS waiting,
           (array_agg(speaking ORDER BY at DESC))[1] AS speaking_last,
           (array_agg(waiting ORDER BY at DESC))[1] AS waiting_last
    FROM levels GROUP BY minute
),
ends AS (
    SELECT date_trunc('minute', closed_at) AS minute,
           count(*) FILTER (WHERE state = 'complete') AS complete, count(*) FILTER (WHERE state = 'paused') AS paused,
           count(*) FILTER (WHERE state = 'refused') AS refused, count(*) FILTER (WHERE state = 'stopped') AS stopped
    FROM alive WHERE closed_at IS NOT NULL GROUP BY 1
)
SELECT every.minute, p.speaking, p.waiting, p.speaking_last, p.waiting_last,
       coalesce(e.complete, 0), coalesce(e.paused, 0), coalesce(e.refused, 0), coalesce(e.stopped, 0)
FROM span, generate_series(span.begins, span.begins + interval '59 minutes', interval '1 minute') AS every(minute)
LEFT JOIN peaks p USING (minute) LEFT JOIN ends e USING (minute)
ORDER BY every.minute
"""
FACTS = {"no_wait": NO_WAIT}


@dataclass(frozen=True, kw_only=True, slots=True)
class Minute:
    """One minute. `speaking` and `waiting` are the most at any moment of it."""

    begins: datetime
    speaking: int
    waiting: int
    complete: int
    paused: int
    refused: int
    stopped: int

    def row(self) -> list[object]:
        """As a page is told it."""
        counts = [self.complete, self.paused, self.refused, self.stopped]
        return [f"{self.begins:%H:%M}", self.speaking, self.waiting, *counts]


def minutes(rows: Iterable[tuple[Any, ...]]) -> list[Minute]:
    """What HOUR found, oldest first. A minute in which nothing moved keeps the level of the one before."""
    speaking_before = waiting_before = 0
    told = []
    for begins, speaking, waiting, speaking_last, waiting_last, complete, paused, refused, stopped in rows:
        told.append(
            Minute(
                begins=begins,
                # A level that was there when the minute began was there at some moment of it.
                speaking=max(speaking_before, int(speaking or 0)),
                waiting=max(waiting_before, int(waiting or 0)),
                complete=complete,
                paused=paused,
                refused=refused,
                stopped=stopped,
            )
        )
        if speaking_last is not None:
            speaking_before, waiting_before = int(speaking_last), int(waiting_last)
    return told
