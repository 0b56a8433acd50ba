"""Staff open a visit on a machine, and the person answers *Is this you?* (A1). Each change compares and sets."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db.models import F

from companion.machines.models import VisitOffer
from companion.machines.offers import OfferRefusal, OfferRefused
from companion.models import Participant, Site
from ops.models import AuditEntry
from tests.machines import (
    add_machine,
    last_visit,
    live_visits,
    offer,
    open_browser,
    read_offer,
    try_offer,
)
from tests.people import People, Person, in_database
from tests.processes import Web
from tests.staff import open_staff_client


def last_entry_by(who: str) -> AuditEntry:
    return in_database(lambda: AuditEntry.objects.filter(who=who).latest("id"))


def whats(person: Person) -> list[str]:
    entries = AuditEntry.objects.filter(about=person.row.pk).order_by("id")
    return in_database(lambda: list(entries.values_list("what", flat=True)))


def test_a_machine_asks_by_first_name_and_yes_opens_the_visit(service: Web, people: People) -> None:
    browser, machine = add_machine(service, people.site)
    rosa = people.add_participant("Rosa Maria Lind")
    asked = offer(machine, rosa)

    page = browser.look()
    assert "Hello Rosa. Is this you?" in page and "Lind" not in page
    assert browser.answer(asked, "yes") == {"outcome": "opened", "line": ""}

    assert browser.get("/chat/").status_code == 200
    [visit] = live_visits(rosa)
    assert (visit.machine_id, visit.way, visit.opened_by) == (machine.pk, "staff", "Sam")
    assert read_offer(asked).answer == "yes"
    assert whats(rosa) == ["said_yes"]


def test_no_opens_nothing_and_the_desk_says_so(service: Web, people: People) -> None:
    browser, machine = add_machine(service, people.site)
    rosa = people.rosa
    asked = offer(machine, rosa)

    told = browser.answer(asked, "no")

    assert (told["outcome"], told["line"][:10]) == ("said_no", "Thank you.")
    assert live_visits(rosa) == []
    with open_staff_client(service, people.add_sam(), people.password) as sam:
        page = sam.get(f"/ops/machines/{machine.pk}/").text
    assert "was asked; the person there said no" in page
    assert whats(rosa) == ["said_no"]


def test_the_same_answer_again_ends_as_it_did(service: Web, people: People) -> None:
    browser, machine = add_machine(service, people.site)
    rosa = people.rosa
    asked = offer(machine, rosa)
    assert browser.answer(asked, "yes")["outcome"] == "opened"

    assert browser.answer(asked, "yes")["outcome"] == "opened"
    assert len(live_visits(rosa)) == 1


def test_two_answers_at_once_open_one_visit(service: Web, people: People) -> None:
    browser, machine = add_machine(service, people.site)
    rosa = people.rosa
    asked = offer(machine, rosa)
    tabs = [browser.copy() for _ in range(4)]

    with ThreadPoolExecutor(4) as pool:
        outcomes = [told["outcome"] for told in pool.map(lambda tab: tab.answer(asked, "yes"), tabs)]

    assert outcomes.count("opened") == 1
    assert len(live_visits(rosa)) == 1


@pytest.mark.parametrize("shift", [timedelta(minutes=-6), timedelta(hours=1)], ids=["old", "clock set back"])
def test_an_offer_that_is_old_or_of_the_future_opens_nothing(
    service: Web, people: People, shift: timedelta
) -> None:
    browser, machine = add_machine(service, people.site)
    rosa = people.rosa
    asked = offer(machine, rosa)
    in_database(
        lambda: VisitOffer.objects.filter(pk=asked).update(
            offered_at=F("offered_at") + shift, expires_at=F("expires_at") + shift
        )
    )

    assert "Rosa" not in browser.look()
    assert browser.answer(asked, "yes")["outcome"] == "over"
    assert live_visits(rosa) == []


def test_an_offer_is_answered_on_its_own_machine_alone(service: Web, people: People) -> None:
    _, machine = add_machine(service, people.site)
    other, _ = add_machine(service, people.site, "Back room")
    rosa = people.rosa
    asked = offer(machine, rosa)

    assert other.answer(asked, "yes")["outcome"] == "over"
    assert open_browser(service).answer(asked, "yes")["outcome"] == "over"
    assert live_visits(rosa) == []


def test_an_offer_for_another_person_takes_the_earlier_one_back(service: Web, people: People) -> None:
    browser, machine = add_machine(service, people.site)
    first = offer(machine, people.rosa)
    offer(machine, people.add_participant("Tomas"))

    assert read_offer(first).answer == "taken_back"
    assert "Hello Tomas." in browser.look()
    assert browser.answer(first, "yes")["outcome"] == "over"


def test_the_same_offer_again_is_the_same_offer(service: Web, people: People) -> None:
    _, machine = add_machine(service, people.site)
    rosa = people.rosa

    assert offer(machine, rosa) == offer(machine, rosa)


def test_a_machine_in_use_is_offered_to_no_other_person(service: Web, people: People) -> None:
    browser, machine = add_machine(service, people.site)
    rosa, tomas = people.rosa, people.add_participant("Tomas")
    browser.answer(offer(machine, rosa), "yes")

    assert try_offer(machine, tomas) == OfferRefused(code=OfferRefusal.BUSY, name="Front room", person="Rosa")
    assert try_offer(machine, rosa) == OfferRefused(
        code=OfferRefusal.HERE_ALREADY, name="Front room", person="Rosa"
    )


def test_a_person_of_another_site_is_offered_nothing(service: Web, people: People) -> None:
    _, machine = add_machine(service, people.site)

    refused = try_offer(machine, people.otto)

    assert isinstance(refused, OfferRefused) and refused.code is OfferRefusal.NO_PERSON


def test_a_person_whose_card_was_withdrawn_meanwhile_does_not_come_in(service: Web, people: People) -> None:
    browser, machine = add_machine(service, people.site)
    rosa = people.rosa
    asked = offer(machine, rosa)
    in_database(lambda: Participant.objects.filter(pk=rosa.row.pk).update(is_active=False))

    assert browser.answer(asked, "yes")["outcome"] == "over"
    assert (read_offer(asked).answer, live_visits(rosa)) == ("gone", [])


def test_a_site_that_closed_meanwhile_lets_no_person_in(service: Web, people: People) -> None:
    browser, machine = add_machine(service, people.site)
    rosa = people.rosa
    asked = offer(machine, rosa)
    in_database(lambda: Site.objects.filter(pk=people.site.pk).update(is_open=False))

    assert browser.answer(asked, "yes")["outcome"] == "over"
    assert live_visits(rosa) == []


def test_staff_offer_and_take_back_with_plain_forms_on_record(service: Web, people: People) -> None:
    _, machine = add_machine(service, people.site)
    rosa = people.rosa
    with open_staff_client(service, people.add_sam(), people.password) as sam:
        token = {"csrfmiddlewaretoken": sam.cookies["csrftoken"]}
        headers = {"Origin": service.url}
        page = f"/ops/machines/{machine.pk}/"
        assert "Rosa" in sam.get(page).text
        answer = sam.post(f"{page}open/", data={**token, "participant": str(rosa.row.pk)}, headers=headers)
        assert answer.status_code == 302
        assert "is asked: Is this you?" in sam.get(page).text
        asked = in_database(lambda: VisitOffer.objects.latest("id"))
        sam.post(f"/ops/offers/{asked.pk}/back/", data=token, headers=headers)
        assert "it was taken back" in sam.get(page).text
    assert asked.by_name
    assert whats(rosa) == ["offered_visit", "took_back_offer"]


def test_staff_offer_from_the_page_of_the_person(service: Web, people: People) -> None:
    browser, machine = add_machine(service, people.site)
    rosa = people.rosa
    with open_staff_client(service, people.add_sam(), people.password) as sam:
        page = f"/ops/people/{rosa.conversation.pk}/"
        assert "Front room" in sam.get(page).text
        form = {"csrfmiddlewaretoken": sam.cookies["csrftoken"], "machine": str(machine.pk)}
        sam.post(f"{page}open/", data=form, headers={"Origin": service.url})
        assert "is asked: Is this you?" in sam.get(page).text
        assert "is asked: Is this you?" in sam.get("/ops/people/").text
    assert "Hello Rosa." in browser.look()


def test_staff_of_other_sites_and_operators_open_no_visit(service: Web, people: People) -> None:
    _, machine = add_machine(service, people.site)
    rosa = people.rosa
    for member in (people.add_supervisor("tess", site=people.elsewhere), people.add_ines()):
        with open_staff_client(service, member, people.password) as client:
            form = {
                "csrfmiddlewaretoken": client.cookies["csrftoken"],
                "machine": str(machine.pk),
                "participant": str(rosa.row.pk),
            }
            for path in (f"/ops/machines/{machine.pk}/open/", f"/ops/people/{rosa.conversation.pk}/open/"):
                assert client.post(path, data=form, headers={"Origin": service.url}).status_code == 404
                assert last_entry_by(member.get_username()).what == "was_refused"
            asked = offer(machine, rosa)
            path = f"/ops/offers/{asked}/back/"
            assert client.post(path, data=form, headers={"Origin": service.url}).status_code == 302
            entry = last_entry_by(member.get_username())
            assert (entry.what, entry.note) == ("was_refused", f"offer {asked}")
            assert read_offer(asked).answer == ""
    assert in_database(VisitOffer.objects.filter(machine=machine.pk).count) == 1


def test_a_visit_by_a_card_on_a_machine_names_the_machine(service: Web, people: People) -> None:
    browser, machine = add_machine(service, people.site)
    rosa = people.rosa

    assert browser.post("/card/", code=rosa.card.code).status_code == 302

    assert (last_visit(rosa).machine_id, last_visit(rosa).way) == (machine.pk, "code")
    with open_staff_client(service, people.add_sam(), people.password) as sam:
        assert "Front room" in sam.get("/ops/people/?name=front").text
        assert "Rosa" in sam.get("/ops/people/?name=front").text


def test_a_card_of_another_site_opens_nothing_on_a_machine(service: Web, people: People) -> None:
    browser, _ = add_machine(service, people.site)
    otto = people.otto

    answer = browser.post("/card/", code=otto.card.code)

    assert (answer.status_code, "This card is for another place." in answer.text) == (403, True)
    assert live_visits(otto) == []


def test_where_the_site_says_so_a_card_works_on_its_machines_alone(service: Web, people: People) -> None:
    browser, _ = add_machine(service, people.site)
    rosa = people.rosa
    in_database(lambda: Site.objects.filter(pk=people.site.pk).update(cards_only_on_machines=True))

    elsewhere = open_browser(service).post("/card/", code=rosa.card.code)

    assert (elsewhere.status_code, "works on the screens at your place" in elsewhere.text) == (403, True)
    assert live_visits(rosa) == []
    assert browser.post("/card/", code=rosa.card.code).status_code == 302
