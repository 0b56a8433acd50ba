"""It says that it is a computer program: before the first reply, after a time of talk, and when asked (S7)."""

import io
import json
import uuid
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest_asyncio
from django.core.management import call_command
from django.db.models import F
from django.utils import timezone

from companion.models import Control, DisclosureCount, Site, TranscriptEntry, Turn, Visit
from companion.turn_open import OpenedTurn, SayRequest
from ops.people.disclosures import SUPPRESSED_BELOW
from ops.personal_data.export import export_person
from ops.transcripts.timeline import get_head, read_timeline
from tests.ledgers import LedgerProcess, StartLedger
from tests.people import People, Person, in_database


@pytest_asyncio.fixture
async def desk(start_ledger: StartLedger) -> LedgerProcess:
    desk = start_ledger(10)
    await desk.write_heartbeat(age_s=-600)
    return desk


def request(person: Person, *, asks: bool = False) -> SayRequest:
    visit = in_database(lambda: Visit.objects.create(participant=person.row, expires_at="2099-01-01T00:00Z"))
    return SayRequest(visit=visit.pk, key=uuid.uuid4(), question="Hello.", asks_if_human=asks)


async def say(desk: LedgerProcess, person: Person, *, asks: bool = False) -> int:
    opened = await desk.ledger.open(request(person, asks=asks))
    assert isinstance(opened, OpenedTurn)
    return opened.turn


def shown(person: Person) -> list[dict[str, Any]]:
    rows = TranscriptEntry.objects.filter(conversation=person.conversation, kind="disclosure")
    columns = ("text", "version", "after_turn")
    found = in_database(lambda: list(rows.order_by("id").values_list(*columns)))
    return [dict(zip(columns, row, strict=True)) for row in found]


def counted(person: Person) -> int:
    rows = DisclosureCount.objects.filter(site=person.row.site, year=timezone.now().year)
    return in_database(lambda: sum(rows.values_list("showings", flat=True)))


def let_pass(person: Person, seconds: int) -> None:
    rows = TranscriptEntry.objects.filter(conversation=person.conversation)
    in_database(lambda: rows.update(at=F("at") - timedelta(seconds=seconds)))


async def test_it_opens_the_first_turn_alone_and_its_version_is_kept(
    desk: LedgerProcess, people: People
) -> None:
    rosa = people.rosa
    first, second = await say(desk, rosa), await say(desk, rosa)

    lines, version = desk.policy.lines, desk.policy.persona_version
    assert shown(rosa) == [{"text": lines.disclosure, "version": version, "after_turn": first}]
    opened_with = {turn.pk: turn.openings for turn in rosa.turns()}
    assert opened_with == {first: [{"kind": "disclosure", "line": lines.disclosure}], second: []}
    assert counted(rosa) == 1


async def test_it_is_said_again_after_the_time_of_the_site_and_after_three_hours_at_the_latest(
    desk: LedgerProcess, people: People
) -> None:
    rosa = people.rosa
    sites = Site.objects.filter(pk=people.site.pk)
    in_database(lambda: sites.update(disclosure_s=3_600))
    first = await say(desk, rosa)
    let_pass(rosa, 3_590)
    await say(desk, rosa)
    assert len(shown(rosa)) == 1

    let_pass(rosa, 20)
    third = await say(desk, rosa)
    assert [row["after_turn"] for row in shown(rosa)] == [first, third]
    in_database(lambda: Turn.objects.filter(conversation=rosa.conversation).delete())
    in_database(lambda: sites.update(disclosure_s=1_000_000))
    let_pass(rosa, 10_810)
    await say(desk, rosa)

    assert len(shown(rosa)) == 3


async def test_who_asks_is_told_before_the_reply_whenever_they_ask(
    desk: LedgerProcess, people: People
) -> None:
    rosa = people.rosa
    await say(desk, rosa)

    turns = [await say(desk, rosa, asks=True) for _ in range(2)]

    line = desk.policy.lines.asked_if_person
    assert [(row["text"], row["after_turn"]) for row in shown(rosa)[1:]] == [(line, turn) for turn in turns]
    assert counted(rosa) == 3


async def test_messages_of_one_moment_are_told_once(desk: LedgerProcess, people: People) -> None:
    rosa = people.rosa

    await desk.ask_in_one_moment(rosa, times=3)

    assert len(shown(rosa)) == 1


async def test_a_message_that_a_person_reads_is_told_nothing(desk: LedgerProcess, people: People) -> None:
    rosa = people.rosa
    at = timezone.now()
    here = {"person": 1, "person_name": "Sam", "person_since": at, "person_seen_at": at}
    in_database(lambda: Control.objects.filter(conversation=rosa.conversation).update(**here))

    await say(desk, rosa, asks=True)

    assert shown(rosa) == []


async def test_a_key_that_comes_again_tells_nothing_again(desk: LedgerProcess, people: People) -> None:
    rosa = people.rosa
    once = request(rosa, asks=True)

    await desk.ledger.open(once)
    await desk.ledger.open(replace(once))

    assert len(shown(rosa)) == 1


def test_a_year_is_counted_by_site_and_a_small_number_is_not_told(people: People) -> None:
    counts = {people.site: SUPPRESSED_BELOW, people.elsewhere: SUPPRESSED_BELOW - 1}
    rows = [DisclosureCount(site=site, year=2031, showings=showings) for site, showings in counts.items()]
    in_database(lambda: DisclosureCount.objects.bulk_create(rows))
    said = io.StringIO()
    in_database(lambda: call_command("disclosures", "--year", "2031", "--json", stdout=said))

    told = {one["site"]: one["showings"] for one in json.loads(said.getvalue())["sites"]}

    assert (told[people.site.slug], told[people.elsewhere.slug]) == (SUPPRESSED_BELOW, None)
    plain = io.StringIO()
    in_database(lambda: call_command("disclosures", "--year", "2031", stdout=plain))
    assert f"{people.elsewhere.slug}  {people.elsewhere.name}  2031  fewer than 10" in plain.getvalue()


async def test_staff_and_an_export_read_it_once_before_the_reply(desk: LedgerProcess, people: People) -> None:
    rosa, line = people.rosa, desk.policy.lines.disclosure
    await say(desk, rosa)

    exported = in_database(lambda: "".join(export_person(rosa.row, desk.policy, with_notes=False)))
    head = in_database(lambda: get_head(rosa.conversation.pk, sites={rosa.row.site_id}))
    assert head is not None
    items = in_database(lambda: read_timeline(head, before=None)).items

    assert exported.count(line) == 1
    assert [item["openings"] for item in items if item["kind"] == "turn"] == [
        [{"kind": "disclosure", "line": line}]
    ]
    assert not [item for item in items if item["kind"] == "entry"]
