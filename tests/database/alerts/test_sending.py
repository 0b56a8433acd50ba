"""Alerts leave by e-mail and webhook, once by each way, and what fails is tried again without holding anything up."""

import logging
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.test import override_settings
from django.utils import timezone

from ops.alerts.kinds import AlertKind
from ops.alerts.mail import MAIL_TIMEOUT_S
from ops.alerts.rows import acknowledge, raise_alert
from ops.alerts.sending import send_due
from ops.alerts.transports import (
    MAX_RESPONSE_BYTES,
    WEBHOOK_TIMEOUT_S,
    AlertTransport,
    EmailTransport,
    WebhookTransport,
)
from ops.jobs import send_alerts
from ops.models import Alert
from ops.stack.postgres import EmbeddedPostgres
from tests.ledgers import are_sessions_idle
from tests.people import in_database
from tests.processes import pause_processes
from tests.sinks import Hook, Mailbox

PAGE_URL = "http://127.0.0.1:8000/ops/"


@pytest.fixture(autouse=True)
def alone(database: EmbeddedPostgres) -> Iterator[None]:
    """Without the web processes of other tests: an alert that one of them raises would be sent, and counted, here."""
    with pause_processes(are_sessions_idle):
        in_database(lambda: Alert.objects.all().delete())
        yield


def raised(kind: AlertKind = AlertKind.QUOTA, about: str = "primary") -> int:
    in_database(lambda: raise_alert(kind, about))
    return in_database(lambda: Alert.objects.get(kind=kind, about=about, acknowledged_at=None).pk)


def due_again() -> None:
    """As if the time until the next try had passed."""
    in_database(lambda: Alert.objects.update(send_at=timezone.now() - timedelta(seconds=1)))


def send(*ways: AlertTransport) -> int:
    return in_database(lambda: send_due(ways))


def by_webhook(server: Hook, *, timeout_s: float = WEBHOOK_TIMEOUT_S) -> WebhookTransport:
    return WebhookTransport(server.url, page_url=PAGE_URL, timeout_s=timeout_s)


def by_email(*addresses: str, timeout_s: float = MAIL_TIMEOUT_S) -> list[EmailTransport]:
    return EmailTransport.to_each(addresses, page_url=PAGE_URL, timeout_s=timeout_s)


def test_a_webhook_gets_a_sentence_what_to_do_and_where_to_look_once(posts: Hook) -> None:
    alert = raised()
    assert send(by_webhook(posts)) == 1
    due_again()
    assert send(by_webhook(posts)) == 0

    (post,) = posts.posts
    assert post["text"] == (
        "Our account for lane primary has no credit or allowance left. "
        "The next lanes of the chain take over. Have the account renewed. " + PAGE_URL
    )
    assert (post["id"], post["kind"], post["count"]) == (alert, "quota", 1)
    assert post["runbook"] == "ops/runbooks/a-provider-is-failing.md"


def test_an_e_mail_goes_to_each_address_with_a_subject_of_one_line(letters: Mailbox) -> None:
    raised(about="primary\nBcc: x@example.org")
    assert send(*by_email("ines@example.org", "on-call@example.org")) == 2

    letter, _ = letters.letters
    assert letters.recipients == ["ines@example.org", "on-call@example.org"]
    head, body = letter.split("\r\n\r\n", 1)
    assert "From: companion@example.org" in head
    assert "\nBcc:" not in head
    assert PAGE_URL in body


def test_each_way_gets_it_once_even_where_the_other_fails(letters: Mailbox, posts: Hook) -> None:
    alert = raised()
    posts.status = 500
    (email,) = by_email("ines@example.org")
    ways = (email, by_webhook(posts))

    assert send(*ways) == 1
    assert send(*ways) == 0, "it is not tried again at once"
    posts.status = 204
    due_again()
    assert send(*ways) == 1

    assert (len(letters.letters), len(posts.posts)) == (1, 2)
    row = in_database(lambda: Alert.objects.get(id=alert))
    assert (row.sent_by, row.sendings) == ([email.name, "webhook"], 2)


