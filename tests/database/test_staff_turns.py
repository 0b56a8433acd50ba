"""What staff see of turns over plain HTTP: by site, on record, as text, and without JavaScript."""

import html
import re
import uuid

import httpx
import psycopg
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db.models.functions import Now
from django.utils import timezone

from companion.models import Turn
from ops.models import AuditEntry, Supervision
from tests.page_socket import Page
from tests.people import People, in_database
from tests.processes import Rehearsal, Web
from tests.staff import (
    expire_hold,
    get_audit_entries,
    open_staff_client,
    play_broken_turn,
    play_turn,
    sign_in,
)

MARKUP = "<script>alert(1)</script> **bold** &amp; <img src=x onerror=alert(2)>"

TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="[^"]+"')


@pytest.mark.parametrize("path", ["/ops/", "/ops/turns/", "/ops/turns/1/"])
def test_a_page_for_staff_asks_everybody_else_to_sign_in(service: Web, path: str) -> None:
    answer = httpx.get(service.url + path, trust_env=False)
    assert answer.status_code == 302
    assert answer.headers["location"] == f"/staff/sign-in/?next={path}"


def test_a_participants_card_opens_no_page_for_staff(service: Web, people: People) -> None:
    cookies = {"companion": people.rosa.sign_in(service.url)}
    answer = httpx.get(f"{service.url}/ops/turns/", cookies=cookies, trust_env=False)
    assert answer.status_code == 302


def test_an_account_that_is_not_staff_is_refused_like_a_wrong_password(service: Web, people: People) -> None:
    name = f"visitor-{people.password}"
    in_database(lambda: User.objects.create_user(name, password=people.password))
    with httpx.Client(base_url=service.url, trust_env=False) as staff_client:
        staff_client.get("/staff/sign-in/")
        not_staff = sign_in(staff_client, name, people.password)
        wrong = sign_in(staff_client, people.add_sam().get_username(), "wrong")
    for answer in (not_staff, wrong):
        assert answer.status_code == 200
        assert "The name or the password is not right." in answer.text
    assert "companion" not in staff_client.cookies


def test_staff_who_sign_in_where_a_participant_was_end_that_visit(service: Web, people: People) -> None:
    sam = people.add_sam()
    cookie = people.rosa.sign_in(service.url)
    with httpx.Client(base_url=service.url, trust_env=False, cookies={"companion": cookie}) as staff_client:
        staff_client.get("/staff/sign-in/")
        staff_client.cookies.delete("companion")
        staff_client.cookies.set("companion", cookie, domain="127.0.0.1", path="/")
        assert sign_in(staff_client, sam.get_username(), people.password).status_code == 302
        assert staff_client.get("/chat/").status_code == 302
    assert (
        httpx.get(f"{service.url}/chat/", cookies={"companion": cookie}, trust_env=False).status_code == 302
    )


