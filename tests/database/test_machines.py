"""Shared machines: paired by a code, named by a cookie that changes with each contact, and withdrawn (A1)."""

from copy import copy
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from companion.machines.models import Machine, PairingCode
from companion.machines.pairing import PairingRefusal, pair
from ops.models import Alert, AuditEntry
from ops.people.machines import MAX_LISTED, list_machines
from tests.commands import run, run_lines
from tests.machines import (
    add_machine,
    last_visit,
    live_visits,
    offer,
    open_browser,
    pass_time,
    read_machine,
    read_offer,
)
from tests.people import People, in_database
from tests.processes import Web
from tests.staff import open_staff_client

WAITS = "You can talk here."
NEW = "This screen is new here."
NEEDS_STAFF = "The staff need to look at this screen."
WITHDRAWN = "The chat is not on this screen any more."


def pair_code(people: People, code: str, name: str = "Front room") -> Machine | PairingRefusal:
    return in_database(lambda: pair(code, site=people.site.pk, name=name, by="Sam"))


def entries(what: str, site: int) -> list[AuditEntry]:
    return in_database(
        lambda: list(AuditEntry.objects.filter(what=what, note__contains=f"site {site}").order_by("id"))
    )


def open_alerts(people: People) -> list[Alert]:
    return in_database(
        lambda: list(Alert.objects.filter(site=people.site, kind="machine_copied", acknowledged_at=None))
    )


# Pairing.


def test_a_browser_becomes_a_machine_once_staff_have_entered_the_code_on_its_screen(
    service: Web, people: People
) -> None:
    browser = open_browser(service)
    assert NEW in browser.look()
    code = browser.show_code()
    assert not browser.claim()

    with open_staff_client(service, people.add_sam(), people.password) as sam:
        form = {"code": code.lower(), "name": "Front room", "csrfmiddlewaretoken": sam.cookies["csrftoken"]}
        answer = sam.post("/ops/machines/", data=form, headers={"Origin": service.url})
        assert (answer.status_code, answer.headers["location"]) == (302, "/ops/machines/")
        assert "Front room" in sam.get("/ops/machines/").text

    assert browser.claim()
    assert WAITS in browser.look()
    assert [entry.who[:4] for entry in entries("paired_machine", people.site.pk)] == ["sam-"]


def test_a_code_pairs_one_browser_and_only_once(service: Web, people: People) -> None:
    browser = open_browser(service)
    code = browser.show_code()

    assert isinstance(pair_code(people, code), Machine)
    assert pair_code(people, code, "Back room") is PairingRefusal.NO_SUCH_CODE


def test_a_code_with_look_alike_letters_spaces_and_small_letters_is_read(
    service: Web, people: People
) -> None:
    browser = open_browser(service)
    code = browser.show_code()
    swapped = {"2": "z", "z": "2", "5": "s", "s": "5", "8": "b", "b": "8", "u": "v", "j": "1", "d": "0"}
    typed = "  ".join(swapped.get(letter, letter) for letter in code.lower())

    assert isinstance(pair_code(people, typed), Machine)


@pytest.mark.parametrize("shift", [timedelta(minutes=-11), timedelta(hours=2)], ids=["old", "clock set back"])
def test_a_code_that_is_old_or_of_the_future_pairs_nothing(
    service: Web, people: People, shift: timedelta
) -> None:
    browser = open_browser(service)
    code = browser.show_code()
    in_database(
        lambda: PairingCode.objects.filter(machine=None).update(
            made_at=F("made_at") + shift, expires_at=F("expires_at") + shift
        )
    )

    assert pair_code(people, code) is PairingRefusal.NO_SUCH_CODE
    in_database(lambda: PairingCode.objects.all().delete())


def test_a_new_code_of_the_same_screen_makes_its_earlier_one_useless(service: Web, people: People) -> None:
    browser = open_browser(service)
    earlier = browser.show_code()
    browser.show_code()

    assert pair_code(people, earlier) is PairingRefusal.NO_SUCH_CODE


