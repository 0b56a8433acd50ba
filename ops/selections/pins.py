"""Reverts an expired selection to normal.

The worker and every web process run the same statements; the first one reverts, and the others find nothing to do.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from companion.notifications import CHANNEL
from ops.alerts.kinds import AlertKind
from ops.alerts.statements import RAISE_FOR_ENDED_PIN
from routing.lanes import NORMAL

THE_SERVICE = "the service"

# A separate statement: the snapshot of the deciding statement must be taken after the lock.
LOCK = "SELECT pg_advisory_xact_lock(7205759404)"

# One statement, so that row, alert and notification are one. The payload is `notifications.SelectionChanged`.
REVERT = f"""
WITH newest AS (SELECT * FROM ops_selection ORDER BY version DESC LIMIT 1),
ended AS (SELECT * FROM newest WHERE expires_at <= clock_timestamp()),
back AS (
    INSERT INTO ops_selection (version, preset, by, reason, at)
    SELECT greatest(version, %(floor)s::int, (SELECT coalesce(max(routing_version), 0) FROM companion_process)) + 1,
           %(normal)s::text, %(by)s::text, 'The time of version ' || version || ' was up.', clock_timestamp()
    FROM ended
    RETURNING version
),
alert AS ({RAISE_FOR_ENDED_PIN})
SELECT version, pg_notify(%(channel)s::text, json_build_object('routing', version)::text) FROM back
"""


def revert_parameters(floor: int = 0) -> Mapping[str, Any]:
    """Parameters of REVERT. `floor` is a version that a process serves; the new version is above it."""
    return {
        "floor": floor,
        "normal": NORMAL,
        "by": THE_SERVICE,
        "reverted": AlertKind.PIN_REVERTED.value,
        "channel": CHANNEL,
    }


class ExecutingCursor(Protocol):
    """The part of Django's cursor that is used here."""

    def execute(self, sql: str, params: Any = None, /) -> Any: ...

    def fetchone(self) -> Any: ...


def revert_expired(cursor: ExecutingCursor) -> int | None:
    """Revert to normal if the selection has expired; call in a transaction. Returns the new version, if any."""
    cursor.execute(LOCK)
    cursor.execute(REVERT, revert_parameters())
    row = cursor.fetchone()
    return row[0] if row else None
