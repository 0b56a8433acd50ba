"""The ways in which alerts are sent: e-mail and webhook.

Every e-mail address is a transport of its own, so that one that is refused delays no other and is retried alone. A
webhook has accepted an alert if it answers with 2xx within `WEBHOOK_TIMEOUT_S` and its body reports no failure: see
`find_reported_failure`.
"""

import asyncio
import hashlib
import json
import smtplib
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import httpx
from django.conf import settings
from django.core.mail import EmailMessage

from ops.alerts.mail import MAIL_TIMEOUT_S, LimitedMail
from ops.alerts.rows import AlertView
from ops.text import escape_controls, format_time

WEBHOOK_TIMEOUT_S = 5.0
"""From the connection to the end of the answer."""
MAX_RESPONSE_BYTES = 65_536
"""Of a webhook's response. A longer one is judged by its status alone."""
TEAMS_FAILURE = b"webhook message delivery failed"
"""In lower case. Incoming webhooks of Teams answer 200 with this where the channel refused the message."""


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
