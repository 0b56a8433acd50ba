"""Sends alerts by e-mail and webhook. Each is sent once by each transport, and retried until that succeeds.

Every e-mail address is a transport of its own, so that one that is refused delays no other and is retried alone. A
webhook has accepted an alert if it answers with 2xx within `WEBHOOK_TIMEOUT_S` and its body reports no failure: see
`find_reported_failure`.

A transport that fails twice raises an alert, which the other transports send, and which closes when it works again.

`send_at` decides when an alert is due: see `_COUNT` and `_SEND_AT` in `statements`.

A row is claimed before it is sent, so two workers do not send the same one. If a worker dies in between, the alert is
sent again: twice is better than never.
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
from django.conf import settings
from django.core.mail import EmailMessage
from django.db import connection
from django.db.models.functions import Now

from ops.alerts.kinds import AlertKind
from ops.alerts.mail import MAIL_TIMEOUT_S, LimitedMail
from ops.alerts.rows import AlertView, build_view, close_alert, raise_alert
from ops.alerts.statements import CLOSED_BY_SERVICE
from ops.models import Alert
from ops.text import escape_controls, format_time

log = logging.getLogger(__name__)

BATCH_SIZE = 5
ROUND_TIMEOUT_S = 60.0
"""No sending begins later in a round, so that the round ends before `statements.WORKER_TIMEOUT`."""
WEBHOOK_TIMEOUT_S = 5.0
"""From the connection to the end of the answer."""
MAX_RESPONSE_BYTES = 65_536
"""Of a webhook's response. A longer one is judged by its status alone."""
TEAMS_FAILURE = b"webhook message delivery failed"
"""In lower case. Incoming webhooks of Teams answer 200 with this where the channel refused the message."""
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


class SendFailed(Exception):
    """An alert was not sent. The text is a short code without addresses.

    `is_away`: the server itself fails, so nothing else is sent through it in the same round.
    """

    def __init__(self, code: str, *, is_away: bool = False) -> None:
        super().__init__(code)
        self.is_away = is_away


class AlertTransport(Protocol):
    """Sends alerts to one destination."""

    @property
    def name(self) -> str:
        """Kept in the row's `sent_by`; at most 8 characters."""
        ...

    @property
    def label(self) -> str:
        """For pages and logs. Holds no address."""
        ...

    @property
    def server(self) -> str:
        """Equal for transports through the same server."""
        ...

    def send(self, alert: AlertView) -> None:
        """Send the alert. Raises SendFailed."""
        ...


class EmailTransport:
    """E-mail to one address, through the server of Django's settings. `label` names it without the address."""

    server = "mail"

    def __init__(
        self, address: str, *, label: str = "e-mail", page_url: str, timeout_s: float = MAIL_TIMEOUT_S
    ) -> None:
        self._address = address
        self._timeout_s = timeout_s
        self._page_url = page_url
        self.label = label
        self.name = f"e{hashlib.sha256(address.encode()).hexdigest()[:7]}"

    @classmethod
    def to_each(
        cls, addresses: Sequence[str], *, page_url: str, timeout_s: float = MAIL_TIMEOUT_S
    ) -> "list[EmailTransport]":
        """A transport for each address."""
        return [
            cls(
                address,
                label=f"e-mail to address {number} of {len(addresses)} in ALERT_EMAIL",
                page_url=page_url,
                timeout_s=timeout_s,
            )
            for number, address in enumerate(addresses, start=1)
        ]

    def send(self, alert: AlertView) -> None:
        """Send the alert. Raises SendFailed."""
        subject = " ".join(escape_controls(f"[companion] {alert.says}").split())[:120]
        times = "once" if alert.count == 1 else f"{alert.count} times"
        body = "\n".join(
            [
                escape_controls(alert.says),
                alert.do,
                "",
                f"First at {format_time(alert.first_at)}, last at {format_time(alert.last_at)}, {times} so far.",
                f"Runbook: {alert.runbook}",
                f"See it and acknowledge it here: {self._page_url}",
            ]
        )
        try:
            mail = LimitedMail(limit_s=self._timeout_s)
            EmailMessage(subject, body, None, [self._address], connection=mail).send()
        except (smtplib.SMTPRecipientsRefused, smtplib.SMTPSenderRefused, smtplib.SMTPDataError) as failure:
            raise SendFailed(type(failure).__name__) from None
        except (smtplib.SMTPException, OSError) as failure:
            raise SendFailed(type(failure).__name__, is_away=True) from None


