"""How long a selection took to reach the first call at its new head: read off stored turns, of any lane."""

from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from django.db import connection

from ops.selections import selecting
from ops.selections.selecting import SelectionRefused
from routing.lanes import Routing
from routing.selection import Selection

LOOKED_AT = timedelta(minutes=10)
"""After the selection. A process in which nobody wrote for so long has nothing to show."""
IN_TIME_S = 10.0

FIRST_CALLS = """
SELECT t.owner, min(t.admitted_at + make_interval(secs => call.started_s))
FROM companion_turn t
CROSS JOIN LATERAL (
    SELECT a.started_s FROM companion_attempt a WHERE a.turn_id = t.id AND a.lane = %(lane)s
    ORDER BY a.number LIMIT 1
) call
WHERE t.closed_at >= %(begins)s AND t.closed_at < %(ends)s AND t.routing_version = %(version)s
GROUP BY t.owner ORDER BY 2
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Applied:
    """When each web process first called the head of a selection's chain, in seconds after its row."""

    version: int
    preset: str
    lane: str
    by_process: dict[str, float]
    """Only processes in which somebody wrote; the quickest first."""

    @property
    def is_in_time(self) -> bool:
        """Under ten seconds for the first request. Later ones may only show that nobody wrote earlier."""
        return min(self.by_process.values()) < IN_TIME_S

    def document(self) -> dict[str, Any]:
        """For programs."""
        return {**asdict(self), "in_time": self.is_in_time}

    def text(self) -> str:
        """For a person."""
        first, *_ = self.by_process.values()
        each = "\n".join(f"  {process}  {seconds:.3f} s" for process, seconds in self.by_process.items())
        return (
            f"Version {self.version}, {self.preset}: the first call at {self.lane} began {first:.3f} s after it was "
            f"selected.\nThe first call of each web process:\n{each}"
        )


def applied(routing: Routing, version: int | None = None) -> Applied:
    """Of this selection, or of the newest. Raises SelectionRefused where no stored turn shows it."""
    chosen = _chosen(version)
    if chosen.preset not in routing.presets:
        raise SelectionRefused(f"The routing file has no preset {chosen.preset} any more.")
    lane = routing.presets[chosen.preset].chain[0]
    facts: dict[str, Any] = {
        "lane": lane,
        "version": chosen.version,
        "begins": chosen.at,
        "ends": chosen.at + LOOKED_AT,
    }
    with connection.cursor() as cursor:
        cursor.execute(FIRST_CALLS, facts)
        found = {str(owner): round((at - chosen.at).total_seconds(), 3) for owner, at in cursor.fetchall()}
    if not found:
        raise SelectionRefused(
            f"No turn that ended within ten minutes of version {chosen.version} was served by {lane}. "
            "Look again once somebody has written."
        )
    return Applied(version=chosen.version, preset=chosen.preset, lane=lane, by_process=found)


def _chosen(version: int | None) -> Selection:
    if version is None:
        found = selecting.newest()
        if found.version == 0:
            raise SelectionRefused("Nothing has been selected yet.")
        return found
    row = selecting.by_version(version)
    if row is None:
        raise SelectionRefused(f"There is no version {version}; `manage.py route history` lists them.")
    return row
