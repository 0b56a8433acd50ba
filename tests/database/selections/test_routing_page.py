"""The staff's page about lanes, without a browser: who may look, who may move traffic, and what is asked of them."""

import re
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from ops.alerts.kinds import AlertKind
from ops.alerts.rows import raise_alert
from ops.lane_checks.answers import LaneAnswer
from ops.lane_checks.results import store_answers
from ops.models import Alert, AuditEntry
from routing.lanes import NORMAL
from tests.patience import until
from tests.people import People, in_database
from tests.processes import Web
from tests.selections import forget_lane_answers, insert, newest, select
from tests.staff import open_staff_client

BEARER = {"Authorization": "Bearer a token for tests"}


@pytest.fixture(autouse=True)
def _drilled() -> None:
    """Every lane but the last has passed its drill, so that only `local_only` asks twice."""
    forget_lane_answers()
    drilled("rehearsal", ok=True)
    drilled("rehearsal_second", ok=True)


def drilled(lane: str, *, ok: bool, at: datetime | None = None) -> None:
    answer = LaneAnswer(
        lane=lane,
        at=at or timezone.now(),
        ok=ok,
        failure="" if ok else "network",
        first_word_ms=100,
        words=9,
        how="drill",
    )
    in_database(lambda: store_answers([answer]))


def post(staff_client: httpx.Client, path: str, **fields: Any) -> httpx.Response:
    form = {"csrfmiddlewaretoken": staff_client.cookies["csrftoken"], **fields}
    return staff_client.post(path, data=form, headers={"Origin": str(staff_client.base_url).rstrip("/")})


def choose(staff_client: httpx.Client, preset: str, **fields: Any) -> httpx.Response:
    return post(staff_client, "/ops/routing/select/", **{"preset": preset, "reason": "A test", **fields})


def test_an_operator_moves_traffic_with_a_reason_and_back_with_one_press(
    service: Web, people: People
) -> None:
    ines = people.add_ines()
    before = newest().version
    with open_staff_client(service, ines, people.password) as staff_client:
        answer = choose(staff_client, "pin_second", hours="8")
        assert (answer.status_code, answer.headers["location"]) == (302, "/ops/routing/")
        chosen = newest()
        assert (chosen.version, chosen.preset, chosen.by) == (before + 1, "pin_second", ines.username)
        assert chosen.expires_at == chosen.at + timedelta(hours=8)
        shown = staff_client.get("/ops/routing/").text
        assert "In force: <code>pin_second</code>" in shown
        assert "pin_second is selected, as version" in shown

        assert post(staff_client, "/ops/routing/revert/").status_code == 302
        assert (newest().preset, newest().by) == (NORMAL, ines.username)
        assert "Back to normal</button>" not in staff_client.get("/ops/routing/").text


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("Slow\r\nVersion 9: normal, by Sam", "The reason has to be one line."),
        ("Slow\x1b[2J", "The reason holds a character that cannot be shown."),
    ],
)
def test_a_reason_of_two_lines_or_with_controls_is_refused_in_a_sentence(
    service: Web, people: People, reason: str, said: str
) -> None:
    before = newest()
    with open_staff_client(service, people.add_ines(), people.password) as staff_client:
        answer = choose(staff_client, "pin_second", hours="1", reason=reason)

    assert f"Nothing was selected. {said}" in answer.text
    assert newest() == before


def test_a_head_that_has_never_answered_asks_for_a_second_yes(service: Web, people: People) -> None:
    before = newest()
    with open_staff_client(service, people.add_ines(), people.password) as staff_client:
        asked = choose(staff_client, "local_only", hours="1")
        assert asked.status_code == 200
        assert "rehearsal_local comes first in this chain and has not answered in the last day." in asked.text
        assert newest() == before

        choose(staff_client, "local_only", hours="1", sure="yes")
        assert newest().preset == "local_only"


def test_a_lane_that_failed_its_drill_is_not_trusted_and_asks_for_a_second_yes(
    service: Web, people: People
) -> None:
    drilled("rehearsal_second", ok=False)
    with open_staff_client(service, people.add_ines(), people.password) as staff_client:
        assert "NOT TRUSTED: its drill failed (network)" in staff_client.get("/ops/routing/").text
        assert "rehearsal_second failed its last drill" in choose(staff_client, "pin_second").text
    assert newest().preset == NORMAL


def test_a_form_from_before_another_selection_is_refused_and_changes_nothing(
    service: Web, people: People
) -> None:
    seen = newest().version
    select("drop_first")
    with open_staff_client(service, people.add_ines(), people.password) as staff_client:
        answer = choose(staff_client, "pin_second", seen=seen)
    assert "Meanwhile Ines selected drop_first" in answer.text
    assert newest().preset == "drop_first"


@pytest.mark.parametrize(
    "fields",
    [
        {"reason": ""},
        {"reason": "  "},
        {"reason": "x" * 201},
        {"preset": ""},
        {"hours": "3000"},
        {"hours": "x"},
        {"seen": "x"},
    ],
)
def test_nonsense_is_answered_with_a_sentence_and_what_was_entered(
    service: Web, people: People, fields: dict[str, str]
) -> None:
    before = newest()
    with open_staff_client(service, people.add_ines(), people.password) as staff_client:
        answer = choose(staff_client, **{"preset": "pin_second", **fields})
    assert 'role="alert">Nothing was selected.' in answer.text
    assert newest() == before


