"""The desk's pages as they are served: people, flags on top, whole conversations, shift, record (S2, S5, S10)."""

import asyncio
import html
import re
from datetime import timedelta
from functools import partial
from uuid import uuid4

import httpx
import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.template.loader import render_to_string
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from companion.models import Control, FlagStep, Participant, StaffPause, TranscriptEntry, Turn
from companion.sessions import SessionStore
from ops.models import AuditEntry, Supervision
from tests.people import People, Person, in_database
from tests.processes import Rehearsal, Web
from tests.staff import (
    get_audit_entries,
    open_staff_client,
    play_broken_turn,
    play_turn,
    sign_in,
    store_flag,
)

SECRET = "My secret is a blue door."


async def fetch(client: httpx.Client, path: str) -> httpx.Response:
    """A page, fetched while the event loop of the test goes on."""
    return await asyncio.to_thread(client.get, path)


def text_of(answer: httpx.Response) -> str:
    """What a reader of a page reads, and what stands in its templates left out."""
    assert answer.status_code == 200, answer.status_code
    shown = re.sub(r"<template.*?</template>", "", answer.text, flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", shown)).split())


def page_of(person: Person) -> str:
    return f"/ops/people/{person.conversation.pk}/"


def test_a_supervisor_begins_with_people_and_an_operator_with_figures(
    service: Web, people: People, sam: User
) -> None:
    for member, first in ((sam, "/ops/people/"), (people.add_ines(), "/ops/")):
        with httpx.Client(base_url=service.url, trust_env=False) as client:
            client.get("/staff/sign-in/")
            answer = sign_in(client, member.get_username(), people.password)
            assert answer.headers["location"] == first
            # Each is one press from the other.
            nav = client.get(first).text
            assert 'href="/ops/people/"' in nav and 'href="/ops/"' in nav


@pytest.mark.parametrize(
    ("template", "table"), [("ops/_bell.html", "companion_flag "), ("ops/_alerts.html", "ops_alert ")]
)
def test_what_every_page_shows_of_flags_and_alerts_is_read_once(sam: User, template: str, table: str) -> None:
    request = RequestFactory().get("/ops/people/")
    request.user, request.session = sam, SessionStore()

    def list_statements() -> list[str]:
        with CaptureQueriesContext(connection) as read:
            render_to_string(template, request=request)
        return [query["sql"] for query in read.captured_queries]

    statements = in_database(list_statements)

    assert [table in statement for statement in statements].count(True) == 1
    assert ["ops_supervised" in statement for statement in statements].count(True) == 1


def test_the_desk_lists_who_is_here_at_the_sites_of_the_reader_and_no_one_else(
    service: Web, people: People, desk: httpx.Client
) -> None:
    rosa, otto = people.rosa, people.otto
    people.add_participant("Ada")
    rosa.sign_in(service.url)
    otto.sign_in(service.url)

    text = text_of(desk.get("/ops/people/"))

    assert "Rosa" in text and people.site.name in text and "Nothing under way" in text
    assert "Ada" not in text and "Otto" not in text


def test_what_stands_between_a_person_and_the_companion_is_said(
    service: Web, people: People, desk: httpx.Client
) -> None:
    rosa, ada, bea = people.rosa, people.add_participant("Ada"), people.add_participant("Bea")
    for person in (rosa, ada, bea):
        person.sign_in(service.url)
    now = timezone.now()

    def store() -> None:
        Control.objects.filter(conversation=rosa.conversation).update(
            person=1, person_name="Tess", person_since=now, person_seen_at=now
        )
        Control.objects.filter(conversation=ada.conversation).update(quiet_since=now)
        StaffPause.objects.create(scope="person", about=bea.row.pk, reason="Asked for rest", by_name="Tess")

    in_database(store)

    text = text_of(desk.get("/ops/people/"))

    assert "With a person : Tess" in text
    assert "Robin is quiet" in text and "Paused by staff" in text


async def test_flags_stand_on_top_by_kind_and_never_with_words(
    service: Web, people: People, rehearsal: Rehearsal, desk: httpx.Client
) -> None:
    rosa = people.rosa
    turn = await play_turn(service, rosa, rehearsal, question=SECRET)
    store_flag(rosa, turn=turn.pk)
    store_flag(people.otto)

    text = text_of(await fetch(desk, "/ops/people/"))

    assert "Red flag : Wants to talk to a person" in text
    assert text.index("Red flag") < text.index("Here now")
    assert "Otto" not in text and SECRET not in text


def test_a_person_who_is_not_here_is_found_by_name_and_the_search_is_on_record(
    people: People, desk: httpx.Client, sam: User
) -> None:
    ada = people.add_participant("Ada")
    people.add_participant("Adam", site=people.elsewhere)

    text = text_of(desk.get("/ops/people/", params={"name": "ada"}))

    assert "Not here now Ada" in text and "Adam" not in text
    entry = in_database(lambda: AuditEntry.objects.filter(who=sam.get_username()).latest("id"))
    assert (entry.what, entry.note) == ("searched_people", "1 found")
    assert "ada" not in entry.note and get_audit_entries(ada) == []


def test_the_people_of_a_site_are_found_by_its_name_wherever_they_are(
    service: Web, people: People, desk: httpx.Client
) -> None:
    people.rosa.sign_in(service.url)
    people.add_participant("Ada")

    text = text_of(desk.get("/ops/people/", params={"name": people.site.name[:-1].upper()}))

    here, not_here = text.split("Not here now")
    assert "Rosa" in here.split("Here now")[1] and "Ada" in not_here and "Rosa" not in not_here


async def test_a_conversation_is_one_page_with_half_answers_entries_flags_notes_and_visits(
    service: Web, people: People, rehearsal: Rehearsal, desk: httpx.Client, sam: User
) -> None:
    rosa = people.rosa
    broken = await play_broken_turn(service, rosa, rehearsal, question=SECRET)
    flag = store_flag(rosa, turn=broken.pk, kind="worn_out", tier="amber", source="message")

    def store() -> None:
        FlagStep.objects.create(flag=flag, what="noted", who="Tess", note="She slept badly.")
        for kind, text in (("joins", "Tess is here now."), ("said", "Good day, Rosa.")):
            TranscriptEntry.objects.create(
                conversation=rosa.conversation, kind=kind, name="Tess", text=text, after_turn=broken.pk
            )

    in_database(store)

    text = text_of(await fetch(desk, page_of(rosa)))

    parts = ("Came in at", SECRET, broken.reply, "A half answer.", "Tess is here now.", "Good day, Rosa.")
    assert [text.index(part) for part in parts] == sorted(text.index(part) for part in parts)
    assert "Amber flag : Worn out" in text and "She slept badly." in text
    assert [(entry.who, entry.what) for entry in get_audit_entries(rosa)] == [
        (sam.get_username(), "opened_conversation")
    ]


def test_a_conversation_of_another_site_is_not_there_and_the_try_is_on_record(
    people: People, desk: httpx.Client
) -> None:
    otto = people.otto

    for path in (page_of(otto), f"{page_of(otto)}items/"):
        assert desk.get(path).status_code == 404
    assert {entry.what for entry in get_audit_entries(otto)} == {"was_refused"}
    assert desk.get(f"/ops/people/{2**63}/").status_code == 404


def test_the_words_of_a_red_message_are_behind_one_press(people: People, desk: httpx.Client) -> None:
    rosa = people.rosa
    store_turns(rosa, 1, state="safety", question=SECRET)

    page = desk.get(page_of(rosa)).text

    [cover] = re.findall(r"<details[^>]*>(?:(?!</details>).)*?blue door", page, flags=re.S)
    assert " open" not in cover.split(">")[0] and "Show what" in cover


def test_earlier_turns_come_page_by_page_and_count_as_the_same_opening(
    people: People, desk: httpx.Client
) -> None:
    rosa = people.rosa
    turns = store_turns(rosa, 65)
    page = desk.get(page_of(rosa)).text
    [opened] = re.findall(r'data-opened="([^"]+)"', page)

    seen: list[int] = []
    before: int | str | None = ""
    while before is not None:
        answer = desk.get(f"{page_of(rosa)}items/?before={before}", headers={"X-Opened": opened}).json()
        seen = [item["id"] for item in answer["items"] if item["kind"] == "turn"] + seen
        before = answer["earlier"]

    assert seen == [turn.pk for turn in turns]
    assert len(get_audit_entries(rosa)) == 1
    # Without the proof of an opening it is one.
    desk.get(f"{page_of(rosa)}items/")
    assert len(get_audit_entries(rosa)) == 2


def test_the_shift_sorts_flags_by_whose_they_are(people: People, desk: httpx.Client, sam: User) -> None:
    at = timezone.now()
    owned = {"state": "accepted", "accepted_at": at}
    store_flag(people.add_participant("Ada"), owner=sam.pk, owner_name="Sam", **owned)
    store_flag(
        people.add_participant("Bea"),
        owner=1,
        owner_name="Tess",
        handed_to=sam.pk,
        handed_to_name="Sam",
        **owned,
    )
    store_flag(people.add_participant("Cleo"), owner=1, owner_name="Tess", **owned)
    store_flag(people.add_participant("Dora"))

    text = text_of(desk.get("/ops/shift/")).partition("As it was at")[2]

    order = ("Handed to you", "Bea", "Not accepted", "Dora", "Yours", "Ada", "With colleagues", "Cleo")
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert "Sam 1" in text and "Tess 2" in text


def test_the_record_is_searched_by_person_and_by_who_and_the_search_is_on_record(
    people: People, desk: httpx.Client, sam: User
) -> None:
    ada, otto = people.add_participant(f"Ada {people.password}"), people.otto
    desk.get(page_of(ada))
    in_database(lambda: AuditEntry.objects.create(who="tess", what="read_story", about=otto.row.pk))

    found = text_of(desk.get("/ops/record/", params={"person": ada.row.name, "who": ""}))
    by_tess = text_of(desk.get("/ops/record/", params={"who": "tess"}))
    by_sam = text_of(
        desk.get("/ops/record/", params={"who": sam.get_username(), "what": "opened_conversation"})
    )

    assert "Opened conversation" in found and ada.row.name in found
    assert "Nothing was found" in by_tess
    assert f"conversation {ada.conversation.pk}" in by_sam
    searched = in_database(
        lambda: list(AuditEntry.objects.filter(who=sam.get_username(), what="searched_record").order_by("id"))
    )
    assert [entry.about for entry in searched] == [ada.row.pk, None, None]
    assert searched[0].note == "by people; found 1"


def test_an_operator_searches_the_whole_record_by_number_and_sees_no_name_of_another_site(
    service: Web, people: People
) -> None:
    ines, otto = people.add_ines(), people.otto
    ada = people.add_participant("Ada")
    in_database(lambda: Supervision.objects.create(user=ines, site=people.site))
    in_database(lambda: AuditEntry.objects.create(who="tess", what="read_story", about=otto.row.pk))
    in_database(lambda: AuditEntry.objects.create(who="tess", what="read_story", about=ada.row.pk))
    with open_staff_client(service, ines, people.password) as client:
        listed, by_name, by_number = (
            text_of(client.get("/ops/record/", params={"who": "tess", "person": person}))
            for person in ("", "Otto", str(otto.row.pk))
        )

    assert "about Ada (number" in listed and f"about number {otto.row.pk} " in listed
    assert "Otto" not in listed
    assert "Nothing was found" in by_name
    assert f"about number {otto.row.pk} " in by_number and "Ada" not in by_number


def test_the_record_is_about_those_of_just_this_name_at_ones_own_sites(
    people: People, desk: httpx.Client
) -> None:
    ada, adam = (
        people.add_participant(f"Ada{people.password}"),
        people.add_participant(f"Ada{people.password}m"),
    )
    for person in (ada, adam, people.otto):
        in_database(partial(AuditEntry.objects.create, who="tess", what="read_story", about=person.row.pk))

    found, of_elsewhere = (
        text_of(desk.get("/ops/record/", params={"who": "tess", "person": person}))
        for person in (ada.row.name.upper(), str(people.otto.row.pk))
    )

    assert f"(number {ada.row.pk})" in found and f"(number {adam.row.pk})" not in found
    assert "Nothing was found" in of_elsewhere


def store_turns(person: Person, count: int, **fields: object) -> list[Turn]:
    """Ended turns of this person, without a provider."""
    now = timezone.now()

    def store() -> list[Turn]:
        assert Participant.objects.filter(pk=person.row.pk).exists()
        facts = {"state": "complete", "question": "Hello", "reply": "Hello.", **fields}
        return [
            Turn.objects.create(
                conversation=person.conversation,
                key=uuid4(),
                owner=uuid4(),
                wait_until=now,
                closed_at=now,
                **facts,
            )
            for _ in range(count)
        ]

    return in_database(store)


def test_an_operator_reads_a_conversation_only_with_a_stated_reason_and_the_sites_staff_see_it(
    service: Web, people: People, desk: httpx.Client
) -> None:
    rosa, ines = people.rosa, people.add_ines()
    store_turns(rosa, 1, question=SECRET)
    with open_staff_client(service, ines, people.password) as client:
        asked = client.get(page_of(rosa))
        assert "State a reason" in asked.text and SECRET not in asked.text and "Rosa" not in asked.text
        assert client.get(f"{page_of(rosa)}items/").status_code == 403
        form = {"csrfmiddlewaretoken": client.cookies["csrftoken"]}
        for nothing in ("\u200b", "\x00", "  "):
            client.post(page_of(rosa), data={**form, "reason": nothing}, headers={"Origin": service.url})
            assert SECRET not in client.get(page_of(rosa)).text
        form["reason"] = "A complaint"
        client.post(page_of(rosa), data=form, headers={"Origin": service.url})

        assert SECRET in client.get(page_of(rosa)).text

    whats = [entry.what for entry in get_audit_entries(rosa)]
    assert whats == ["stated_reason", "opened_conversation"]
    assert "A complaint" in text_of(desk.get("/ops/people/"))


def test_times_of_flags_are_shown_by_site_and_week_against_the_target(
    people: People, desk: httpx.Client
) -> None:
    now = timezone.now()
    for after_s in (10, 20, 300):
        at = now - timedelta(seconds=600)
        facts = {"owner": 1, "owner_name": "Tess", "accepted_at": at + timedelta(seconds=after_s)}
        store_flag(people.add_participant(), opened_at=at, state="accepted", **facts)

    text = text_of(desk.get("/ops/shift/times/"))

    assert people.site.name in text and "3 flags; 67 % accepted within 60 s" in text
    assert "accepted 20 s 5 min 5 min" in text


def test_an_operator_reads_no_name_of_a_person_whom_staff_have_paused(
    service: Web, people: People, desk: httpx.Client
) -> None:
    rosa = people.rosa
    in_database(
        lambda: StaffPause.objects.create(
            scope="person", about=rosa.row.pk, reason="To talk first", by_name="Sam"
        )
    )
    assert "Rosa : To talk first" in text_of(desk.get("/ops/shift/"))
    with open_staff_client(service, people.add_ines(), people.password) as client:
        shown = text_of(client.get("/ops/shift/"))
    assert f"Person {rosa.row.pk} : To talk first" in shown and "Rosa" not in shown