async def test_a_supervisor_opens_a_turn_of_her_site_whole_and_that_is_on_record(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa, sam = people.rosa, people.add_sam()
    turn = await play_broken_turn(service, rosa, rehearsal)
    with open_staff_client(service, sam, people.password) as staff_client:
        page = staff_client.get(f"/ops/turns/{turn.pk}/")
    assert page.status_code == 200
    assert "no-store" in page.headers["cache-control"]
    for told in (turn.question, turn.reply, turn.line, "A half answer.", "paused, held", "held until"):
        assert told in page.text
    for told in ("network", "rehearsal-1", "The connection to the provider was refused, or broke off."):
        assert told in page.text
    [entry] = get_audit_entries(rosa)
    assert (entry.who, entry.what, entry.note) == (sam.get_username(), "read_story", f"turn {turn.pk}")


async def test_a_stranger_at_another_site_is_nowhere_and_the_refused_reading_is_on_record(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    otto, sam = people.otto, people.add_sam()
    turn = await play_broken_turn(service, otto, rehearsal)
    with open_staff_client(service, sam, people.password) as staff_client:
        page = staff_client.get(f"/ops/turns/{turn.pk}/")
        nowhere = staff_client.get(f"/ops/turns/{2**62}/")
        lists = [
            staff_client.get(f"/ops/turns/?show={shelf}").text for shelf in ("paused", "held", "expired")
        ]
    assert page.status_code == 404
    # Each page carries a token of its own for the form that signs out.
    assert TOKEN.sub("", page.text) == TOKEN.sub("", nowhere.text)
    assert not any("Otto" in text or f"/ops/turns/{turn.pk}/" in text for text in lists)
    [entry] = get_audit_entries(otto)
    assert (entry.who, entry.what, entry.note) == (sam.get_username(), "was_refused", f"turn {turn.pk}")


async def test_access_that_is_withdrawn_ends_with_the_next_request(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    sam = people.add_sam()
    turn = await play_broken_turn(service, people.rosa, rehearsal)
    with open_staff_client(service, sam, people.password) as staff_client:
        assert staff_client.get(f"/ops/turns/{turn.pk}/").status_code == 200
        in_database(lambda: Supervision.objects.filter(user=sam).delete())
        assert staff_client.get(f"/ops/turns/{turn.pk}/").status_code == 404
        in_database(lambda: User.objects.filter(pk=sam.pk).update(is_active=False))
        assert staff_client.get("/ops/").status_code == 302


def test_signing_in_is_on_record_and_a_wrong_password_is_not(service: Web, people: People) -> None:
    sam = people.add_sam()
    with httpx.Client(base_url=service.url, trust_env=False) as staff_client:
        staff_client.get("/staff/sign-in/")
        sign_in(staff_client, sam.get_username(), "wrong")
        sign_in(staff_client, sam.get_username(), people.password)
    rows = in_database(lambda: list(AuditEntry.objects.filter(who=sam.get_username())))
    assert [(row.what, row.about, row.note) for row in rows] == [("signed_in", None, "")]


async def test_an_operator_sees_how_turns_of_every_site_went_and_no_name_or_word_without_a_reason(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    person = people.add_participant("Rosalind")
    turn = await play_broken_turn(service, person, rehearsal)
    # The dashboard lists the ten oldest held questions of all sites: those of earlier tests must not fill it.
    in_database(
        lambda: Turn.objects.exclude(pk=turn.pk).filter(held_until__gt=Now()).update(held_until=Now())
    )
    page, words = f"/ops/turns/{turn.pk}/", f"/ops/turns/{turn.pk}/words/"
    with open_staff_client(service, people.add_ines(), people.password) as operator:
        for address in (page, "/ops/turns/?show=paused", "/ops/turns/?show=held", "/ops/"):
            text = operator.get(address).text
            assert f"Person {person.row.pk}" in text, address
            assert "Rosalind" not in text, address
            assert turn.question not in text, address
            assert turn.reply not in text, address
        assert "Attempt 1" in operator.get(page).text
        assert operator.get(words).status_code == 403

        conversation = f"/ops/people/{person.conversation.pk}/"
        form = {"reason": "a fault", "csrfmiddlewaretoken": operator.cookies["csrftoken"]}
        headers = {"Referer": f"{service.url}{conversation}", "Origin": service.url}
        assert operator.post(conversation, data=form, headers=headers).status_code in {200, 302}
        assert turn.question in operator.get(page).text
        assert operator.get(words).json()["reply"] == turn.reply
    notes = in_database(
        lambda: list(
            AuditEntry.objects.filter(about=person.row.pk, what="read_story")
            .order_by("id")
            .values_list("note", flat=True)
        )
    )
    assert notes[0] == f"turn {turn.pk}, without words"
    assert f"turn {turn.pk}" in notes


async def test_a_list_holds_no_word_that_a_person_wrote(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    turn = await play_broken_turn(service, people.rosa, rehearsal)
    with open_staff_client(service, people.add_sam(), people.password) as staff_client:
        text = staff_client.get("/ops/turns/").text
    assert f"/ops/turns/{turn.pk}/" in text
    assert turn.question not in text and turn.reply not in text


async def test_markup_is_shown_as_text(service: Web, people: People, rehearsal: Rehearsal) -> None:
    rosa = people.add_participant("<b>Rosa</b>")
    turn = await play_turn(service, rosa, rehearsal, question=MARKUP, fault={"say": MARKUP + "\n# Heading"})
    with open_staff_client(service, people.add_sam(), people.password) as staff_client:
        text = staff_client.get(f"/ops/turns/{turn.pk}/").text
    assert turn.reply == MARKUP + "\n# Heading"
    assert "&lt;b&gt;Rosa&lt;/b&gt;" in text
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt; **bold** &amp;amp; &lt;img") == 2
    assert "# Heading" in text
    assert not re.search(r"<script>|<img src=x|<b>", text)


async def test_every_list_holds_what_its_name_says_in_its_own_order(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    first, second, third = (people.add_participant(name) for name in ("Ada", "Bea", "Cleo"))
    held = await play_broken_turn(service, first, rehearsal)
    later = await play_broken_turn(service, second, rehearsal)
    expired = await play_broken_turn(service, third, rehearsal)
    expire_hold(expired)
    with open_staff_client(service, people.add_sam(), people.password) as staff_client:
        listed = {
            shelf: [
                int(turn)
                for turn in re.findall(
                    r'href="/ops/turns/(\d+)/"', staff_client.get(f"/ops/turns/?show={shelf}").text
                )
            ]
            for shelf in ("now", "answered", "paused", "held", "expired", "refused", "stopped")
        }
    assert listed == {
        "now": [],
        "answered": [],
        "paused": [expired.pk, later.pk, held.pk],
        "held": [held.pk, later.pk],
        "expired": [expired.pk],
        "refused": [],
        "stopped": [],
    }


async def test_an_answered_turn_is_among_the_answered_ones_and_its_page_leads_back_there(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    turn = await play_turn(service, people.rosa, rehearsal, question="How are you?")
    theirs = await play_turn(service, people.otto, rehearsal, question="How are you?")
    with open_staff_client(service, people.add_sam(), people.password) as staff_client:
        text = staff_client.get("/ops/turns/?show=answered").text
        page = staff_client.get(f"/ops/turns/{turn.pk}/").text
    assert f'href="/ops/turns/{turn.pk}/"' in text
    assert f"/ops/turns/{theirs.pk}/" not in text
    assert turn.question not in text and turn.reply not in text
    assert 'href="/ops/turns/?show=answered">Back to the list' in page and turn.reply in page


async def test_staff_read_along_while_a_reply_is_being_said_and_that_is_on_record(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    rehearsal.inject({"hang": "after_words", "after": 3}, times=1)
    with open_staff_client(service, people.add_sam(), people.password) as staff_client:
        async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
            await page.say("How are you?")
            number = (await page.until("accepted"))["turn"]
            while len(page.words(number).split()) < 3:
                await page.next()
            now = staff_client.get("/ops/turns/?show=now").text
            told = staff_client.get(f"/ops/turns/{number}/").text
            await page.send({"type": "stop", "turn": number})
            await page.ending()
        later = staff_client.get("/ops/turns/?show=now").text
    assert f'href="/ops/turns/{number}/"' in now and "speaking" in now
    assert page.words(number) in told and "?show=now" in told
    assert [entry.note for entry in get_audit_entries(rosa) if entry.what == "read_story"] == [
        f"turn {number}"
    ]
    assert f'href="/ops/turns/{number}/"' not in later


async def test_the_answer_and_the_question_it_answered_point_at_each_other(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    broken = await play_broken_turn(service, rosa, rehearsal)
    answer = await play_turn(service, rosa, rehearsal, question="Hello?")
    with open_staff_client(service, people.add_sam(), people.password) as staff_client:
        assert f'href="/ops/turns/{answer.pk}/"' in staff_client.get(f"/ops/turns/{broken.pk}/").text
        text = staff_client.get(f"/ops/turns/{answer.pk}/").text
    assert f'href="/ops/turns/{broken.pk}/"' in text
    assert "I am back. First, what you asked me before." in text


@pytest.mark.parametrize(
    "path",
    [
        "/ops/turns/?show=nonsense",
        "/ops/turns/99999999999999999999999/",
        "/ops/turns/0/",
    ],
)
def test_nonsense_in_an_address_is_not_found(service: Web, people: People, path: str) -> None:
    with open_staff_client(service, people.add_sam(), people.password) as staff_client:
        assert staff_client.get(path).status_code == 404


@pytest.mark.parametrize("change", ["UPDATE ops_auditentry SET who = 'nobody'", "DELETE FROM ops_auditentry"])
async def test_the_database_refuses_to_change_the_audit_record(
    service: Web, people: People, rehearsal: Rehearsal, change: str
) -> None:
    rosa = people.rosa
    in_database(lambda: AuditEntry.objects.create(who="sam", what="read_story", about=rosa.row.pk))
    with (
        psycopg.connect(settings.DATABASE_URL) as connection,
        pytest.raises(psycopg.Error, match="append-only"),
    ):
        connection.execute(change)
    assert len(get_audit_entries(rosa)) == 1


async def test_the_first_page_says_which_lane_needs_a_person(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    await play_broken_turn(service, people.rosa, rehearsal, fault={"status": 401, "error": "invalid_key"})
    with open_staff_client(service, people.add_sam(), people.password) as staff_client:
        text = staff_client.get("/ops/").text
    assert "Needs a person." in text
    assert "<code>misconfigured</code>" in text
    assert "Held questions of my sites" in text


def test_a_long_list_goes_on_page_by_page_and_loses_none(service: Web, people: People) -> None:
    rosa = people.rosa
    now = timezone.now()
    rows = [
        Turn(
            conversation=rosa.conversation,
            key=uuid.uuid4(),
            question="?",
            state="refused",
            reason="wait_ceiling",
            owner=uuid.uuid4(),
            persona_version="0",
            wait_until=now,
            closed_at=now,
        )
        for _ in range(65)
    ]
    stored = [turn.pk for turn in in_database(lambda: Turn.objects.bulk_create(rows))]
    address, found, pages = "?show=refused", list[int](), 0
    with open_staff_client(service, people.add_sam(), people.password) as staff_client:
        while address:
            text = staff_client.get(f"/ops/turns/{address}").text
            found += [int(turn) for turn in re.findall(r'href="/ops/turns/(\d+)/"', text)]
            further = re.search(r'href="([^"]+)">Next page', text)
            address, pages = html.unescape(further[1]) if further else "", pages + 1
    assert found == sorted(stored, reverse=True)
    assert pages == 3
