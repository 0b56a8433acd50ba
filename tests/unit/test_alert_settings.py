"""The settings by which alerts leave the house are read by readers that refuse nonsense, and never say a secret."""

import pytest

from ops.project.addresses import MailServer, SettingInvalid
from ops.project.env import Environment


def environment(**settings: str) -> Environment:
    return Environment({"COMPANION_STATE_DIR": "/nowhere", **settings})


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://localhost", MailServer(host="localhost", port=25)),
        ("smtp://mail.example.org:2525", MailServer(host="mail.example.org", port=2525)),
        (
            "smtp+tls://me%40example.org:p%2Fw@mail.example.org",
            MailServer(
                host="mail.example.org", port=587, user="me@example.org", password="p/w", starttls=True
            ),
        ),
        ("smtps://mail.example.org", MailServer(host="mail.example.org", port=465, tls=True)),
    ],
)
def test_a_mail_server_is_read_from_its_address(url: str, server: MailServer) -> None:
    assert environment(EMAIL_URL=url).mail_server("EMAIL_URL") == server


def test_without_an_address_there_is_no_mail_server() -> None:
    assert environment().mail_server("EMAIL_URL") is None


@pytest.mark.parametrize(
    "url",
    ["mail.example.org", "http://a-secret@x", "smtp://", "smtp://x:99999", "smtp://x/path", "smtp://x?y=z"],
)
def test_an_address_of_no_mail_server_is_refused_without_saying_it(url: str) -> None:
    with pytest.raises(SettingInvalid, match="EMAIL_URL must look like") as refusal:
        environment(EMAIL_URL=url).mail_server("EMAIL_URL")
    assert "a-secret" not in str(refusal.value)


@pytest.mark.parametrize(
    "url",
    [
        "hooks.example.org/a-secret",
        "ftp://hooks.example.org/a-secret",
        "https:///a-secret",
        "http://[::1/a-secret",
    ],
)
def test_a_webhook_is_an_address_of_the_web_and_is_not_said(url: str) -> None:
    with pytest.raises(SettingInvalid, match="ALERT_WEBHOOK_URL must be") as refusal:
        environment(ALERT_WEBHOOK_URL=url).web_address("ALERT_WEBHOOK_URL")
    assert "a-secret" not in str(refusal.value)
    assert environment(ALERT_WEBHOOK_URL="https://x/y").web_address("ALERT_WEBHOOK_URL") == "https://x/y"


@pytest.mark.parametrize(
    "written",
    [
        "ines@example.org",
        "Ines <ines@example.org>",
        "root@localhost",
        "ines@bücher.example, on-call@example.org",
    ],
)
def test_who_gets_alerts_is_a_list_of_addresses(written: str) -> None:
    assert environment(ALERT_EMAIL=written).mailboxes("ALERT_EMAIL") == written.split(", ")


@pytest.mark.parametrize(
    "written",
    [
        "a-secret@example.org; b@example.org",
        "a-secret@",
        "a-secret",
        "@example.org",
        "a-secret b@c",
        "<>",
        "a@b@c",
    ],
)
def test_what_is_no_address_is_refused_at_the_start_without_saying_it(written: str) -> None:
    with pytest.raises(SettingInvalid, match="ALERT_EMAIL: entry 2 is no e-mail address") as refusal:
        environment(ALERT_EMAIL=f"ines@example.org, {written}").mailboxes("ALERT_EMAIL")
    assert "a-secret" not in str(refusal.value)
