"""Staff whose visit is over, who have no right, or who meet a fault, read words that are meant for them."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from django.db import connection
from django.test import RequestFactory

from ops import audit
from ops.models import AuditEntry
from ops.staff import error_pages
from tests.people import People, in_database
from tests.processes import Web
from tests.selections import newest
from tests.staff import open_staff_client

FOR_PARTICIPANTS = ("Go to the chat", "You can talk to the staff here", "You did nothing wrong")


def choose(staff_client: httpx.Client, service: Web, **headers: str) -> httpx.Response:
    form = {
        "csrfmiddlewaretoken": staff_client.cookies["csrftoken"],
        "preset": "pin_second",
        "reason": "A test",
    }
    return staff_client.post("/ops/routing/select/", data=form, headers={"Origin": service.url, **headers})


def test_a_change_after_a_sign_out_elsewhere_leads_back_to_the_page_and_changes_nothing(
    service: Web, people: People
) -> None:
    before = newest().version
    ines = people.add_ines()
    with open_staff_client(service, ines, people.password) as staff_client:
        staff_client.cookies.delete("companion")
        sent = choose(staff_client, service, Referer=f"{service.url}/ops/routing/")

        assert sent.status_code == 302
        assert sent.headers["location"] == "/staff/sign-in/?next=/ops/routing/"
        assert "nothing was changed" in staff_client.get(sent.headers["location"]).text
        form = {
            "username": ines.get_username(),
            "password": people.password,
            "next": "/ops/routing/",
            "csrfmiddlewaretoken": staff_client.cookies["csrftoken"],
        }
        back = staff_client.post("/staff/sign-in/", data=form, headers={"Origin": service.url})
        assert back.headers["location"] == "/ops/routing/"
        assert staff_client.get("/ops/routing/").status_code == 200
    assert newest().version == before


def drop_all_connections() -> None:
    """As a restart of the database does, without those of tests that run beside this one."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    # Those of the tests themselves are gone as well.
    connection.pool.drain()  # type: ignore[attr-defined]


def refusals_of(who: str) -> list[str]:
    rows = AuditEntry.objects.filter(who=who, what=audit.WAS_REFUSED).order_by("id")
    return in_database(lambda: list(rows.values_list("note", flat=True)))


def test_what_staff_are_refused_is_on_record_and_one_person_cannot_flood_it(
    service: Web, people: People
) -> None:
    sam = people.add_sam()
    with open_staff_client(service, sam, people.password) as staff_client:
        staff_client.timeout = 60
        assert choose(staff_client, service).status_code == 403
        assert refusals_of(sam.get_username()) == ["page staff_routing_select"]

        # Twice as many at once as the pool of pages has connections.
        with ThreadPoolExecutor(16) as many:
            codes = list(many.map(lambda _: choose(staff_client, service).status_code, range(48)))

    assert set(codes) == {403}
    notes = refusals_of(sam.get_username())
    assert len(notes) == audit.MAX_REFUSALS_A_MINUTE
    assert notes[-1].endswith("further ones within a minute are left out")


@pytest.mark.parametrize("referer", ["", "https://elsewhere.example.org/ops/routing/"])
def test_an_address_that_forms_are_sent_to_leads_to_its_page(
    service: Web, people: People, referer: str
) -> None:
    with open_staff_client(service, people.add_ines(), people.password) as staff_client:
        for path, page in (
            ("/ops/routing/select/", "/ops/routing/"),
            ("/ops/routing/revert/", "/ops/routing/"),
            ("/ops/alerts/1/seen/", "/ops/"),
        ):
            assert staff_client.get(path).headers["location"] == page
        staff_client.cookies.delete("companion")
        sent = choose(staff_client, service, **({"Referer": referer} if referer else {}))
        assert sent.headers["location"] == "/staff/sign-in/?next=/ops/routing/select/"


def test_staff_are_told_in_their_own_words_what_there_is_not_and_what_they_may_not_do(
    service: Web, people: People
) -> None:
    with open_staff_client(service, people.add_sam(), people.password) as staff_client:
        nowhere = staff_client.get("/ops/turns/999999999/")
        not_hers = choose(staff_client, service)
        staff_client.cookies.delete("csrftoken")
        too_old = staff_client.post("/ops/routing/select/", headers={"Origin": service.url})

    assert (nowhere.status_code, not_hers.status_code, too_old.status_code) == (404, 403, 403)
    for answer, words in (
        (nowhere, "There is no such page"),
        (not_hers, "This takes an operator"),
        (too_old, "Open it again"),
    ):
        assert words in answer.text and "Staff" in answer.text
        assert not any(said in answer.text for said in FOR_PARTICIPANTS)


def test_pages_are_answered_soon_after_the_database_dropped_as_many_connections_as_a_pool_holds(
    another_web: Callable[..., Web], people: People
) -> None:
    service, ines = another_web(), people.add_ines()
    with open_staff_client(service, ines, people.password) as staff_client:

        def open_page(_: int) -> int:
            return staff_client.get("/ops/routing/").status_code

        with ThreadPoolExecutor(16) as many:
            staff_client.timeout = 60
            assert set(many.map(open_page, range(48))) == {200}
        in_database(drop_all_connections)
        assert open_page(0) == 200


def test_refusals_are_answered_and_on_record_after_the_database_dropped_its_connections(
    another_web: Callable[..., Web], people: People
) -> None:
    service, sam = another_web(), people.add_sam()
    with open_staff_client(service, sam, people.password) as staff_client:

        def refused(_: int) -> tuple[int, int]:
            return staff_client.get("/ops/turns/999999999/").status_code, choose(
                staff_client, service
            ).status_code

        with ThreadPoolExecutor(4) as many:
            before = set(many.map(refused, range(4)))
            in_database(drop_all_connections)
            after = set(many.map(refused, range(4)))

    assert before == after == {(404, 403)}
    assert len(refusals_of(sam.get_username())) == 8


def test_participants_keep_their_own_words(service: Web) -> None:
    assert "Go to the chat" in httpx.get(f"{service.url}/nowhere/", trust_env=False).text


def test_a_fault_of_a_staff_page_is_said_to_staff_without_asking_the_database() -> None:
    staffs = error_pages.server_error(RequestFactory().get("/ops/turns/")).content.decode()
    theirs = error_pages.server_error(RequestFactory().get("/chat/")).content.decode()

    assert "tell an operator" in staffs and not any(said in staffs for said in FOR_PARTICIPANTS)
    assert "You can talk to the staff here" in theirs