def test_an_answer_with_the_cookie_that_was_lost_can_be_claimed_again_until_the_page_was_seen(
    service: Web, people: People
) -> None:
    browser = open_browser(service)
    assert isinstance(pair_code(people, browser.show_code()), Machine)
    lost = browser.copy()

    assert lost.claim()
    assert browser.claim()
    assert WAITS in browser.look()
    pass_time(in_database(lambda: Machine.objects.latest("paired_at")))
    assert WAITS in browser.look()
    assert not lost.claim()


def test_guessed_codes_are_limited_and_on_record(service: Web, people: People) -> None:
    sam = people.add_sam()
    with open_staff_client(service, sam, people.password) as client:
        form = {"code": "aaaa-aaaa", "name": "X", "csrfmiddlewaretoken": client.cookies["csrftoken"]}
        answers = [
            client.post("/ops/machines/", data=form, headers={"Origin": service.url}) for _ in range(32)
        ]
    assert {answer.status_code for answer in answers} == {400}
    assert "No screen shows this code now." in answers[0].text
    # Without Valkey nothing is counted; with it the thirty-first is not looked up.
    refusals = AuditEntry.objects.filter(who=sam.get_username(), what="was_refused", note="pairing code")
    assert in_database(refusals.count) >= 9


def test_a_supervisor_pairs_machines_of_their_own_sites_alone(service: Web, people: People) -> None:
    browser = open_browser(service)
    code = browser.show_code()
    tess = people.add_supervisor("tess", site=people.elsewhere)
    with open_staff_client(service, tess, people.password) as client:
        form = {"code": code, "name": "Hall", "site": people.site.slug}
        form["csrfmiddlewaretoken"] = client.cookies["csrftoken"]
        client.post("/ops/machines/", data=form, headers={"Origin": service.url})
    # Her only site is taken, whatever the form says.
    [machine] = in_database(lambda: list(Machine.objects.filter(name="Hall")))
    assert machine.site_id == people.elsewhere.pk


# The command.


def test_the_command_prints_a_code_that_is_typed_on_the_machine(service: Web, people: People) -> None:
    sentence, code = run_lines("machine", "add", people.site.slug, "Front room", "--by", "Ines")
    assert "Open /machine/ on Front room" in sentence
    browser = open_browser(service)

    answer = browser.post("/machine/claim/", code=f" {code.lower()} ")

    assert (answer.status_code, answer.headers["location"]) == (302, "/machine/")
    assert WAITS in browser.look()
    assert any(people.site.slug in line and "Front room" in line for line in run_lines("machine", "list"))


def test_the_command_says_that_its_list_of_machines_is_cut(people: People) -> None:
    def read() -> list[str]:
        with transaction.atomic():
            Machine.objects.bulk_create(
                Machine(site=people.site, name=f"Machine {n}", paired_by="Sam", token_hash="x")
                for n in range(MAX_LISTED + 1)
            )
            lines = list(list_machines())
            transaction.set_rollback(True)
        return lines

    lines = in_database(read)

    assert lines[MAX_LISTED:] == [f"These are the first {MAX_LISTED} by site and name; there are more."]


def test_the_command_takes_the_code_of_a_screen(service: Web, people: People) -> None:
    browser = open_browser(service)
    code = browser.show_code()

    run("machine", "add", people.site.slug, "Front room", "--code", code, "--by", "Ines")

    assert browser.claim()


def test_a_wrong_code_typed_on_a_screen_is_answered_in_drafted_words(service: Web) -> None:
    answer = open_browser(service).post("/machine/claim/", code="aaaa-aaaa")

    assert answer.status_code == 403
    assert "This card or code does not work here." in answer.text


def test_the_name_of_an_open_machine_is_refused_and_free_again_after_a_withdrawal(
    service: Web, people: People
) -> None:
    add_machine(service, people.site)
    with pytest.raises(CommandError, match="is open at this moment"):
        run("machine", "add", people.site.slug, "front ROOM", "--by", "Ines")

    run("machine", "withdraw", people.site.slug, "Front room", "--by", "Ines")

    assert len(run_lines("machine", "add", people.site.slug, "Front room", "--by", "Ines")) == 2


