"""What a shift leaves behind: flags that are handed over, a transcript on paper, figures of a year (S2, S5, S7)."""

import asyncio
import html
import re

import httpx
from django.contrib.auth.models import User
from django.utils import timezone
from django.utils.timezone import localdate

from companion.models import DisclosureCount, Flag, FlagStep, TranscriptEntry
from tests.people import People, Person, in_database
from tests.processes import Rehearsal, Web
from tests.staff import (
    list_recorded,
    open_staff_client,
    play_broken_turn,
    play_turn,
    store_flag,
)

OWNED = {"state": "accepted", "accepted_at": timezone.now()}


def sign_out(client: httpx.Client, **facts: str) -> httpx.Response:
    """Press *Sign out*, as a browser without scripts does."""
    client.get("/staff/sign-in/")
    form = {"csrfmiddlewaretoken": client.cookies["csrftoken"], **facts}
    return client.post("/staff/sign-out/", data=form, headers={"Origin": str(client.base_url).rstrip("/")})


def text_of(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.status_code
    main = answer.text.partition("<main")[2].partition("</main>")[0]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", main)).split())


def test_who_signs_out_with_flags_of_their_own_is_asked_to_hand_each_over(
    people: People, desk: httpx.Client, sam: User
) -> None:
    flag = store_flag(people.rosa, owner=sam.pk, owner_name="Sam", **OWNED)
    asked = sign_out(desk)
    assert asked.headers["location"] == "/ops/shift/?leaving"
    assert "You own 1 open flag. Hand it over below" in text_of(desk.get("/ops/shift/?leaving"))
    assert desk.get("/ops/shift/").status_code == 200
    # A colleague has taken it on: nothing is asked.
    in_database(lambda: Flag.objects.filter(pk=flag.pk).update(owner=sam.pk + 1, owner_name="Mira"))
    assert sign_out(desk).headers["location"] == "/staff/sign-in/"
    assert desk.get("/ops/shift/").status_code == 302


def test_who_signs_out_all_the_same_keeps_the_flag(people: People, desk: httpx.Client, sam: User) -> None:
    flag = store_flag(people.rosa, owner=sam.pk, owner_name="Sam", **OWNED)
    assert sign_out(desk, anyway="yes").headers["location"] == "/staff/sign-in/"
    assert desk.get("/ops/shift/").status_code == 302
    kept = in_database(lambda: Flag.objects.get(pk=flag.pk))
    assert (kept.state, kept.owner) == ("accepted", sam.pk)


async def test_a_transcript_names_each_speaker_and_is_on_record_before_it_is_shown(
    service: Web, rehearsal: Rehearsal, people: People, desk: httpx.Client
) -> None:
    rosa = people.rosa
    await play_turn(service, rosa, rehearsal, question="How is the garden?")
    await play_broken_turn(service, rosa, rehearsal, question="And the weather?")
    in_database(lambda: store_words(rosa))
    flag = store_flag(rosa)
    in_database(
        lambda: FlagStep.objects.create(flag=flag, what="noted", who="Sam", note="Called her sister.")
    )

    path = f"/ops/people/{rosa.conversation.pk}/print/"
    text = text_of(await asyncio.to_thread(desk.get, path))

    order = (
        *(f"{rosa.row.name} ", "How is the garden?", "Robin computer program", "And the weather?"),
        *("Mira a person who works here", "I am with you.", "Called her sister."),
    )
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert "A half answer." in text
    assert list_recorded(rosa).count("printed_transcript") == 1


def store_words(person: Person) -> None:
    after = person.turns()[-1].pk
    words = {"kind": "said", "person": 7, "name": "Mira", "text": "I am with you.", "after_turn": after}
    TranscriptEntry.objects.create(conversation=person.conversation, **words)


def test_a_transcript_of_another_site_is_not_there_and_operators_need_a_reason(
    service: Web, people: People, desk: httpx.Client
) -> None:
    otto = people.otto
    assert desk.get(f"/ops/people/{otto.conversation.pk}/print/").status_code == 404
    with open_staff_client(service, people.add_ines(), people.password) as operator:
        assert operator.get(f"/ops/people/{otto.conversation.pk}/print/").status_code == 403
    assert "printed_transcript" not in list_recorded(otto)


def test_a_year_of_disclosures_is_shown_for_ones_own_sites_and_a_small_number_is_not_told(
    people: People, desk: httpx.Client
) -> None:
    year = localdate().year
    counts = [
        DisclosureCount(site=site, year=of_year, showings=showings)
        for site, of_year, showings in (
            *((people.site, year, 12), (people.site, year - 1, 9)),
            (people.elsewhere, year, 500),
        )
    ]
    in_database(lambda: DisclosureCount.objects.bulk_create(counts))

    text = text_of(desk.get("/ops/shift/times/"))

    assert f"{year} {people.site.name} 12" in text
    assert f"{year - 1} {people.site.name} fewer than 10" in text
    assert people.elsewhere.name not in text and "500" not in text
