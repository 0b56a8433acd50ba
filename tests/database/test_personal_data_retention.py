"""What is deleted by age, and what is not (S6)."""

import json
import uuid
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from companion.models import (
    Flag,
    Turn,
    Visit,
)
from ops.models import AuditEntry
from ops.personal_data.turn_deletion import OLDEST, WALK_INDEX
from tests.people import People, Person, in_database
from tests.personal_data import BY, add_old_visit, fill, refused, run


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
    assert in_database(lambda: Visit.objects.filter(participant=there.row).count()) == 2


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
