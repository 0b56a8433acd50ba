"""Notices that a flag's time has come although the database's clock was set back.

Stages are due by the database's clock. If that is set back by an hour, a flag would ring an hour late. So each web
process also counts, on its own clock, for how long it has known a flag at its stage, and brings its time forward.
"""

import logging
import time
from collections.abc import Callable
from typing import Any

from django.db import connection

from companion.supervision.states import FlagState
from ops.supervision.escalation import AGAIN_MIN, ON_CALL, SITE_STAFF

log = logging.getLogger(__name__)

MAX_TIMED = 200
SLACK_S = 5.0
"""Added to the longest time of a stage: the database's clock decides unless it is wrong."""

# By the index `flag_to_escalate`, which holds open flags only. `longest` is what the site allows at this stage.
READ_TIMES = f"""
SELECT f.id, f.stage, extract(epoch FROM f.next_stage_at - clock_timestamp())::float8 AS left_s,
       CASE WHEN f.stage >= {ON_CALL} THEN {AGAIN_MIN * 60} WHEN f.stage = {SITE_STAFF}
            THEN greatest(s.second_ring_s - s.first_ring_s, 0) ELSE s.first_ring_s END AS longest_s
FROM companion_flag f JOIN companion_site s ON s.id = f.site_id
WHERE f.state = '{FlagState.OPEN}' AND f.next_stage_at IS NOT NULL
ORDER BY f.next_stage_at LIMIT {MAX_TIMED}
"""
BRING_FORWARD = f"""
UPDATE companion_flag SET next_stage_at = clock_timestamp()
WHERE id = %(flag)s AND stage = %(stage)s AND state = '{FlagState.OPEN}' AND next_stage_at > clock_timestamp()
"""


class StageTimer:
    """Of one process. `now` is in seconds on a clock that nothing sets."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._due: dict[tuple[int, int], float] = {}
        """When a flag at its stage is due at the latest, on this process's clock."""

    def bring_forward(self) -> int:
        """Make flags due whose time is over on this process's clock; returns how many. Uses Django's connection."""
        now = self._now()
        with connection.cursor() as cursor:
            cursor.execute(READ_TIMES)
            rows: list[tuple[int, int, float, float]] = cursor.fetchall()
            # Flags that were accepted or escalated meanwhile are forgotten.
            self._due = {
                (flag, stage): self._due.get(
                    (flag, stage), now + min(max(left_s, 0.0), float(longest_s)) + SLACK_S
                )
                for flag, stage, left_s, longest_s in rows
            }
            late = [
                (flag, stage)
                for flag, stage, left_s, _ in rows
                if left_s > 0 and self._due[flag, stage] <= now
            ]
            for flag, stage in late:
                facts: dict[str, Any] = {"flag": flag, "stage": stage}
                cursor.execute(BRING_FORWARD, facts)
                log.warning("escalation.clock_set_back flag=%d stage=%d", flag, stage)
        return len(late)
