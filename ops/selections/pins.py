"""A selection whose time is up goes back to normal by itself.

The same statements for the worker and for every web process: whoever comes first does it, and the others find it done.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from companion.notifications import CHANNEL
from ops.alerts.kinds import Kind
from routing.lanes import NORMAL

THE_SERVICE = "the service"

# A statement of its own: the snapshot of the one that decides must be younger than the lock.
LOCK = "SELECT pg_advisory_xact_lock(7205759404)"

# One statement, so that row, alert and notification are one. The payload is `notifications.SelectionChanged`.
REVERT = """
WITH newest AS (SELECT * FROM ops_selection ORDER BY version DESC LIMIT 1),
ended AS (SELECT * FROM newest WHERE expires_at <= clock_timestamp()),
back AS (
    INSERT INTO ops_selection (version, preset, by, reason, at)
    SELECT greatest(version, %(floor)s::int, (SELECT coalesce(max(routing_version), 0) FROM companion_process)) + 1,
           %(normal)s::text, %(by)s::text, 'The time of version ' || version || ' was up.', clock_timestamp()
    FROM ended
    RETURNING version
),
told AS (
    INSERT INTO ops_alert AS a (kind, about)
    SELECT %(reverted)s::text, 'version ' || version || ' (' || preset || ')' FROM ended
    ON CONFLICT (kind, about) WHERE acknowledged_at IS NULL
    DO UPDATE SET count = a.count + 1, last_at = clock_timestamp()
)
SELECT version, pg_notify(%(channel)s::text, json_build_object('routing', version)::text) FROM back
"""


def facts(floor: int = 0) -> Mapping[str, Any]:
    """What the statements take. `floor`: a version that somebody is known to serve; the next is above it."""
    return {
        "floor": floor,
        "normal": NORMAL,
        "by": THE_SERVICE,
        "reverted": Kind.PIN_REVERTED.value,
        "channel": CHANNEL,
    }


class Cursor(Protocol):
    """Django's, as far as it is needed here."""

    def execute(self, sql: str, params: Any = None, /) -> Any: ...

    def fetchone(self) -> Any: ...


def revert_ended(cursor: Cursor) -> int | None:
    """Go back to normal if the time is up. Within a transaction. Returns the version of the row, if it made one."""
    cursor.execute(LOCK)
    cursor.execute(REVERT, facts())
    row = cursor.fetchone()
    return row[0] if row else None
