"""What is deleted by age, and what is not (S6)."""

import json
import uuid
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from companion.models import Flag, Machine, Needs, Site, StaffPause, Turn, Visit, VisitOffer
from ops.models import AuditEntry, SafeguardingHold, StatedReason
from ops.personal_data.retention import apply_retention
from ops.personal_data.turn_deletion import OLDEST, WALK_INDEX
from tests.commands import BY, refused, run
from tests.people import People, Person, in_database
from tests.personal_data import add_old_visit, add_turn, fill


def test_retention_deletes_only_what_its_site_no_longer_keeps(people: People, state: Path) -> None:
    here, there = people.rosa, people.otto
    for person in (here, there):
        fill(person)
        in_database(partial(add_old_visit, person))
    run("retention", "--site", here.row.site.slug, "--messages", "30", "--visits", "30", "--flags", "1", *BY)
    assert f"{here.row.site.slug}: would delete messages 1, flags 0, visits 1" in run(
        "retention", "--dry-run"
    )
    assert len(here.turns()) == 2
    run("retention", "--apply")
    assert [turn.question for turn in here.turns()] == ["What came of it?"]
    assert in_database(lambda: Visit.objects.filter(participant=here.row).count()) == 1
    # A flag that is not closed stays, however old it is.
    assert in_database(lambda: Flag.objects.filter(conversation=here.conversation).count()) == 1
    assert len(there.turns()) == 2
    # What a person needs goes with the person: without it they could not read the page when they return.
    assert in_database(lambda: Needs.objects.filter(pk__in=[here.row.pk, there.row.pk]).count()) == 2
    assert in_database(lambda: Visit.objects.filter(participant=there.row).count()) == 2


def test_offers_of_visits_are_kept_as_long_as_visits(people: People) -> None:
    def add_offer(machine: Machine, person: Person, days_ago: int) -> int:
        at = timezone.now() - timedelta(days=days_ago)
        times = {"offered_at": at, "expires_at": at + timedelta(minutes=5), "answered_at": at, "answer": "no"}
        offer = VisitOffer.objects.create(
            machine=machine, participant=person.row, by=1, by_name="Sam", **times
        )
        return offer.pk

    here, there = people.rosa, people.otto
    kept = []
    for person in (here, there):
        machine = in_database(
            partial(Machine.objects.create, site=person.row.site, name="Front room", paired_by="Sam")
        )
        old, young = (in_database(partial(add_offer, machine, person, days)) for days in (200, 10))
        kept += [young] if person is here else [old, young]
    run("retention", "--site", here.row.site.slug, "--visits", "100", *BY)
    assert f"{here.row.site.slug}: would delete visits 1" in run("retention", "--dry-run")
    run("retention", "--apply")
    of_both = VisitOffer.objects.filter(participant__in=[here.row.pk, there.row.pk])
    assert in_database(lambda: sorted(of_both.values_list("pk", flat=True))) == sorted(kept)


def test_only_old_entries_of_the_record_can_be_deleted_and_only_by_retention(rosa: Person) -> None:
    def add(days_ago: int) -> AuditEntry:
        at = timezone.now() - timedelta(days=days_ago)
        return AuditEntry.objects.create(who="Sam", what="read_story", about=rosa.row.pk, at=at)

    old, young = in_database(lambda: add(200)), in_database(lambda: add(10))
    with pytest.raises(Exception, match="append-only"):
        in_database(old.delete)
    run("retention", "--site", rosa.row.site.slug, "--record", "100", *BY)
    run("retention", "--apply")
    left = in_database(
        lambda: set(AuditEntry.objects.filter(pk__in=[old.pk, young.pk]).values_list("pk", flat=True))
    )
    assert left == {young.pk}


@pytest.mark.parametrize(
    "arguments",
    [("--messages", "0"), ("--record", "30"), ("--messages", "many"), ("--visits", "9999999")],
)
def test_a_time_that_cannot_be_kept_is_refused(rosa: Person, arguments: tuple[str, str]) -> None:
    assert "Nothing was changed" in refused("retention", "--site", rosa.row.site.slug, *arguments, *BY)


def test_what_a_run_reads_does_not_grow_with_what_is_kept(rosa: Person) -> None:
    at = timezone.now()
    turns = [
        Turn(
            conversation=rosa.conversation,
            key=uuid.uuid4(),
            question="?",
            state="complete",
            owner=uuid.uuid4(),
            persona_version="1",
            wait_until=at,
            closed_at=at,
        )
        for _ in range(3_000)
    ]
    in_database(lambda: Turn.objects.bulk_create(turns))

    def explain() -> list[dict[str, Any]]:
        facts: dict[str, Any] = {
            "conversation": rosa.conversation.pk,
            "at_most": 50,
            "before": at - timedelta(days=1),
        }
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(WALK_INDEX)
            cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {OLDEST}", facts)
            plan = cursor.fetchone()[0]
        loaded: list[dict[str, Any]] = json.loads(plan) if isinstance(plan, str) else plan
        return loaded

    [explained] = in_database(explain)
    node = explained["Plan"]
    while node.get("Plans"):
        [node] = node["Plans"]
    assert "Index" in node["Node Type"]
    assert node["Actual Rows"] <= 50


