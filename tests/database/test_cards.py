"""Cards are printed, renewed, withdrawn and restored while all runs: one sentence, one row on record (A1, S5)."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from django.conf import settings

from companion.models import Participant
from companion.participants import draw_handles
from ops.models import AuditEntry
from tests.cards import get_chat_status, opens, print_card
from tests.commands import BY, refused, run, run_lines
from tests.patience import wait_until, waits_for
from tests.people import People, Person, in_database
from tests.processes import ROOT, Web
from tests.staff import get_audit_entries, last_entry


def card(person: Person, *arguments: str) -> list[str]:
    """Run the command about the card of one person."""
    return run_lines("card", person.row.name, "--site", person.row.site.slug, *arguments)


def test_printing_a_card_is_on_record(people: People) -> None:
    rosa = people.rosa
    card(rosa)
    [entry] = get_audit_entries(rosa)
    assert entry.what == "printed_card" and entry.note.startswith("issue 1, command, account ")
    card(rosa, *BY)
    assert get_audit_entries(rosa)[-1].who == "Ines"


def test_a_renewed_card_makes_the_old_one_useless_and_ends_the_visits_it_opened(
    service: Web, people: People
) -> None:
    rosa, other = people.rosa, people.add_participant("Tomas")
    cookie, others = rosa.sign_in(service.url), other.sign_in(service.url)

    said, *new = card(rosa, "--renew", *BY)

    assert said.startswith("Rosa at ") and said.endswith("visits ended: 1.")
    assert not opens(service, print_card(rosa)) and opens(service, new)
    assert (get_chat_status(service, cookie), get_chat_status(service, others)) == (302, 200)
    assert last_entry()[:3] == ("Ines", "renewed_card", rosa.row.pk)
    assert last_entry()[3].startswith("issue 2, visits ended 1")


def test_a_withdrawn_card_opens_nothing_and_a_restored_person_has_a_new_one_and_their_words(
    service: Web, people: People
) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)

    assert len(card(rosa, "--withdraw", *BY)) == 1
    assert not opens(service, print_card(rosa)) and get_chat_status(service, cookie) == 302
    assert "was withdrawn before" in card(rosa, "--withdraw", *BY)[0]
    assert "--restore" in refused("card", "Rosa", "--site", people.site.slug)
    assert "--restore" in refused("card", "Rosa", "--site", people.site.slug, "--renew", *BY)
    assert "was here before" in refused("card", "Rosa", "--site", people.site.slug, "--create")

    new = card(rosa, "--restore", *BY)
    assert (
        opens(service, new)
        and not opens(service, print_card(rosa))
        and get_chat_status(service, cookie) == 302
    )
    assert "is not withdrawn" in card(rosa, "--restore", *BY)[0]
    assert [entry.what for entry in get_audit_entries(rosa)] == ["withdrew_card", "restored_card"]


def test_a_card_that_is_renewed_at_the_moment_it_is_opened_does_not_open(
    service: Web, people: People
) -> None:
    rosa = people.rosa
    # The change stands, and its transaction has not ended.
    with psycopg.connect(settings.DATABASE_URL) as change, ThreadPoolExecutor(1) as browser:
        change.execute("UPDATE companion_participant SET card_issue = 2 WHERE id = %s", [rosa.row.pk])
        opened = browser.submit(opens, service, print_card(rosa))
        wait_until(lambda: opened.done() or waits_for(change), within_s=20)
        change.commit()
        assert opened.result() is False


def test_adding_a_person_is_on_record_once(people: People) -> None:
    at = ("--site", people.site.slug)
    run("card", "Mo", "--create", *at, *BY)
    run("card", "mo", "--create", *at, *BY)
    mo = in_database(lambda: Participant.objects.get(name="Mo", site=people.site))
    rows = in_database(lambda: list(AuditEntry.objects.filter(about=mo.pk).order_by("id")))
    assert [row.what for row in rows] == ["added_person", "printed_card"]


def test_a_name_at_two_sites_is_told_apart_by_site_and_then_by_number(service: Web, people: People) -> None:
    name = f"Twin {people.password}"
    here, there = people.add_participant(name), people.add_participant(name, site=people.elsewhere)
    told = refused("card", name, "--renew", *BY)
    for twin in (here, there):
        assert f"number {twin.row.pk} at {twin.row.site.slug}" in told
    assert "--site" in told
    run("card", name, "--renew", "--number", str(there.row.pk), *BY)
    assert opens(service, print_card(here)) and not opens(service, print_card(there))


@pytest.mark.parametrize("change", ["--renew", "--withdraw", "--restore"])
def test_a_change_of_a_card_needs_the_name_of_the_person_who_decides_it(people: People, change: str) -> None:
    rosa = people.rosa
    at = ("--site", people.site.slug, change)
    assert "--by" in refused("card", "Rosa", *at)
    assert "empty" in refused("card", "Rosa", *at, "--by", " ")
    assert "no participant named Unknown" in refused("card", "Unknown", *at, *BY)
    assert get_audit_entries(rosa) == []


def test_a_name_that_is_not_utf_8_is_a_sentence_and_exit_code_1(people: People) -> None:
    at = people.site.slug.encode()
    words = [sys.executable.encode(), b"manage.py", b"card", b"Ros\xe9", b"--create", b"--site", at]
    ran = subprocess.run(words, cwd=ROOT, capture_output=True)
    assert (ran.returncode, ran.stdout) == (1, b"")
    assert ran.stderr.decode().startswith(
        "CommandError: Nothing was changed. A name cannot be read: it is not UTF-8."
    )


def test_arguments_that_make_no_sense_are_exit_code_2(database: object) -> None:
    for words in (["card", "Rosa", "--renew", "--withdraw"], ["site", "close", "x"], ["staff", "sing"]):
        ran = subprocess.run([sys.executable, "manage.py", *words], cwd=ROOT, capture_output=True)
        assert ran.returncode == 2


def test_a_card_has_the_handle_of_no_other_card(people: People) -> None:
    there = people.rosa.row.card_handle
    made = iter([there, "twinss", "twinss", there, "others"])

    assert sorted(in_database(lambda: draw_handles(2, make=lambda: next(made)))) == ["others", "twinss"]