@pytest.mark.parametrize("status", [301, 404, 500])
def test_a_webhook_that_does_not_take_it_is_tried_again_and_its_address_stays_out_of_the_log(
    posts: Hook, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    raised()
    posts.status = status
    with caplog.at_level(logging.INFO, logger="ops"):
        assert send(by_webhook(posts)) == 0

    assert f"way=webhook cause=status_{status}" in caplog.text
    assert "a-secret-path" not in "".join(
        record.getMessage() for record in caplog.records if record.name.startswith("ops")
    )
    assert in_database(lambda: Alert.objects.get(kind=AlertKind.QUOTA).sent_by) == []


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        (b'{"ok": false, "error": "channel_not_found"}', "said_ok_false"),
        (b'{"success": "false"}', "said_success_false"),
        (b'{"ok": true, "error": {"code": 7}}', "said_error"),
        (b'{"errors": ["too many"]}', "said_errors"),
        (b'{"errcode": 310000, "errmsg": "keywords not in content"}', "said_errcode"),
        (b'{"errcode": 0, "errmsg": "ok"}', None),
        (
            b"Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429",
            "said_delivery_failed",
        ),
        (b"1", None),
        (b'{"ok": true, "error": null, "errors": []}', None),
        (b'{"id": 4}', None),
        (b"ok", None),
        (b"false", None),
        (b"[1]", None),
        (b"\xff\xfe", None),
        (b'{"ok": false, "x": "' + b"x" * MAX_RESPONSE_BYTES + b'"}', None),
    ],
)
def test_a_webhook_that_answers_200_and_says_that_it_failed_has_not_taken_it(
    posts: Hook, body: bytes, cause: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    raised()
    posts.body = body
    assert send(by_webhook(posts)) == (0 if cause else 1)
    assert ("cause=" in caplog.text) is bool(cause)
    assert cause is None or f"way=webhook cause={cause}\n" in caplog.text


def test_a_webhook_that_answers_a_byte_at_a_time_is_left_in_time_and_keeps_no_e_mail_back(
    posts: Hook, letters: Mailbox
) -> None:
    raised()
    raised(AlertKind.MISCONFIGURED)
    posts.trickles.set()
    began = time.monotonic()
    assert send(by_webhook(posts, timeout_s=1), *by_email("ines@example.org")) == 2
    assert 1 <= time.monotonic() - began < WEBHOOK_TIMEOUT_S
    assert len(posts.posts) == 1, "what does not answer is asked once in a round"


def test_a_mail_server_that_answers_a_byte_at_a_time_is_left_in_time(letters: Mailbox) -> None:
    raised()
    letters.trickles.set()
    began = time.monotonic()
    assert send(*by_email("ines@example.org", "sam@example.org", timeout_s=1)) == 0
    assert 1 <= time.monotonic() - began < MAIL_TIMEOUT_S


def test_one_address_that_is_refused_holds_up_no_other_and_is_told_of_until_it_works(
    letters: Mailbox, posts: Hook
) -> None:
    raised()
    letters.refuses.add("gone@example.org")
    ways: list[AlertTransport] = [*by_email("ines@example.org", "gone@example.org"), by_webhook(posts)]
    assert send(*ways) == 2
    assert not_sent() == []
    due_again()
    assert send(*ways) == 0
    assert letters.recipients.count("ines@example.org") == 1
    assert not_sent() == ["e-mail to address 2 of 2 in ALERT_EMAIL"]

    assert send(*ways) == 2
    assert posts.posts[-1]["says"] == "Alerts do not go out by e-mail to address 2 of 2 in ALERT_EMAIL."
    assert "gone@example.org" not in str(posts.posts)

    letters.refuses.clear()
    due_again()
    assert send(*ways) >= 1
    assert not_sent() == []


def test_a_way_that_no_setting_names_any_more_is_no_longer_told_of(posts: Hook) -> None:
    in_database(lambda: raise_alert(AlertKind.NOT_SENT, "e-mail to address 2 of 2 in ALERT_EMAIL"))
    in_database(lambda: raise_alert(AlertKind.NOT_SENT, "webhook"))
    posts.status = 500
    send(by_webhook(posts))
    assert not_sent() == ["webhook"]


def not_sent() -> list[str]:
    rows = Alert.objects.filter(kind=AlertKind.NOT_SENT, acknowledged_at=None).order_by("about")
    return in_database(lambda: [row.about for row in rows])


def test_no_sending_begins_after_the_time_of_a_round(posts: Hook) -> None:
    raised()
    raised(AlertKind.MISCONFIGURED)
    clock = iter([0.0, 59.0, 61.0])
    assert in_database(lambda: send_due([by_webhook(posts)], now=lambda: next(clock))) == 1
    assert len(posts.posts) == 1


def test_what_an_operator_has_just_seen_stands_on_the_page_at_once_and_goes_out_after_a_quiet_time(
    posts: Hook,
) -> None:
    alert = raised()
    assert send(by_webhook(posts)) == 1
    in_database(lambda: acknowledge(alert, by="ines", at=timezone.now()))
    again = raised()
    assert again != alert
    assert send(by_webhook(posts)) == 0

    seen_at = timezone.now() - timedelta(minutes=61)
    in_database(lambda: Alert.objects.filter(id=again).delete())
    in_database(lambda: Alert.objects.filter(id=alert).update(acknowledged_at=seen_at))
    raised()
    assert send(by_webhook(posts)) == 1


def test_a_mail_server_that_refuses_or_is_away_is_tried_again(letters: Mailbox) -> None:
    raised()
    letters.answers = b"550 no such person"
    (way,) = by_email("unread@example.org")
    assert send(way) == 0
    with override_settings(EMAIL_PORT=1):
        due_again()
        assert send(way) == 0
    letters.answers = b"250 yes"
    due_again()
    assert send(way) == 1


@pytest.mark.parametrize("bad", ["ops@example.org; boss@example.org", "ops@", "ops"])
def test_an_address_that_is_none_stops_neither_the_webhook_nor_the_next_alert(
    letters: Mailbox, posts: Hook, bad: str
) -> None:
    raised()
    raised(AlertKind.MISCONFIGURED)
    letters.answers = b"550 no such person"
    assert send(*by_email(bad), by_webhook(posts)) == 2
    assert [post["kind"] for post in posts.posts] == ["quota", "misconfigured"]


@pytest.mark.parametrize(
    ("kind", "quiet_h"),
    [
        (AlertKind.MISCONFIGURED, 6),
        (AlertKind.QUOTA, 6),
        (AlertKind.ALL_LANES_OPEN, 6),
        (AlertKind.DRILL_FAILED, 24),
    ],
)
def test_an_alert_that_comes_again_after_a_quiet_time_is_sent_again_though_it_was_not_seen(
    posts: Hook, kind: AlertKind, quiet_h: int
) -> None:
    alert = raised(kind)
    assert send(by_webhook(posts)) == 1

    sent_ago(alert, timedelta(hours=quiet_h - 2))
    assert raised(kind) == alert
    assert send(by_webhook(posts)) == 0, "it has gone out lately"

    sent_ago(alert, timedelta(hours=quiet_h, minutes=1))
    assert raised(kind) == alert
    assert send(by_webhook(posts)) == 1
    assert [post["count"] for post in posts.posts] == [1, 3]


def test_what_is_raised_once_a_day_is_sent_once_a_day(posts: Hook) -> None:
    for day in range(3):
        alert = raised(AlertKind.RESTORE_UNPROVED, "no drill has proved it yet")
        assert send(by_webhook(posts)) == 1, day
        assert send(by_webhook(posts)) == 0
        sent_ago(alert, timedelta(days=1) - timedelta(seconds=50))


def sent_ago(alert: int, length: timedelta) -> None:
    """As if it had come and gone out so long ago."""
    then = timezone.now() - length
    in_database(lambda: Alert.objects.filter(id=alert).update(first_at=then, last_at=then, send_at=then))


def test_an_alert_that_was_seen_or_is_a_day_old_is_not_sent(posts: Hook) -> None:
    alert = raised()
    in_database(lambda: acknowledge(alert, by="ines", at=timezone.now()))
    old = raised(AlertKind.MISCONFIGURED)
    sent_ago(old, timedelta(days=2))
    assert send(by_webhook(posts)) == 0
    assert posts.posts == []


def test_where_no_way_is_set_up_nothing_is_claimed() -> None:
    alert = raised()
    in_database(send_alerts)
    assert in_database(lambda: Alert.objects.get(id=alert).sendings) == 0


def test_the_job_sends_by_the_ways_that_the_settings_name(letters: Mailbox, posts: Hook) -> None:
    raised()
    with override_settings(ALERT_EMAIL=["ines@example.org"], ALERT_WEBHOOK_URL=posts.url):
        in_database(send_alerts)
    assert (len(letters.letters), len(posts.posts)) == (1, 1)
