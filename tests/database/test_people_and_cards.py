"""Letting people, staff and sites in and out while all runs: one sentence, one row on record, no guess (S5)."""

import io
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psycopg
import pytest
from django.conf import settings
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from companion.models import Participant, Site, Visit
from ops.access import get_access
from ops.management.commands.card import format_card
from ops.models import AuditEntry
from tests.patience import wait_until
from tests.people import People, Person, in_database
from tests.processes import ROOT, Web
from tests.staff import get_audit_entries, open_staff_client

BY = ("--by", "Ines")


def run(*arguments: str) -> list[str]:
    said = io.StringIO()
    in_database(lambda: call_command(*arguments, stdout=said))
    return said.getvalue().splitlines()


def refused(*arguments: str) -> str:
    """The sentence; that nothing was put on record is looked at here, for every refusal."""
    before = in_database(AuditEntry.objects.count)
    with pytest.raises(CommandError) as refusal:
        run(*arguments)
    assert in_database(AuditEntry.objects.count) == before
    return str(refusal.value)


def last_entry() -> tuple[str, str, int | None, str]:
    entry = in_database(lambda: AuditEntry.objects.order_by("-id").first())
    assert entry is not None
    return entry.who, entry.what, entry.about, entry.note


def opens(service: Web, printed: Sequence[str]) -> bool:
    """Whether a printed card leads into the chat: its link with the pictures, and its code."""
    pictures, code, link = (line.split(": ")[-1] for line in printed[-3:])
    first, second = pictures.split(", then ")
    by_link = {"link": link.split("/card/#")[-1], "first": first, "second": second}
    answers = [
        httpx.post(f"{service.url}/card/", data=form, headers={"Origin": service.url}, trust_env=False)
        for form in (by_link, {"code": code})
    ]
    [leads] = {bool(answer.headers.get("location") == "/chat/") for answer in answers}
    return leads


def on_paper_of(person: Person) -> list[str]:
    return format_card(person.card)


def chat(service: Web, cookie: str) -> int:
    return httpx.get(f"{service.url}/chat/", cookies={"companion": cookie}, trust_env=False).status_code


def card(person: Person, *arguments: str) -> list[str]:
    return run("card", person.row.name, "--site", person.row.site.slug, *arguments)


# Cards.


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
    assert not opens(service, on_paper_of(rosa)) and opens(service, new)
    assert (chat(service, cookie), chat(service, others)) == (302, 200)
    assert last_entry()[:3] == ("Ines", "renewed_card", rosa.row.pk)
    assert last_entry()[3].startswith("issue 2, visits ended 1")


def test_a_withdrawn_card_opens_nothing_and_a_restored_person_has_a_new_one_and_their_words(
    service: Web, people: People
) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)

    assert len(card(rosa, "--withdraw", *BY)) == 1
    assert not opens(service, on_paper_of(rosa)) and chat(service, cookie) == 302
    assert "was withdrawn before" in card(rosa, "--withdraw", *BY)[0]
    assert "--restore" in refused("card", "Rosa", "--site", people.site.slug)
    assert "--restore" in refused("card", "Rosa", "--site", people.site.slug, "--renew", *BY)
    assert "was here before" in refused("card", "Rosa", "--site", people.site.slug, "--create")

    new = card(rosa, "--restore", *BY)
    assert opens(service, new) and not opens(service, on_paper_of(rosa)) and chat(service, cookie) == 302
    assert "is not withdrawn" in card(rosa, "--restore", *BY)[0]
    assert [entry.what for entry in get_audit_entries(rosa)] == ["withdrew_card", "restored_card"]


def test_a_card_that_is_renewed_at_the_moment_it_is_opened_does_not_open(
    service: Web, people: People
) -> None:
    rosa = people.rosa
    # The change stands, and its transaction has not ended.
    with psycopg.connect(settings.DATABASE_URL) as change, ThreadPoolExecutor(1) as browser:
        change.execute("UPDATE companion_participant SET card_issue = 2 WHERE id = %s", [rosa.row.pk])
        opened = browser.submit(opens, service, on_paper_of(rosa))
        wait_until(lambda: opened.done() or waits_for(change), within_s=20)
        change.commit()
        assert opened.result() is False


