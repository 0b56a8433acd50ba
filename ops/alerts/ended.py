"""Turns that ended badly, from the kept minutes: one alert for each kind of ending, however many turns there were.

Kept minutes are rows, so a turn whose process died is told of as well. An alert's `last_at` is the end of the last
minute it counts: minutes before it are never counted again, by whichever process.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from companion.states import Reason, TurnState
from ops.alerts.kinds import EVERYBODY, Kind, again_after, quiet_after
from ops.alerts.statements import AFTER_QUIET, COMES_AGAIN_AS_OF
from routing.errors import FailureClass


@dataclass(frozen=True, kw_only=True, slots=True)
class EndedBadly:
    """`part` is a part of a minute's figures, `names` are the counts of it that are added up."""

    kind: Kind
    part: str
    names: tuple[str, ...]

    @property
    def facts(self) -> Mapping[str, Any]:
        """What TELL takes."""
        return {
            "kind": self.kind.value,
            "about": EVERYBODY,
            "part": self.part,
            "names": list(self.names),
            "again_after": again_after(self.kind),
            "quiet": quiet_after(self.kind),
        }


ENDED_BADLY = (
    EndedBadly(kind=Kind.PEOPLE_REFUSED, part="states", names=(TurnState.REFUSED,)),
    EndedBadly(kind=Kind.TURNS_LOST, part="reasons", names=(Reason.LOST,)),
    EndedBadly(kind=Kind.TURNS_UNSTORED, part="reasons", names=(Reason.UNSTORED,)),
    EndedBadly(kind=Kind.TURNS_FAULTED, part="reasons", names=(Reason.FAULT,)),
    EndedBadly(
        kind=Kind.TURNS_HUNG,
        part="reasons",
        names=(FailureClass.FIRST_WORD_TIMEOUT, FailureClass.IDLE_TIMEOUT, FailureClass.REPLY_TIMEOUT),
    ),
)

# Two processes may look at once: the second finds that the row has counted these minutes already.
TELL = f"""
WITH uncounted AS (
    SELECT minute.at, (SELECT coalesce(sum(counted.value::int), 0)
                       FROM jsonb_each_text(minute.figures -> %(part)s::text) counted
                       WHERE counted.key = ANY(%(names)s::text[])) AS turns
    FROM ops_minutefigures minute
    WHERE minute.at >= greatest(clock_timestamp() - interval '1 hour', (
        SELECT told.last_at FROM ops_alert told WHERE told.kind = %(kind)s::text AND told.about = %(about)s::text
        ORDER BY told.id DESC LIMIT 1))
),
cause AS (
    SELECT %(kind)s::text AS kind, %(about)s::text AS about, sum(turns)::int AS turns,
           min(at) AS first_at, max(at) + interval '1 minute' AS last_at
    FROM uncounted WHERE turns > 0 HAVING count(*) > 0
)
INSERT INTO ops_alert AS a (kind, about, count, first_at, last_at, send_at)
SELECT kind, about, turns, first_at, last_at, {AFTER_QUIET} FROM cause
{COMES_AGAIN_AS_OF}
WHERE a.last_at < excluded.last_at
"""
