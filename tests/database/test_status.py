"""The first look for operators: alive, ready, and the figures of the moment."""

from datetime import timedelta

import httpx
import pytest
from django.utils import timezone

from companion.models import Process
from ops.alerts.kinds import AlertKind
from ops.alerts.rows import raise_alert
from ops.jobs import send_alerts
from ops.models import Alert, Round
from ops.stack.version import VERSION
from tests.page_socket import Page
from tests.people import People, in_database
from tests.processes import Rehearsal, Web
from tests.staff import BEARER, figures


def test_a_running_process_is_alive_and_ready(service: Web) -> None:
    for path in ("/healthz", "/readyz"):
        assert httpx.get(service.url + path, trust_env=False).status_code == 200


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic YTpi"}])
def test_the_figures_are_for_staff_or_the_bearer_of_the_token_alone(
    service: Web, headers: dict[str, str]
) -> None:
    answer = httpx.get(f"{service.url}/ops/status.json", headers=headers, trust_env=False)
    assert answer.status_code == 401


async def test_the_figures_count_the_turn_that_speaks_and_the_question_that_is_held(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    before = figures(service)
    rehearsal.inject({"cut": "fin", "after": 40, "pace_ms": 20}, times=1)
    async with Page(service.socket_url, people.rosa.sign_in(service.url)) as page:
        await page.say("How are things?")
        await page.until("words")
        during = figures(service)
        await page.ending()
    after = figures(service)
    assert during["in_flight"] == before["in_flight"] + 1
    assert after["held_questions"] == before["held_questions"] + 1
    assert after["last_hour"]["paused"] == before["last_hour"]["paused"] + 1
    assert after["version"] == VERSION
    assert after["persona"]["name"] == "Robin"
    assert len(after["persona"]["version"]) == 16
    assert after["routing"]["preset"] == "normal"
    assert {"ceiling", "wait_ceiling_s", "hold_s", "oldest_wait_s"} <= after.keys()
    assert all({"id", "in_flight", "sockets", "beat_age_s"} <= one.keys() for one in after["processes"])
    assert after["first_word_ms"]["p50"] > 0


async def test_the_figures_name_why_replies_broke_off_and_how_the_calls_to_each_lane_ended(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    before = figures(service)
    rehearsal.inject({"status": 503}, times=1)
    rehearsal.inject({"status": 401, "error": "invalid_key"}, times=1)
    async with Page(service.socket_url, people.rosa.sign_in(service.url)) as page:
        await page.say("How are things?")
        await page.ending()
    after = figures(service)

    def grew(name: str, *path: str) -> dict[str, int]:
        old, new = before[name], after[name]
        for step in path:
            old, new = old.get(step, {}), new[step]
        return {key: count - old.get(key, 0) for key, count in new.items() if count != old.get(key, 0)}

    assert grew("paused_last_hour_by_reason") == {"misconfigured": 1}
    assert grew("attempts_last_hour_by_lane", "rehearsal") == {"server_error": 1, "misconfigured": 1}
    counts = list(after["attempts_last_hour_by_lane"]["rehearsal"].values())
    assert counts == sorted(counts, reverse=True)


def test_the_figures_say_when_a_backup_was_last_proved_and_when_it_is_due(service: Web) -> None:
    assert set(figures(service)["drill"]) == {"last_at", "verdict", "proved_at", "proved_as_of", "due_at"}


def test_the_figures_say_when_alerts_were_last_looked_through_and_which_are_open(service: Web) -> None:
    in_database(lambda: Round.objects.all().delete())
    assert figures(service)["alerts"]["looked_through_s"] is None
    try:
        in_database(send_alerts)
        in_database(lambda: raise_alert(AlertKind.QUOTA, "of this test"))
        told = figures(service)["alerts"]
    finally:
        in_database(lambda: Round.objects.all().delete())
        in_database(lambda: Alert.objects.filter(about="of this test").delete())
    assert 0 <= told["looked_through_s"] < 60
    assert told["open"]["quota"] >= 1


def test_a_process_that_died_is_listed_for_ten_minutes_and_is_in_no_sum(service: Web) -> None:
    for name, age_s in (("aaaaaa", 30), ("bbbbbb", 700)):
        then = timezone.now() - timedelta(seconds=age_s)
        facts = {"host": "here", "pid": 1, "sockets": 900, "started_at": then, "beat_at": then}
        dead = f"00000000-0000-0000-0000-000000{name}"
        in_database(lambda dead=dead, facts=facts: Process.objects.create(id=dead, **facts))  # type: ignore[misc]
    try:
        listed = {one["id"][-6:] for one in figures(service)["processes"]}
        metrics = httpx.get(f"{service.url}/metrics", headers=BEARER, trust_env=False).text
    finally:
        in_database(lambda: Process.objects.filter(host="here").delete())
    assert "aaaaaa" in listed and "bbbbbb" not in listed
    assert "00000000-0000" not in metrics
    assert "companion_routing_version{" in metrics
