"""Sends alerts. Each is sent once by each transport, and retried until that succeeds.

A transport that fails twice raises an alert, which the other transports send, and which closes when it works again.

`send_at` decides when an alert is due: see `_COUNT` and `_SEND_AT` in `statements`.

A row is claimed before it is sent, so two workers do not send the same one. If a worker dies in between, the alert is
sent again: twice is better than never.
"""

import logging
import time
from collections.abc import Callable, Sequence

from celery.exceptions import SoftTimeLimitExceeded
from django.db.models.functions import Now

from ops.alerts.kinds import AlertKind
from ops.alerts.rows import build_view, close_alert, raise_alert
from ops.alerts.statements import CLOSED_BY_SERVICE
from ops.alerts.transports import AlertTransport, SendFailed
from ops.database import execute, fetch_all
from ops.models import Alert

log = logging.getLogger(__name__)

BATCH_SIZE = 5
ROUND_TIMEOUT_S = 60.0
"""No sending begins later in a round, so that the round ends before `statements.WORKER_TIMEOUT`."""
ALERT_AFTER_TRIES = 2
"""Failed tries of one alert before the transport raises an alert: a single failure is often over at the next try."""

# Retried after half a minute at first, every hour in the end. After a day without a new cause, only pages show it.
CLAIM = """
UPDATE ops_alert SET sendings = sendings + 1,
       send_at = clock_timestamp() + least(interval '1 hour', interval '30 seconds' * power(2, least(sendings, 10)))
WHERE id IN (
    SELECT id FROM ops_alert
    WHERE acknowledged_at IS NULL AND send_at <= clock_timestamp() AND NOT sent_by @> %(transports)s::varchar[]
      AND last_at > clock_timestamp() - interval '1 day'
    ORDER BY id LIMIT %(batch_size)s FOR UPDATE SKIP LOCKED
)
RETURNING id
"""
MARK_SENT = """
UPDATE ops_alert SET sent_by = array_append(sent_by, %s) WHERE id = %s AND NOT sent_by @> ARRAY[%s]::varchar[]
"""


def send_due(transports: Sequence[AlertTransport], *, now: Callable[[], float] = time.monotonic) -> int:
    """Send each due alert by every transport that has not sent it. Returns the count. Uses Django's connection."""
    if not transports:
        return 0
    _close_removed(transports)
    facts = {"transports": [transport.name for transport in transports], "batch_size": BATCH_SIZE}
    claimed = [alert for (alert,) in fetch_all(CLAIM, facts)]
    deadline = now() + ROUND_TIMEOUT_S
    rows = list(Alert.objects.filter(id__in=claimed).order_by("id"))
    sent: list[AlertTransport] = []
    away: set[str] = set()
    for transport, row in (
        (transport, row) for transport in transports for row in rows if transport.name not in row.sent_by
    ):
        if now() >= deadline:
            break
        # An alert about a failing transport is outdated once that transport has sent something.
        is_outdated = row.kind == AlertKind.NOT_SENT and row.about in {one.label for one in sent}
        if transport.server not in away and not is_outdated and _try_send(row, transport, away):
            sent.append(transport)
    return len(sent)


def _try_send(row: Alert, transport: AlertTransport, away: set[str]) -> bool:
    try:
        transport.send(build_view(row))
    except SoftTimeLimitExceeded:
        # The job's time limit. The claimed alerts are retried.
        raise
    except Exception as failure:
        # A failure of one transport or alert must not stop the others. Texts of library errors hold addresses.
        cause = failure if isinstance(failure, SendFailed) else type(failure).__name__
        log.warning("alerts.not_sent alert=%d way=%s cause=%s", row.pk, transport.label, cause)
        if isinstance(failure, SendFailed) and failure.is_away:
            away.add(transport.server)
        if row.sendings >= ALERT_AFTER_TRIES:
            raise_alert(AlertKind.NOT_SENT, transport.label)
        return False
    execute(MARK_SENT, [transport.name, row.pk, transport.name])
    close_alert(AlertKind.NOT_SENT, transport.label)
    log.info("alerts.sent alert=%d way=%s", row.pk, transport.label)
    return True


def _close_removed(transports: Sequence[AlertTransport]) -> None:
    """Close alerts about transports that the settings no longer name."""
    former = Alert.objects.filter(kind=AlertKind.NOT_SENT, acknowledged_at=None)
    former = former.exclude(about__in=[transport.label for transport in transports])
    former.update(acknowledged_at=Now(), acknowledged_by=CLOSED_BY_SERVICE)
