"""Guesses are limited for the machine and never for the person, and what is not known is not confirmed (A1, A2)."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import psycopg
import pytest
from django.db import transaction
from django.utils import timezone

from companion.cards import PICTURES
from companion.machines.models import PairingCode
from companion.machines.pairing import MAX_SHOWN_CODES_PER_NETWORK, show_code, shows_code
from companion.machines.tokens import hash_network
from companion.models import Site, Visit
from companion.visits.idle import (
    MAX_UNLOCK_MISSES,
    MAX_UNLOCK_MISSES_ON_MACHINE,
    UNLOCK_MISSES_DAYS,
    UNLOCK_MISSES_ON_MACHINE_DAYS,
)
from companion.visits.leaving import sign_leaving_ticket
from companion.visits.link_tries import MAX_MISSES, MAX_MISSES_ON_NEW_PLACES
from ops.people.cards import ParticipantQuery, renew_card
from ops.people.machines import withdraw_machine
from ops.stack.postgres import EmbeddedPostgres
from tests.machines import MachineBrowser, add_machine, last_visit, live_visits, offer, open_browser
from tests.patience import wait_until
from tests.people import People, Person, in_database
from tests.processes import Web

WAITING_FOR_A_LOCK = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"


def come_in(browser: MachineBrowser, person: Person) -> None:
    assert browser.post("/card/", code=person.card.code).headers["location"] == "/chat/"


def lock(person: Person) -> None:
    past = timezone.now() - timedelta(seconds=1)
    in_database(lambda: Visit.objects.filter(participant=person.row, ended_at=None).update(locks_at=past))


def press(browser: MachineBrowser, *pictures: str) -> bool:
    """Whether these pictures open the locked page of the browser."""
    answer = browser.post("/locked/", first=pictures[0], second=pictures[1])
    return str(answer.headers.get("location", "")) == "/chat/"


def open_link(browser: MachineBrowser, person: Person, *pictures: str) -> bool:
    """Whether the link of the card opens a visit with these pictures."""
    answer = browser.post("/card/", link=person.card.link, first=pictures[0], second=pictures[1])
    return str(answer.headers.get("location", "")) == "/chat/"


def press_wrong(browser: MachineBrowser, person: Person, times: int = 1) -> None:
    wrong = [name for name in PICTURES if name not in person.card.pictures][:2]
    for _ in range(times):
        assert not press(browser, *wrong)


def takes_pictures(browser: MachineBrowser) -> bool:
    return "data-pictures" in browser.get("/locked/").text


def test_neither_a_right_choice_nor_a_new_visit_brings_new_tries_on_the_same_machine(
    service: Web, people: People
) -> None:
    browser, _ = add_machine(service, people.site)
    rosa, tomas = people.rosa, people.add_participant("Tomas")
    come_in(browser, rosa)
    lock(rosa)
    press_wrong(browser, rosa, MAX_UNLOCK_MISSES - 1)
    assert press(browser, *rosa.card.pictures)
    browser.post("/chat/finish/", proof="x")
    come_in(browser, rosa)
    lock(rosa)
    assert takes_pictures(browser)

    press_wrong(browser, rosa)

    assert not takes_pictures(browser)
    assert not press(browser, *rosa.card.pictures)
    assert browser.post("/locked/", code=rosa.card.code).headers["location"] == "/chat/"
    # Neither she elsewhere nor another person here is limited by it.
    other, _ = add_machine(service, people.site, "Back room")
    come_in(other, rosa)
    lock(rosa)
    assert press(other, *rosa.card.pictures)
    come_in(browser, tomas)
    lock(tomas)
    assert press(browser, *tomas.card.pictures)


def test_tries_at_the_pages_of_many_people_are_counted_for_their_machine_together(
    service: Web, people: People
) -> None:
    browser, machine = add_machine(service, people.site)
    rosa = people.rosa
    expired = timezone.now() - timedelta(days=1)
    misses = [MAX_UNLOCK_MISSES] * (MAX_UNLOCK_MISSES_ON_MACHINE // MAX_UNLOCK_MISSES)
    others = [
        Visit(
            participant=people.add_participant(f"Person {number}").row,
            machine=machine,
            unlock_misses=missed,
            expires_at=expired,
        )
        for number, missed in enumerate(misses)
    ]
    in_database(lambda: Visit.objects.bulk_create(others))
    come_in(browser, rosa)
    lock(rosa)

    assert not takes_pictures(browser)
    assert not press(browser, *rosa.card.pictures)
    assert browser.post("/locked/", code=rosa.card.code).headers["location"] == "/chat/"
    lock(rosa)
    long_ago = timezone.now() - timedelta(days=UNLOCK_MISSES_ON_MACHINE_DAYS, minutes=1)
    in_database(lambda: Visit.objects.filter(pk=others[0].pk).update(expires_at=long_ago))
    assert takes_pictures(browser)


def test_a_stranger_with_a_link_uses_up_the_tries_of_their_machine_and_keeps_no_person_out(
    service: Web, people: People
) -> None:
    rosa, (found, _) = people.rosa, add_machine(service, people.site)
    here, _ = add_machine(service, people.site, "Back room")
    for _ in range(MAX_MISSES):
        assert not open_link(found, rosa, *reversed(rosa.card.pictures))

    assert not open_link(found, rosa, *rosa.card.pictures)
    assert open_link(here, rosa, *rosa.card.pictures)
    assert open_link(open_browser(service), rosa, *rosa.card.pictures)
    # The code that she types begins the count of its place anew.
    come_in(here, rosa)
    assert not open_link(found, rosa, *rosa.card.pictures)
    come_in(found, rosa)
    assert open_link(found, rosa, *rosa.card.pictures)


def test_all_machines_on_which_a_card_has_opened_nothing_share_their_tries(
    service: Web, people: People
) -> None:
    rosa, (hers, _) = people.rosa, add_machine(service, people.site, "Her room")
    come_in(hers, rosa)
    others = [add_machine(service, people.site, f"Desk {number}")[0] for number in range(4)]
    for browser in others[:3]:
        for _ in range(MAX_MISSES_ON_NEW_PLACES // 3):
            assert not open_link(browser, rosa, *reversed(rosa.card.pictures))

    assert not open_link(others[3], rosa, *rosa.card.pictures)
    assert open_link(hers, rosa, *rosa.card.pictures)
    assert open_link(open_browser(service), rosa, *rosa.card.pictures)


def test_a_new_card_begins_the_counts_of_its_link_anew(service: Web, people: People) -> None:
    rosa, browser = people.rosa, open_browser(service)
    for _ in range(MAX_MISSES):
        assert not open_link(browser, rosa, *reversed(rosa.card.pictures))

    query = ParticipantQuery(name=rosa.row.name, number=rosa.row.pk)
    card = in_database(lambda: renew_card(query, by="ines")).card

    assert card is not None
    form = dict(zip(("first", "second"), card.pictures, strict=True))
    assert browser.post("/card/", link=card.link, **form).headers["location"] == "/chat/"


def test_wrong_choices_are_forgotten_after_a_month(service: Web, people: People) -> None:
    rosa, browser = people.rosa, open_browser(service)
    come_in(browser, rosa)
    lock(rosa)
    press_wrong(browser, rosa, MAX_UNLOCK_MISSES + 2)
    first = last_visit(rosa)
    # Those beyond the limit are not looked at, so they need not be counted.
    assert first.unlock_misses == MAX_UNLOCK_MISSES
    come_in(browser, rosa)
    browser.post("/chat/finish/", proof="x")
    come_in(browser, rosa)
    lock(rosa)
    assert not takes_pictures(browser)

    long_ago = timezone.now() - timedelta(days=UNLOCK_MISSES_DAYS, minutes=1)
    in_database(lambda: Visit.objects.filter(pk=first.pk).update(expires_at=long_ago, ended_at=long_ago))

    assert takes_pictures(browser)


@pytest.mark.parametrize(("path", "key"), [("finish", "ended"), ("exit", "ended"), ("lock", "locked")])
def test_an_end_is_confirmed_only_of_a_visit_that_the_cookie_or_the_ticket_names(
    service: Web, people: People, path: str, key: str
) -> None:
    rosa, nowhere = people.rosa, open_browser(service)
    rosa.sign_in(service.url)
    visit = last_visit(rosa)

    refused = nowhere.post(f"/chat/{path}/", proof="x1", ticket="of another secret key")

    assert (refused.status_code, refused.json()) == (409, {"problem": "not_known"})
    assert len(live_visits(rosa)) == 1
    ticket = in_database(lambda: sign_leaving_ticket(visit.pk))
    confirmed = nowhere.post(f"/chat/{path}/", proof="x2", ticket=ticket)
    assert (confirmed.status_code, confirmed.json()) == (200, {key: "x2"})


@pytest.mark.parametrize("way", ["card", "offer"])
def test_no_visit_is_left_on_a_machine_that_is_withdrawn_while_a_person_comes_in(
    service: Web, people: People, database: EmbeddedPostgres, way: str
) -> None:
    rosa, (browser, machine) = people.rosa, add_machine(service, people.site)
    in_database(lambda: Site.objects.filter(pk=people.site.pk).update(cards_only_on_machines=True))
    asked = offer(machine, rosa) if way == "offer" else 0
    is_withdrawn, may_commit = threading.Event(), threading.Event()

    def withdraw() -> None:
        with transaction.atomic():
            withdraw_machine(machine.pk, sites={people.site.pk}, by="Sam")
            is_withdrawn.set()
            assert may_commit.wait(20)

    def come() -> str:
        if asked:
            return str(browser.answer(asked, "yes")["outcome"])
        return str(browser.post("/card/", code=rosa.card.code).status_code)

    with ThreadPoolExecutor(2) as threads, psycopg.connect(database.url, autocommit=True) as watcher:
        withdrawal = threads.submit(in_database, withdraw)
        assert is_withdrawn.wait(20)
        coming = threads.submit(come)
        try:
            wait_until(lambda: watcher.execute(WAITING_FOR_A_LOCK).fetchone() != (0,))
        finally:
            may_commit.set()
        withdrawal.result()
        assert coming.result() == ("over" if asked else "403")

    assert live_visits(rosa) == []


def test_one_network_cannot_use_up_the_pairing_codes_of_others(service: Web, people: People) -> None:
    here, elsewhere = f"2001:db8:{people.site.pk:x}::1", f"2001:db8:{people.elsewhere.pk:x}::1"
    mine = in_database(lambda: show_code("", address=elsewhere)).claim

    claims = [
        in_database(lambda: show_code("", address=here)).claim for _ in range(MAX_SHOWN_CODES_PER_NETWORK + 2)
    ]

    known = [in_database(lambda claim=claim: shows_code(claim)) for claim in claims]  # type: ignore[misc]
    assert known == [False] * 2 + [True] * MAX_SHOWN_CODES_PER_NETWORK
    assert in_database(lambda: shows_code(mine))
    in_database(
        lambda: PairingCode.objects.filter(
            network_hash__in=[hash_network(here), hash_network(elsewhere)]
        ).delete()
    )


def test_a_screen_whose_code_was_replaced_by_newer_ones_is_told_to_show_another(service: Web) -> None:
    browser = open_browser(service)
    browser.show_code()
    assert browser.post("/machine/claim/").json() == {"paired": False, "shown": True}

    in_database(lambda: PairingCode.objects.filter(machine=None).delete())

    assert browser.post("/machine/claim/").json() == {"paired": False, "shown": False}