def waits_for(change: psycopg.Connection[Any]) -> bool:
    """Whether another connection waits for a lock of this one."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))"
    with psycopg.connect(settings.DATABASE_URL) as look:
        found = look.execute(waiting, [change.info.backend_pid]).fetchone()
        return found is not None and found[0] > 0


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
    assert opens(service, on_paper_of(here)) and not opens(service, on_paper_of(there))


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


# Sites.


def test_a_site_is_added_once_and_renamed(people: People) -> None:
    slug = f"new-{people.password}"
    run("site", "add", slug, "Elm House", *BY)
    site = in_database(lambda: Site.objects.get(slug=slug))
    assert last_entry()[:2] == ("Ines", "added_site") and last_entry()[3].startswith(
        f"site {site.pk}, command"
    )
    assert "was there before" in run("site", "add", slug, "Elm House", *BY)[0]
    assert "site rename" in refused("site", "add", slug, "Oak House", *BY)
    run("site", "rename", slug, "Oak House", *BY)
    assert any(line.startswith(f"{slug}  Oak House  closed") for line in run("site", "list"))
    assert "There is no site nowhere" in refused("site", "rename", "nowhere", "Oak House", *BY)


def test_closing_a_site_ends_its_visits_and_opening_it_revives_none(service: Web, people: People) -> None:
    rosa, otto = people.rosa, people.otto
    hers, his = rosa.sign_in(service.url), otto.sign_in(service.url)

    assert "visits ended: 1" in run("site", "close", people.site.slug, *BY)[0]
    assert (chat(service, hers), chat(service, his)) == (302, 200)
    assert not opens(service, on_paper_of(rosa)) and opens(service, on_paper_of(otto))
    assert "was closed before" in run("site", "close", people.site.slug, *BY)[0]

    # As if a visit had begun at the very moment of closing.
    in_database(lambda: Visit.objects.filter(participant=rosa.row).update(ended_at=None, end_reason=""))
    run("site", "open", people.site.slug, *BY)
    assert chat(service, hers) == 302 and opens(service, on_paper_of(rosa))
    assert last_entry()[:2] == ("Ines", "opened_site")


def test_a_site_is_confined_to_regions_in_which_lanes_lie(people: People) -> None:
    slug = people.site.slug
    run("site", "regions", slug, "here", *BY)
    assert in_database(lambda: Site.objects.get(slug=slug).regions) == ["here"]
    assert "regions here" in last_entry()[3]
    assert "before" in run("site", "regions", slug, "here", *BY)[0]
    assert "Lanes lie in: here" in refused("site", "regions", slug, "hree", *BY)
    assert "There is no site" in refused("site", "regions", "nowhere-house", "hree", *BY)
    run("site", "regions", slug, *BY)
    assert in_database(lambda: Site.objects.get(slug=slug).regions) == []


HELPLINE = ("--voice", "0808 157 0123", "--text", "HOME to 85258", "--owner", "Ines Ward")


def test_a_site_opens_only_once_it_has_a_whole_helpline(people: People) -> None:
    slug = f"new-{people.password}"
    assert "is closed" in run("site", "add", slug, "Elm House", *BY)[0]
    told = refused("site", "open", slug, *BY)
    assert "cannot open without a helpline" in told and f"site helpline {slug} --voice" in told
    assert "--review-by too" in refused("site", "helpline", slug, *HELPLINE, *BY)

    said = run("site", "helpline", slug, *HELPLINE, "--review-by", "2099-12-31", *BY)[0]

    assert "call 0808 157 0123, text HOME to 85258" in said and "site is closed" in said
    site = in_database(lambda: Site.objects.get(slug=slug))
    assert (site.helpline_owner, str(site.helpline_review_by)) == ("Ines Ward", "2099-12-31")
    assert last_entry()[:2] == ("Ines", "set_helpline")
    assert last_entry()[3].startswith(f"site {site.pk}, review by 2099-12-31, command")
    run("site", "open", slug, *BY)
    assert in_database(lambda: Site.objects.get(slug=slug).is_open)
    assert any("helpline: 0808 157 0123, text HOME to 85258" in line for line in run("site", "list"))


def test_a_part_of_a_helpline_is_changed_alone_and_on_record_once(people: People) -> None:
    slug = people.site.slug
    run("site", "helpline", slug, "--voice", "116 123", *BY)
    before = in_database(AuditEntry.objects.count)
    assert "before" in run("site", "helpline", slug, "--voice", "116 123", *BY)[0]
    assert in_database(AuditEntry.objects.count) == before
    site = in_database(lambda: Site.objects.get(slug=slug))
    assert (site.helpline_voice, site.helpline_text) == ("116 123", "07700 900123")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--voice", "call us"), "has digits"),
        (("--voice", "1" * 41), "has digits"),
        (("--text", "{helpline} 1"), "has digits"),
        (("--text", " "), "cannot be empty"),
        (("--owner", "a\nb"), "one line"),
        (("--review-by", "2020-01-01"), "2020-01-01 is over"),
    ],
)
def test_a_helpline_that_cannot_be_one_is_refused(
    people: People, arguments: tuple[str, ...], sentence: str
) -> None:
    assert sentence in refused("site", "helpline", people.site.slug, *arguments, *BY)


def test_the_rules_of_a_site_are_shown_and_set_within_their_limits(people: People) -> None:
    slug = people.site.slug
    assert "disclosure_s=10800, shows_reading=no" in run("site", "rules", slug, *BY)[0]

    run("site", "rules", slug, "disclosure_s=7200", "quiet_s=3600", "shows_reading=yes", *BY)

    site = in_database(lambda: Site.objects.get(slug=slug))
    assert (site.disclosure_s, site.quiet_s, site.shows_reading) == (7200, 3600, True)
    assert last_entry()[1] == "set_site_rules" and "disclosure_s=7200" in last_entry()[3]
    run("site", "rules", slug, "quiet_s=staff", *BY)
    assert in_database(lambda: Site.objects.get(slug=slug).quiet_s) is None
    out = ("idle_s=300", "visit_hours=4", "exit_address=https://weather.example/?q=a")
    assert all(rule in run("site", "rules", slug, *out, *BY)[0] for rule in out)
    run("site", "rules", slug, "visit_hours=longest", "exit_address=none", *BY)
    site = in_database(lambda: Site.objects.get(slug=slug))
    assert (site.idle_s, site.visit_hours, site.exit_address) == (300, None, "")
    for typed, sentence in (
        ("idle_s=59", "from 60 to 3600"),
        ("visit_hours=0", "or the word longest"),
        ("exit_address=http://weather.example/", "an https address"),
        ("exit_address=javascript:alert(1)", "an https address"),
        ("exit_address=https://sam:secret@weather.example/", "an https address"),
        ("exit_address=//weather.example/", "an https address"),
        ("disclosure_s=10801", "from 60 to 10800"),
        ("quiet_s=never", "or the word staff"),
        ("shows_reading=true", "yes or no"),
        ("language=xx", "one of en, es"),
        ("second_ring_s=30", "cannot be less"),
        ("loudness=3", "no rule of a site"),
    ):
        assert sentence in refused("site", "rules", slug, typed, *BY)


# Staff.


def colleague(people: People, *arguments: str) -> tuple[str, str]:
    """A new member of staff: what they sign in with, and the password of the last line."""
    username = f"kim-{people.password}"
    does = arguments or ("--supervises", people.site.slug)
    return username, run("staff", "add", username, "--name", "Kim", *does, *BY)[-1]


def user(username: str) -> User:
    return in_database(lambda: User.objects.get(username=username))


def sees(username: str) -> list[int]:
    return in_database(lambda: sorted(get_access(User.objects.get(username=username)).sites))


def test_a_new_colleague_signs_in_with_the_password_of_the_last_line_and_sees_her_site(
    service: Web, people: People
) -> None:
    username, password = colleague(people)
    with open_staff_client(service, user(username), password) as staff_client:
        assert staff_client.get("/ops/turns/").status_code == 200
    assert sees(username) == [people.site.pk]
    again = run("staff", "add", username, "--name", "Kim", "--supervises", people.site.slug, *BY)
    assert len(again) == 1 and "was there before" in again[0]
    assert "Choose another" in refused("staff", "add", username, "--name", "Kit", "--operator", *BY)
    stored = in_database(
        lambda: list(AuditEntry.objects.filter(what="added_staff").values_list("note", flat=True))
    )
    assert stored[-1].startswith(f"staff {user(username).pk}, sites {people.site.pk}, command")
    assert not any(password in note for note in stored)


def test_what_a_new_colleague_is_to_be_must_be_said(people: People) -> None:
    add = ("staff", "add", f"kim-{people.password}", "--name", "Kim", *BY)
    assert "--operator, or --supervises" in refused(*add)
    assert "--operator, or --supervises" in refused(*add, "--operator", "--supervises", people.site.slug)
    assert "There is no site nowhere" in refused(*add, "--supervises", "nowhere")


def test_what_a_colleague_may_see_is_given_and_taken_and_each_is_on_record_once(people: People) -> None:
    username, _ = colleague(people)
    pk = user(username).pk
    for words in (
        ("supervises", username, people.elsewhere.slug),
        ("no-longer", username, people.site.slug),
        ("operator", username),
        ("supervisor", username),
    ):
        before = in_database(AuditEntry.objects.count)
        run("staff", *words, *BY)
        assert last_entry()[3].startswith(f"staff {pk}")
        run("staff", *words, *BY)
        assert in_database(AuditEntry.objects.count) == before + 1
    assert sees(username) == [people.elsewhere.pk]
    run("staff", "operator", username, *BY)
    assert in_database(lambda: get_access(User.objects.get(username=username)).is_operator)
    assert f"{username}  Kim  operator" in run("staff", "list")


def test_removed_staff_are_signed_out_at_once_and_return_with_a_new_password_and_no_sites(
    service: Web, people: People
) -> None:
    username, password = colleague(people)
    with open_staff_client(service, user(username), password) as staff_client:
        run("staff", "withdraw", username, *BY)
        assert staff_client.get("/ops/turns/").status_code == 302
        assert "before" in run("staff", "withdraw", username, *BY)[0]
        assert "staff restore" in refused("staff", "password", username, *BY)
        new = run("staff", "restore", username, *BY)[-1]
        # The session of before stays ended.
        assert staff_client.get("/ops/turns/").status_code == 302
    assert in_database(lambda: authenticate(username=username, password=password)) is None
    assert in_database(lambda: authenticate(username=username, password=new)) is not None
    assert sees(username) == []


def test_a_new_password_ends_the_sessions_of_the_old_one(service: Web, people: People) -> None:
    username, password = colleague(people, "--operator")
    with open_staff_client(service, user(username), password) as staff_client:
        new = run("staff", "password", username, *BY)[-1]
        assert staff_client.get("/ops/turns/").status_code == 302
    with open_staff_client(service, user(username), new) as staff_client:
        assert staff_client.get("/ops/turns/").status_code == 200
    assert last_entry()[1] == "signed_in"


def test_a_name_that_no_person_can_have_is_refused_in_a_sentence(people: People) -> None:
    assert "no member of staff who signs in as unknown." in refused("staff", "withdraw", "unknown", *BY)
    odd = "x\udce1"
    for words in (("staff", "withdraw", odd), ("site", "close", odd), ("card", "Rosa", "--site", odd)):
        assert "not UTF-8" in refused(*words, *BY)
    assert "no participant" in refused("card", "Rosa", "--number", "9" * 25, *BY)