def test_a_preset_that_does_not_exist_is_refused(service: Web, people: People) -> None:
    with open_staff_client(service, people.add_ines(), people.password) as staff_client:
        answer = choose(staff_client, "mine")
    assert "There is no preset" in answer.text


def test_other_staff_may_look_and_nothing_more(service: Web, people: People) -> None:
    in_database(lambda: raise_alert(AlertKind.QUOTA, "primary"))
    before = newest()
    with open_staff_client(service, people.add_sam(), people.password) as staff_client:
        shown = staff_client.get("/ops/routing/")
        assert shown.status_code == 200
        # Processes of other tests may have something else to tell.
        assert re.search(r"There (is 1|are \d+) open problems? for operators\.", shown.text)
        assert "<fieldset" not in shown.text
        alert = in_database(lambda: Alert.objects.get(kind=AlertKind.QUOTA).pk)
        for path in ("/ops/routing/select/", "/ops/routing/revert/", f"/ops/alerts/{alert}/seen/"):
            assert post(staff_client, path, preset="pin_second", reason="x").status_code == 403
    assert newest() == before
    assert in_database(lambda: Alert.objects.get(id=alert).acknowledged_at) is None


def test_strangers_are_asked_to_sign_in_and_nothing_is_selected_by_a_link(
    service: Web, people: People
) -> None:
    with httpx.Client(base_url=service.url, trust_env=False) as stranger:
        assert stranger.get("/ops/routing/").headers["location"].startswith("/staff/sign-in/")
    before = newest()
    with open_staff_client(service, people.add_ines(), people.password) as staff_client:
        for path in ("/ops/routing/select/", "/ops/routing/revert/", "/ops/alerts/1/seen/"):
            assert staff_client.get(path).status_code == 302
    assert newest() == before


@pytest.mark.parametrize(
    ("wanted", "leads_to"),
    [
        ("/ops/routing/", "/ops/routing/"),
        ("https://elsewhere.example/ops/", "/ops/"),
        ("//elsewhere.example/ops/", "/ops/"),
        ("/opsx/", "/ops/"),
        ("", "/ops/"),
    ],
)
def test_an_alert_that_an_operator_has_seen_goes_with_their_name_on_record(
    service: Web, people: People, wanted: str, leads_to: str
) -> None:
    ines: User = people.add_ines()
    in_database(lambda: raise_alert(AlertKind.QUOTA, "primary"))
    alert = in_database(lambda: Alert.objects.get(kind=AlertKind.QUOTA).pk)
    with open_staff_client(service, ines, people.password) as staff_client:
        assert "Our account for lane primary has no credit" in staff_client.get("/ops/turns/").text
        answer = post(staff_client, f"/ops/alerts/{alert}/seen/", next=wanted)
        assert (answer.status_code, answer.headers["location"]) == (302, leads_to)
        assert "Our account for lane primary" not in staff_client.get("/ops/turns/").text

    row = in_database(lambda: Alert.objects.get(id=alert))
    assert row.acknowledged_by == ines.username
    last = in_database(lambda: AuditEntry.objects.order_by("-id").first())
    assert last is not None
    assert (last.who, last.what, last.note) == (ines.username, "saw_alert", f"alert {alert}")


def test_a_reason_with_markup_is_shown_as_letters_on_the_page(service: Web, people: People) -> None:
    with open_staff_client(service, people.add_ines(), people.password) as staff_client:
        choose(staff_client, "pin_second", reason="<b>bold</b><script>1</script>")
        shown = staff_client.get("/ops/routing/").text
    assert "<b>bold" not in shown
    assert "&lt;b&gt;bold" in shown


def test_a_row_this_release_cannot_use_is_shown_as_not_in_force(service: Web, people: People) -> None:
    good = select("pin_second")
    insert("of_the_next_release")
    with open_staff_client(service, people.add_ines(), people.password) as staff_client:
        shown = staff_client.get("/ops/routing/").text
    assert "In force: <code>pin_second</code>" in shown
    assert f"<dd>{good.version}</dd>" in shown
    assert "<strong>Not in force:</strong>" in shown


async def test_programs_read_what_is_in_force_who_decided_it_and_how_its_lanes_are(service: Web) -> None:
    chosen = select("drop_first")

    def told() -> dict[str, Any]:
        figures = httpx.get(f"{service.url}/ops/status.json", headers=BEARER, trust_env=False).json()
        routing: dict[str, Any] = figures["routing"]
        return routing

    await until(lambda: told()["behind"] == [], within_s=10)
    routing = told()
    assert {name: routing[name] for name in ("version", "preset", "by", "reason")} == {
        "version": chosen.version,
        "preset": "drop_first",
        "by": "Ines",
        "reason": "A test",
    }
    assert datetime.fromisoformat(routing["expires_at"]) == chosen.expires_at
    assert [lane["lane"] for lane in routing["chain"]] == ["rehearsal_second", "rehearsal_local"]
    assert [lane["state"] for lane in routing["chain"]] == ["closed", "closed"]
    assert routing["chain"][0]["last_answered_at"] is not None
    assert routing["chain"][1]["last_answered_at"] is None
