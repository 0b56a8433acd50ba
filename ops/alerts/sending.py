"""Alerts that leave the house: by e-mail, by webhook. Each goes out once by each way; what fails is tried again.

What comes again long after it went out, and nobody has said that they have seen it, goes out again: see
`statements.COMES_AGAIN`.

A row is claimed before it is sent, so two workers do not send the same one. A worker that dies in between sends it
again: twice is better than never.
"""

import logging
import smtplib
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import httpx
from celery.exceptions import SoftTimeLimitExceeded
from django.core.mail import EmailMessage
from django.db import connection

from ops.alerts.rows import Told, told
from ops.desk.telling import clock, still
from ops.models import Alert

log = logging.getLogger(__name__)

AT_ONCE = 5
"""Even where every way hangs, a round is over before the worker counts as away (`statements.AWAY_AFTER`)."""
WEBHOOK_WITHIN_S = 5.0

# At first after half a minute, in the end every hour; what has not come again for a day is left to the page.
CLAIM = """
UPDATE ops_alert SET sendings = sendings + 1,
       send_at = clock_timestamp() + least(interval '1 hour', interval '30 seconds' * power(2, least(sendings, 10)))
WHERE id IN (
    SELECT id FROM ops_alert
    WHERE acknowledged_at IS NULL AND send_at <= clock_timestamp() AND NOT sent_by @> %(ways)s::varchar[]
      AND last_at > clock_timestamp() - interval '1 day'
    ORDER BY id LIMIT %(at_once)s FOR UPDATE SKIP LOCKED
)
RETURNING id
"""
SENT = "UPDATE ops_alert SET sent_by = array_append(sent_by, %s) WHERE id = %s AND NOT sent_by @> ARRAY[%s]::varchar[]"


class NotSent(Exception):
    """It did not go out. The text is a short code, and holds no address."""


class Way(Protocol):
    """One way out. `name` stands in the row."""

    @property
    def name(self) -> str: ...

    def send(self, alert: Told) -> None:
        """Send it, or raise NotSent."""
        ...


class ByEmail:
    """To everybody at once, through the server that Django's settings name."""

    name = "email"

    def __init__(self, people: Sequence[str], *, desk: str) -> None:
        self._people = list(people)
        self._desk = desk

    def send(self, alert: Told) -> None:
        """Send it, or raise NotSent."""
        subject = " ".join(still(f"[companion] {alert.says}").split())[:120]
        body = "\n".join(
            [
                still(alert.says),
                alert.do,
                "",
                f"First at {clock(alert.first_at)}, last at {clock(alert.last_at)}, {alert.count} times so far.",
                f"Runbook: {alert.runbook}",
                f"Where to look, and to say that it has been seen: {self._desk}",
            ]
        )
        try:
            EmailMessage(subject, body, None, self._people).send()
        except (smtplib.SMTPException, OSError) as failure:
            raise NotSent(type(failure).__name__) from None


class ByWebhook:
    """One POST of JSON. `text` is what chat services show."""

    name = "webhook"

    def __init__(self, client: httpx.Client, url: str, *, desk: str) -> None:
        self._client = client
        self._url = url
        self._desk = desk

    def send(self, alert: Told) -> None:
        """Send it, or raise NotSent."""
        try:
            answer = self._client.post(self._url, json=self._document(alert), timeout=WEBHOOK_WITHIN_S)
        except httpx.HTTPError as failure:
            raise NotSent(type(failure).__name__) from None
        if not answer.is_success:
            raise NotSent(f"status_{answer.status_code}")

    def _document(self, alert: Told) -> Mapping[str, Any]:
        return {
            "text": f"{still(alert.says)} {alert.do} {self._desk}",
            "id": alert.id,
            "kind": alert.kind,
            "says": still(alert.says),
            "do": alert.do,
            "runbook": alert.runbook,
            "first_at": alert.first_at.isoformat(),
            "last_at": alert.last_at.isoformat(),
            "count": alert.count,
        }


def send_due(ways: Sequence[Way]) -> int:
    """Send what is due by every way it has not gone out by. Returns how many went out. Uses Django's connection."""
    if not ways:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(CLAIM, {"ways": [way.name for way in ways], "at_once": AT_ONCE})
        claimed = [alert for (alert,) in cursor.fetchall()]
    sent = 0
    for row in Alert.objects.filter(id__in=claimed).order_by("id"):
        for way in ways:
            if way.name not in row.sent_by:
                sent += _went_out(row, way)
    return sent


def _went_out(row: Alert, way: Way) -> bool:
    try:
        way.send(told(row))
    except SoftTimeLimitExceeded:
        # The job's own time is up. What it has claimed is tried again.
        raise
    except Exception as failure:
        # Whatever is wrong with one way or one alert, the others go out. The texts of foreign errors hold addresses.
        cause = failure if isinstance(failure, NotSent) else type(failure).__name__
        log.warning("alerts.not_sent alert=%d way=%s cause=%s", row.pk, way.name, cause)
        return False
    with connection.cursor() as cursor:
        cursor.execute(SENT, [way.name, row.pk, way.name])
    log.info("alerts.sent alert=%d way=%s", row.pk, way.name)
    return True