# A cookie that changes.


def test_each_contact_changes_the_value_of_the_cookie(service: Web, people: People) -> None:
    browser, machine = add_machine(service, people.site)
    values = {browser.cookie("machine")}
    for _ in range(3):
        browser.look_later(machine)
        values.add(browser.cookie("machine"))

    assert len(values) == 4


def test_a_copied_cookie_is_noticed_and_staff_are_told(service: Web, people: People) -> None:
    browser, machine = add_machine(service, people.site)
    thief = browser.copy()
    browser.look_later(machine)
    browser.look_later(machine)

    assert NEEDS_STAFF in thief.look_later(machine)

    assert NEEDS_STAFF in browser.look()
    [alert] = open_alerts(people)
    assert alert.about == "Front room"
    [entry] = in_database(
        lambda: list(AuditEntry.objects.filter(what="machine_copied", note__contains=str(machine.pk)))
    )
    assert entry.who == "a machine"


def test_a_thief_who_calls_first_is_noticed_with_the_next_call_of_the_machine(
    service: Web, people: People
) -> None:
    browser, machine = add_machine(service, people.site)
    thief = browser.copy()
    assert WAITS in thief.look_later(machine)
    assert WAITS in browser.look_later(machine)

    assert NEEDS_STAFF in thief.look_later(machine)
    assert len(open_alerts(people)) == 1


def test_a_copied_machine_opens_no_visit_until_it_is_paired_again(service: Web, people: People) -> None:
    browser, machine = add_machine(service, people.site)
    rosa = people.rosa
    asked = offer(machine, rosa)
    thief = browser.copy()
    browser.look_later(machine)
    browser.look_later(machine)
    thief.look_later(machine)
    assert read_offer(asked).answer == "gone"
    assert browser.answer(asked, "yes")["outcome"] == "over"

    assert isinstance(pair_code(people, browser.show_code()), Machine)
    assert browser.claim()
    assert WAITS in browser.look()
    assert browser.answer(offer(read_machine(machine.pk), rosa), "yes")["outcome"] == "opened"
    assert NEW in thief.look() or NEEDS_STAFF in thief.look()


def test_a_lost_answer_is_no_copy(service: Web, people: People) -> None:
    browser, machine = add_machine(service, people.site)
    before = browser.copy()
    # The answer with the new value never arrives.
    browser.look_later(machine)

    assert WAITS in before.look_later(machine)
    assert WAITS in before.look_later(machine)
    assert open_alerts(people) == []


def test_two_tabs_that_load_at_once_are_no_copy(service: Web, people: People) -> None:
    browser, machine = add_machine(service, people.site)
    pass_time(machine)
    tabs = [browser.copy(), browser.copy()]

    assert all(WAITS in tab.look() for tab in tabs)
    # Both tabs share one jar, which has the value of the first answer.
    assert WAITS in tabs[0].look_later(machine)
    assert open_alerts(people) == []


@pytest.mark.parametrize("shift", [timedelta(hours=3), timedelta(hours=-3)], ids=["ahead", "back"])
def test_a_clock_that_jumps_is_no_copy(service: Web, people: People, shift: timedelta) -> None:
    browser, machine = add_machine(service, people.site)
    in_database(lambda: Machine.objects.filter(pk=machine.pk).update(rotated_at=F("rotated_at") + shift))

    assert WAITS in browser.look()
    assert WAITS in browser.look()
    assert open_alerts(people) == []


def test_a_made_up_cookie_raises_no_alarm(service: Web, people: People) -> None:
    browser, machine = add_machine(service, people.site)
    stranger = open_browser(service)
    [cookie] = [copy(cookie) for cookie in browser.jar if cookie.name == "machine"]
    cookie.value = f"{machine.pk.hex}.{'0' * 64}:made-up"
    stranger.jar.set_cookie(cookie)

    assert NEW in stranger.look()
    assert WAITS in browser.look()