def test_people_of_whom_nothing_is_due_cost_no_transaction_of_their_own(people: People) -> None:
    def count_statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            apply_retention()
        return len(captured)

    rosa = people.rosa
    set_days = partial(Site.objects.filter(pk=rosa.row.site_id).update, keep_messages_days=30)
    in_database(lambda: set_days(keep_flags_days=30, keep_visits_days=30, keep_record_days=100))
    fill(rosa)
    in_database(apply_retention)
    before = in_database(count_statements)
    for _ in range(5):
        fill_young(people.rosa)
    assert in_database(count_statements) == before


def fill_young(person: Person) -> None:
    add_turn(person, "How are you?")
    in_database(lambda: Visit.objects.create(participant=person.row, expires_at=timezone.now()))


def add_staff_records(person: Person, *, days_ago: int) -> None:
    at = timezone.now() - timedelta(days=days_ago)
    site = person.row.site_id
    for scope, about in (("person", person.row.pk), ("site", site), ("everyone", 0)):
        ended = {"at": at, "ended_at": at, "ended_by_name": "Sam"}
        StaffPause.objects.create(scope=scope, about=about, reason="A drill", by_name="Sam", **ended)
    StatedReason.objects.create(
        staff=1,
        name="Ines",
        conversation=person.conversation.pk,
        participant=person.row.pk,
        site_id=site,
        reason="Asked to",
        at=at,
        until=at,
    )


def read_staff_records(person: Person) -> dict[str, int]:
    about = {"person": person.row.pk, "site": person.row.site_id}
    ended = StaffPause.objects.filter(ended_at__isnull=False)
    counts = {scope: ended.filter(scope=scope, about=number).count() for scope, number in about.items()}
    return counts | {"reasons": StatedReason.objects.filter(participant=person.row.pk).count()}


def test_pauses_that_are_over_and_stated_reasons_are_kept_as_long_as_the_record(people: People) -> None:
    rosa, otto = people.rosa, people.otto
    for person in (rosa, otto):
        for days_ago in (200, 10):
            in_database(partial(add_staff_records, person, days_ago=days_ago))
    in_database(
        lambda: StaffPause.objects.create(scope="person", about=rosa.row.pk, reason="Still", by_name="Sam")
    )
    run("retention", "--site", rosa.row.site.slug, "--record", "100", *BY)
    assert f"{rosa.row.site.slug}: would delete record 3" in run("retention", "--dry-run")
    run("retention", "--apply")
    assert in_database(lambda: read_staff_records(rosa)) == {"person": 1, "site": 1, "reasons": 1}
    # Another site keeps its own for ever, and with it the pauses for everyone.
    assert in_database(lambda: read_staff_records(otto)) == {"person": 2, "site": 2, "reasons": 2}
    assert in_database(lambda: StaffPause.objects.filter(about=rosa.row.pk, reason="Still").exists())


def test_a_hold_keeps_the_pauses_and_reasons_about_its_person(rosa: Person) -> None:
    in_database(lambda: add_staff_records(rosa, days_ago=200))
    run("retention", "--site", rosa.row.site.slug, "--record", "100", *BY)
    held = {"reason": "An inquiry", "review_by": timezone.localdate() + timedelta(days=30)}
    in_database(lambda: SafeguardingHold.objects.create(participant=rosa.row, by="Sam", **held))
    run("retention", "--apply")
    assert in_database(lambda: read_staff_records(rosa)) == {"person": 1, "site": 0, "reasons": 1}


def test_a_pause_for_everyone_is_kept_as_long_as_the_site_that_keeps_longest(people: People) -> None:
    in_database(StaffPause.objects.all().delete)
    in_database(lambda: add_staff_records(people.rosa, days_ago=200))
    days_of = in_database(lambda: dict(Site.objects.values_list("pk", "keep_record_days")))

    def count_left(days: int) -> int:
        in_database(lambda: Site.objects.update(keep_record_days=days))
        run("retention", "--apply")
        return in_database(lambda: StaffPause.objects.filter(scope="everyone").count())

    try:
        in_database(lambda: Site.objects.update(keep_record_days=100))
        in_database(lambda: Site.objects.filter(pk=people.site.pk).update(keep_record_days=300))
        run("retention", "--apply")
        assert in_database(lambda: StaffPause.objects.filter(scope="everyone").count()) == 1
        assert count_left(100) == 0
    finally:
        for site, days in days_of.items():
            in_database(partial(Site.objects.filter(pk=site).update, keep_record_days=days))