class WebhookTransport:
    """One POST of JSON. `text` is what chat services show."""

    name = server = "webhook"
    label = "webhook"

    def __init__(self, url: str, *, page_url: str, timeout_s: float = WEBHOOK_TIMEOUT_S) -> None:
        self._url = url
        self._timeout_s = timeout_s
        self._page_url = page_url

    def send(self, alert: AlertView) -> None:
        """Send the alert. Raises SendFailed."""
        try:
            status, body = asyncio.run(self._post(self._document(alert)))
        except (httpx.HTTPError, TimeoutError) as failure:
            raise SendFailed(type(failure).__name__, is_away=True) from None
        if not 200 <= status < 300:
            raise SendFailed(f"status_{status}")
        if said := find_reported_failure(body):
            raise SendFailed(said)

    async def _post(self, document: Mapping[str, Any]) -> tuple[int, bytes]:
        # Each read has a time-out of its own, which an answer a byte at a time never reaches: this one is for all.
        async with (
            asyncio.timeout(self._timeout_s),
            httpx.AsyncClient(trust_env=False, headers={"Accept-Encoding": "identity"}) as client,
            client.stream("POST", self._url, json=document) as answer,
        ):
            body = bytearray()
            async for piece in answer.aiter_raw():
                body += piece
                if len(body) > MAX_RESPONSE_BYTES:
                    return answer.status_code, b""
            return answer.status_code, bytes(body)

    def _document(self, alert: AlertView) -> Mapping[str, Any]:
        return {
            "text": f"{escape_controls(alert.says)} {alert.do} {self._page_url}",
            "id": alert.id,
            "kind": alert.kind,
            "says": escape_controls(alert.says),
            "do": alert.do,
            "runbook": alert.runbook,
            "first_at": alert.first_at.isoformat(),
            "last_at": alert.last_at.isoformat(),
            "count": alert.count,
        }


def build_transports(page_url: str) -> list[AlertTransport]:
    """The transports that the settings name: the webhook, and one for each address."""
    transports: list[AlertTransport] = []
    if settings.ALERT_WEBHOOK_URL:
        transports.append(WebhookTransport(settings.ALERT_WEBHOOK_URL, page_url=page_url))
    transports.extend(EmailTransport.to_each(settings.ALERT_EMAIL, page_url=page_url))
    return transports


def find_reported_failure(body: bytes) -> str | None:
    """A code for the failure that the body of a 2xx response reports; None where it reports none.

    In JSON: `ok` or `success` false, a non-empty `error` or `errors` (Slack and others), an `errcode` other than 0
    (DingTalk, WeCom). In text: the sentence that Teams sends with status 200.
    """
    if TEAMS_FAILURE in body.lower():
        return "said_delivery_failed"
    try:
        said = json.loads(body)
    except ValueError:
        return None
    if not isinstance(said, dict):
        return None
    for name in ("ok", "success"):
        if name in said and said[name] in (False, "false"):
            return f"said_{name}_false"
    if said.get("errcode") not in (None, 0, "0"):
        return "said_errcode"
    return next((f"said_{name}" for name in ("error", "errors") if said.get(name)), None)


def send_due(transports: Sequence[AlertTransport], *, now: Callable[[], float] = time.monotonic) -> int:
    """Send each due alert by every transport that has not sent it. Returns the count. Uses Django's connection."""
    if not transports:
        return 0
    _close_removed(transports)
    with connection.cursor() as cursor:
        cursor.execute(
            CLAIM, {"transports": [transport.name for transport in transports], "batch_size": BATCH_SIZE}
        )
        claimed = [alert for (alert,) in cursor.fetchall()]
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
    with connection.cursor() as cursor:
        cursor.execute(MARK_SENT, [transport.name, row.pk, transport.name])
    close_alert(AlertKind.NOT_SENT, transport.label)
    log.info("alerts.sent alert=%d way=%s", row.pk, transport.label)
    return True


def _close_removed(transports: Sequence[AlertTransport]) -> None:
    """Close alerts about transports that the settings no longer name."""
    former = Alert.objects.filter(kind=AlertKind.NOT_SENT, acknowledged_at=None)
    former = former.exclude(about__in=[transport.label for transport in transports])
    former.update(acknowledged_at=Now(), acknowledged_by=CLOSED_BY_SERVICE)