def test_the_cookie_names_the_machine_and_opens_nothing(service: Web, people: People) -> None:
    browser, _ = add_machine(service, people.site)

    assert browser.get("/chat/").status_code == 302
    assert browser.get("/").headers["location"] == "/machine/"


# Withdrawal.


def test_a_withdrawn_machine_says_so_and_its_visit_ends(service: Web, people: People) -> None:
    browser, machine = add_machine(service, people.site)
    rosa = people.rosa
    assert browser.answer(offer(machine, rosa), "yes")["outcome"] == "opened"

    said = run_lines("machine", "withdraw", people.site.slug, "Front room", "--by", "Ines")

    assert said == ["Front room is withdrawn and opens no visit; visits ended: 1."]
    assert live_visits(rosa) == []
    assert last_visit(rosa).end_reason == "withdrawn"
    assert WITHDRAWN in browser.look()
    assert run("machine", "list") != ""


def test_withdrawing_and_renaming_are_for_the_sites_own_staff(service: Web, people: People) -> None:
    _, machine = add_machine(service, people.site)
    tess = people.add_supervisor("tess", site=people.elsewhere)
    with open_staff_client(service, tess, people.password) as client:
        token: dict[str, Any] = {"csrfmiddlewaretoken": client.cookies["csrftoken"]}
        page = f"/ops/machines/{machine.pk}/"
        headers = {"Origin": service.url}
        assert client.get(page).status_code == 404
        assert client.post(f"{page}withdraw/", data=token, headers=headers).status_code == 404
        assert client.post(f"{page}name/", data={**token, "name": "X"}, headers=headers).status_code == 404
    stored = read_machine(machine.pk)
    assert (stored.name, stored.withdrawn_at) == ("Front room", None)
    refusals = AuditEntry.objects.filter(
        who=tess.get_username(), what="was_refused", note=f"machine {machine.pk}"
    )
    assert in_database(refusals.count) == 3


def test_staff_rename_a_machine(service: Web, people: People) -> None:
    _, machine = add_machine(service, people.site)
    with open_staff_client(service, people.add_sam(), people.password) as client:
        form = {"name": "Library", "csrfmiddlewaretoken": client.cookies["csrftoken"]}
        client.post(f"/ops/machines/{machine.pk}/name/", data=form, headers={"Origin": service.url})

        assert "Library" in client.get("/ops/machines/").text
    assert read_machine(machine.pk).name == "Library"


def test_codes_that_are_over_are_deleted(service: Web) -> None:
    browser = open_browser(service)
    browser.show_code()
    in_database(lambda: PairingCode.objects.update(expires_at=Now() - timedelta(seconds=1)))

    open_browser(service).show_code()

    assert in_database(PairingCode.objects.count) == 1


def test_a_machine_whose_cookies_were_cleared_is_paired_again_under_its_name(
    service: Web, people: People
) -> None:
    _, machine = add_machine(service, people.site)
    in_database(lambda: Machine.objects.filter(pk=machine.pk).update(seen_at=Now() - timedelta(minutes=5)))
    cleared = open_browser(service)

    assert isinstance(pair_code(people, cleared.show_code()), Machine)

    assert cleared.claim()
    assert WAITS in cleared.look()
    assert read_machine(machine.pk).paired_at > machine.paired_at


def test_what_was_asked_before_a_machine_was_paired_again_is_not_asked_in_its_new_browser(
    service: Web, people: People
) -> None:
    _, machine = add_machine(service, people.site)
    asked = offer(machine, people.rosa)
    in_database(lambda: Machine.objects.filter(pk=machine.pk).update(seen_at=Now() - timedelta(minutes=5)))
    other = open_browser(service)

    assert isinstance(pair_code(people, other.show_code()), Machine)

    assert other.claim()
    assert "Rosa" not in other.look()
    assert other.answer(asked, "yes")["outcome"] == "over"
    assert read_offer(asked).answer == "gone"
