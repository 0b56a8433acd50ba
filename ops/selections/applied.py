"""How long a selection took to reach the first call at its head, from the stored turns."""

from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from django.db import connection

from ops.selections import rows
from ops.selections.selector import SelectionRefused
from routing.lanes import Routing
from routing.selection import Selection

WINDOW = timedelta(minutes=10)
"""After the selection. A process without any turn in this time is left out."""
MAX_DELAY_S = 10.0
"""The service promises to follow a selection within this time."""

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
class AppliedSelection:
    """When each web process first called the head of a selection's chain, in seconds after its row."""

    version: int
    preset: str
    lane: str
    by_process: dict[str, float]
    """Only processes with a turn in the window; the fastest first."""

    @property
    def is_in_time(self) -> bool:
        """Whether the first request came within ten seconds. A later one may only mean that no turn started earlier."""
        return min(self.by_process.values()) < MAX_DELAY_S

    def to_document(self) -> dict[str, Any]:
        """As JSON values."""
        return {**asdict(self), "in_time": self.is_in_time}

    def format_text(self) -> str:
        first, *_ = self.by_process.values()
        each = "\n".join(f"  {process}  {seconds:.3f} s" for process, seconds in self.by_process.items())
        return (
            f"Version {self.version}, {self.preset}: the first call at {self.lane} began {first:.3f} s after it was "
            f"selected.\nThe first call of each web process:\n{each}"
        )


def read_applied(routing: Routing, version: int | None = None) -> AppliedSelection:
    """Of the selection of this version, or the newest. Raises SelectionRefused if no stored turn shows it."""
    chosen = _read_selection(version)
    if chosen.preset not in routing.presets:
        raise SelectionRefused(f"The routing file no longer has the preset {chosen.preset}.")
    lane = routing.presets[chosen.preset].chain[0]
    parameters: dict[str, Any] = {
        "lane": lane,
        "version": chosen.version,
        "begins": chosen.at,
        "ends": chosen.at + WINDOW,
    }
    with connection.cursor() as cursor:
        cursor.execute(FIRST_CALLS, parameters)
        by_process = {
            str(owner): round((at - chosen.at).total_seconds(), 3) for owner, at in cursor.fetchall()
        }
    if not by_process:
        raise SelectionRefused(
            f"No turn that ended within ten minutes of version {chosen.version} was served by {lane}. "
            "Try again after a participant has written."
        )
    return AppliedSelection(version=chosen.version, preset=chosen.preset, lane=lane, by_process=by_process)


def _read_selection(version: int | None) -> Selection:
    if version is None:
        newest = rows.read_newest()
        if newest.version == 0:
            raise SelectionRefused("Nothing has been selected yet.")
        return newest
    row = rows.read_version(version)
    if row is None:
        raise SelectionRefused(f"There is no version {version}; `manage.py route history` lists them.")
    return row
