"""Needs as staff set and review them: on the audit record, by site, with a day of review (A6)."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from companion.models import Participant
from companion.needs import store
from companion.needs.models import Needs
from ops.people.needs import MAX_LISTED, has_overdue, list_overdue
from tests.database.test_desk_pages import page_of, text_of
from tests.people import People, Person, in_database
from tests.processes import Web
from tests.staff import get_audit_entries, open_staff_client

UNDO = "data-undo-button>"
"""The button is there, and not hidden."""


def needs_of(person: Person) -> Needs | None:
    return in_database(lambda: store.find_needs(person.row.pk))


def set_needs(person: Person, *, days_to_review: int = 100, **fields: Any) -> None:
    day = timezone.localdate() + timedelta(days=days_to_review)
    in_database(lambda: store.change_needs(person.row.pk, fields, review_by=day))


def post(client: httpx.Client, person: Person, **facts: str) -> httpx.Response:
    form = {**facts, "csrfmiddlewaretoken": client.cookies["csrftoken"]}
    return client.post(
        f"{page_of(person)}needs/", data=form, headers={"Origin": str(client.base_url).rstrip("/")}
    )


def test_staff_set_a_need_and_it_is_on_record_without_its_value(
    people: People, desk: httpx.Client, sam: User
) -> None:
    rosa = people.rosa
    assert "none recorded" in text_of(desk.get(page_of(rosa)))
    assert "Nothing is recorded yet" in text_of(desk.get(f"{page_of(rosa)}needs/"))

    answer = post(desk, rosa, type="biggest")

    assert answer.status_code == 302
    needs = needs_of(rosa)
    assert needs is not None
    assert (needs.type_percent, needs.whole_messages, needs.set_by) == (200, True, sam.get_username())
    entries = get_audit_entries(rosa)
    assert [(entry.what, entry.note) for entry in entries if entry.what == "set_needs"] == [
        ("set_needs", "type")
    ]
    page = text_of(desk.get(page_of(rosa)))
    assert "Biggest; As a whole, once it is done" in page


def test_staff_change_a_choice_back_and_nothing_is_recorded_any_more(
    people: People, desk: httpx.Client
) -> None:
    rosa = people.rosa
    desk.get(f"{page_of(rosa)}needs/")
    post(desk, rosa, contrast="strong")
    assert UNDO in desk.get(f"{page_of(rosa)}needs/").text

    post(desk, rosa, undo="1")

    assert needs_of(rosa) is None


def test_an_overdue_review_is_seen_and_listed_and_hides_no_need(
    service: Web, people: People, desk: httpx.Client
) -> None:
    rosa, otto = people.rosa, people.otto
    set_needs(rosa, type_percent=150, days_to_review=-1)
    set_needs(otto, type_percent=150, days_to_review=-1)

    assert "overdue for a review" in text_of(desk.get("/ops/people/"))
    listed = text_of(desk.get("/ops/needs/"))
    assert "Rosa" in listed and "Otto" not in listed
    assert "Review overdue since" in text_of(desk.get(page_of(rosa)))
    cookies = {"companion": rosa.sign_in(service.url)}
    with httpx.Client(base_url=service.url, cookies=cookies, trust_env=False) as browser:
        assert 'data-type="150"' in browser.get("/chat/").text

    day = timezone.localdate() + timedelta(days=30)
    post(desk, rosa, review_by=day.isoformat())

    assert "Rosa" not in text_of(desk.get("/ops/needs/"))
    needs = needs_of(rosa)
    assert needs is not None and (needs.review_by, needs.type_percent) == (day, 150)
    assert "reviewed_needs" in [entry.what for entry in get_audit_entries(rosa)]


def test_a_review_that_is_overdue_is_seen_behind_many_older_ones_of_other_sites(people: People) -> None:
    """Only so many of the oldest are read at first."""
    rosa = people.rosa
    today = timezone.localdate()

    def store_older() -> None:
        site = people.elsewhere
        others = Participant.objects.bulk_create(
            Participant(site=site, name="Otto", card_handle=uuid4().hex[:8]) for _ in range(MAX_LISTED)
        )
        Needs.objects.bulk_create(
            Needs(participant=one, review_by=today - timedelta(days=4_000)) for one in others
        )

    in_database(store_older)
    assert not in_database(lambda: has_overdue([people.site.pk]))
    set_needs(rosa, days_to_review=-1)

    assert in_database(lambda: has_overdue([people.site.pk]))
    assert [one.participant for one in in_database(lambda: list_overdue([people.site.pk]))] == [rosa.row.pk]


@pytest.mark.parametrize("typed", ["", "soon", "2020-01-01", "2099-01-01", "0001-01-01"])
def test_a_day_of_review_that_is_none_is_refused_in_a_sentence(
    people: People, desk: httpx.Client, typed: str
) -> None:
    rosa = people.rosa
    set_needs(rosa, type_percent=150)
    before = needs_of(rosa)
    desk.get(f"{page_of(rosa)}needs/")

    post(desk, rosa, review_by=typed)

    assert "after today and within a year" in text_of(desk.get(f"{page_of(rosa)}needs/"))
    after = needs_of(rosa)
    assert before is not None and after is not None and after.review_by == before.review_by


def test_the_needs_of_another_site_are_not_there_and_an_operator_states_a_reason_first(
    service: Web, people: People, desk: httpx.Client
) -> None:
    otto = people.otto
    set_needs(otto, type_percent=150)

    assert desk.get(f"{page_of(otto)}needs/").status_code == 404
    assert post(desk, otto, type="usual").status_code == 404
    with open_staff_client(service, people.add_ines(), people.password) as operator:
        assert operator.get(f"{page_of(otto)}needs/").headers["location"] == page_of(otto)
        assert post(operator, otto, type="usual").status_code == 403
        listed = text_of(operator.get("/ops/needs/"))

    assert "Otto" not in listed
    needs = needs_of(otto)
    assert needs is not None and needs.type_percent == 150


def test_a_change_elsewhere_is_not_undone(people: People, desk: httpx.Client) -> None:
    rosa = people.rosa
    desk.get(f"{page_of(rosa)}needs/")
    post(desk, rosa, type="big")
    set_needs(rosa, contrast="strong")

    assert UNDO not in desk.get(f"{page_of(rosa)}needs/").text
    post(desk, rosa, undo="1")

    needs = needs_of(rosa)
    assert needs is not None and (needs.type_percent, needs.contrast) == (150, "strong")
