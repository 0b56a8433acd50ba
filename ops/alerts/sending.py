"""Alerts that leave the house: by e-mail, by webhook. Each goes out once by each way; what fails is tried again.

Every e-mail address is a way of its own: one that is refused holds up no other, and is tried again alone. A webhook
has taken an alert if it answers with 2xx within `WEBHOOK_WITHIN_S`, and its body, where that is a JSON object, holds
neither `"ok": false` nor `"success": false` nor an `error` or `errors` that says something.

A way that fails a second time is an alert itself, which goes out by the other ways and closes when the way works.

What comes again long after it went out, and nobody has said that they have seen it, goes out again: see
`statements.COMES_AGAIN`. What comes again right after it was closed waits for a quiet time: `statements.AFTER_QUIET`.

A row is claimed before it is sent, so two workers do not send the same one. A worker that dies in between sends it
again: twice is better than never.
"""

import asyncio
import hashlib
import json
import logging
import smtplib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import httpx
from celery.exceptions import SoftTimeLimitExceeded
from django.core.mail import EmailMessage
from django.db import connection
from django.db.models.functions import Now

from ops.alerts.kinds import Kind
from ops.alerts.mail import LimitedMail
from ops.alerts.rows import BY_ITSELF, Told, close, raise_alert, told
from ops.models import Alert
from ops.text import escape_controls, format_time

log = logging.getLogger(__name__)

AT_ONCE = 5
ROUND_WITHIN_S = 60.0
"""No sending begins later in a round, so that it is over before the worker counts as away (`statements.AWAY_AFTER`)."""
WEBHOOK_WITHIN_S = 5.0
"""From the connection to the end of the answer."""
MOST_READ_BYTES = 65_536
"""Of a webhook's answer. A longer one is judged by its status alone."""
TOLD_AFTER = 2
"""SignInThrottle of an alert that fail before the way is told of: a single failure is often over at the next try."""

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
    """It did not go out. The text is a short code, and holds no address.

    `is_away`: the server itself does not work, so nothing else is sent through it in the same round.
    """

    def __init__(self, code: str, *, is_away: bool = False) -> None:
        super().__init__(code)
        self.is_away = is_away


class Way(Protocol):
    """One way out."""

    @property
    def name(self) -> str:
        """At most 8 characters: stands in the row."""
        ...

    @property
    def label(self) -> str:
        """For people. Holds no address."""
        ...

    @property
    def server(self) -> str:
        """The same for ways through the same server."""
        ...

    def send(self, alert: Told) -> None:
        """Send it, or raise NotSent."""
        ...


class ByEmail:
    """To one person, through the server that Django's settings name. `label` says which one without the address."""

    server = "mail"

    def __init__(self, address: str, *, label: str = "e-mail", desk: str) -> None:
        self._address = address
        self._desk = desk
        self.label = label
        self.name = f"e{hashlib.sha256(address.encode()).hexdigest()[:7]}"

    @classmethod
    def to_each(cls, addresses: Sequence[str], *, desk: str) -> "list[ByEmail]":
        """One way for each address."""
        return [
            cls(address, label=f"e-mail to address {number} of {len(addresses)} in ALERT_EMAIL", desk=desk)
            for number, address in enumerate(addresses, start=1)
        ]

    def send(self, alert: Told) -> None:
        """Send it, or raise NotSent."""
        subject = " ".join(escape_controls(f"[companion] {alert.says}").split())[:120]
        times = "once" if alert.count == 1 else f"{alert.count} times"
        body = "\n".join(
            [
                escape_controls(alert.says),
                alert.do,
                "",
                f"First at {format_time(alert.first_at)}, last at {format_time(alert.last_at)}, {times} so far.",
                f"Runbook: {alert.runbook}",
                f"Where to look, and to say that it has been seen: {self._desk}",
            ]
        )
        try:
            EmailMessage(subject, body, None, [self._address], connection=LimitedMail()).send()
        except (smtplib.SMTPRecipientsRefused, smtplib.SMTPSenderRefused, smtplib.SMTPDataError) as failure:
            raise NotSent(type(failure).__name__) from None
        except (smtplib.SMTPException, OSError) as failure:
            raise NotSent(type(failure).__name__, is_away=True) from None


class ByWebhook:
    """One POST of JSON. `text` is what chat services show."""

    name = server = "webhook"
    label = "webhook"

    def __init__(self, url: str, *, desk: str) -> None:
        self._url = url
        self._desk = desk

    def send(self, alert: Told) -> None:
        """Send it, or raise NotSent."""
        try:
            status, body = asyncio.run(self._post(self._document(alert)))
        except (httpx.HTTPError, TimeoutError) as failure:
            raise NotSent(type(failure).__name__, is_away=True) from None
        if not 200 <= status < 300:
            raise NotSent(f"status_{status}")
        if said := failure_said(body):
            raise NotSent(said)

    async def _post(self, document: Mapping[str, Any]) -> tuple[int, bytes]:
        # Each read has a time-out of its own, which an answer a byte at a time never reaches: this one is for all.
        async with (
            asyncio.timeout(WEBHOOK_WITHIN_S),
            httpx.AsyncClient(trust_env=False, headers={"Accept-Encoding": "identity"}) as client,
            client.stream("POST", self._url, json=document) as answer,
        ):
            body = bytearray()
            async for piece in answer.aiter_raw():
                body += piece
                if len(body) > MOST_READ_BYTES:
                    return answer.status_code, b""
            return answer.status_code, bytes(body)

    def _document(self, alert: Told) -> Mapping[str, Any]:
        return {
            "text": f"{escape_controls(alert.says)} {alert.do} {self._desk}",
            "id": alert.id,
            "kind": alert.kind,
            "says": escape_controls(alert.says),
            "do": alert.do,
            "runbook": alert.runbook,
            "first_at": alert.first_at.isoformat(),
            "last_at": alert.last_at.isoformat(),
            "count": alert.count,
        }


def failure_said(body: bytes) -> str | None:
    """PURE: how the body of an answer with 2xx says that the alert was not taken, or None where it does not."""
    try:
        said = json.loads(body)
    except ValueError:
        return None
    if not isinstance(said, dict):
        return None
    for name in ("ok", "success"):
        if name in said and said[name] in (False, "false"):
            return f"said_{name}_false"
    return next((f"said_{name}" for name in ("error", "errors") if said.get(name)), None)


def send_due(ways: Sequence[Way], *, now: Callable[[], float] = time.monotonic) -> int:
    """Send what is due by every way it has not gone out by. Returns how many went out. Uses Django's connection."""
    if not ways:
        return 0
    _close_former(ways)
    with connection.cursor() as cursor:
        cursor.execute(CLAIM, {"ways": [way.name for way in ways], "at_once": AT_ONCE})
        claimed = [alert for (alert,) in cursor.fetchall()]
    over_at = now() + ROUND_WITHIN_S
    rows = list(Alert.objects.filter(id__in=claimed).order_by("id"))
    sent: list[Way] = []
    away: set[str] = set()
    for way, row in ((way, row) for way in ways for row in rows if way.name not in row.sent_by):
        if now() >= over_at:
            break
        # That a way fails is no longer so once something has gone out by it.
        is_over = row.kind == Kind.NOT_SENT and row.about in {one.label for one in sent}
        if way.server not in away and not is_over and _went_out(row, way, away):
            sent.append(way)
    return len(sent)


def _went_out(row: Alert, way: Way, away: set[str]) -> bool:
    try:
        way.send(told(row))
    except SoftTimeLimitExceeded:
        # The job's own time is up. What it has claimed is tried again.
        raise
    except Exception as failure:
        # Whatever is wrong with one way or one alert, the others go out. The texts of foreign errors hold addresses.
        cause = failure if isinstance(failure, NotSent) else type(failure).__name__
        log.warning("alerts.not_sent alert=%d way=%s cause=%s", row.pk, way.label, cause)
        if isinstance(failure, NotSent) and failure.is_away:
            away.add(way.server)
        if row.sendings >= TOLD_AFTER:
            raise_alert(Kind.NOT_SENT, way.label)
        return False
    with connection.cursor() as cursor:
        cursor.execute(SENT, [way.name, row.pk, way.name])
    close(Kind.NOT_SENT, way.label)
    log.info("alerts.sent alert=%d way=%s", row.pk, way.label)
    return True


def _close_former(ways: Sequence[Way]) -> None:
    """Ways that no setting names any more fail no longer."""
    former = Alert.objects.filter(kind=Kind.NOT_SENT, acknowledged_at=None)
    former = former.exclude(about__in=[way.label for way in ways])
    former.update(acknowledged_at=Now(), acknowledged_by=BY_ITSELF)
