"""How soon flags were seen, accepted and closed, by site and week; and what the commands list (S2, S5)."""

import json
from datetime import UTC, datetime, timedelta
from datetime import timezone as fixed_zone
from functools import partial
from typing import Any

from django.utils import timezone

from companion.models import Flag
from ops.models import AuditEntry
from ops.supervision.figures import build_document, read_weeks
from ops.supervision.record_search import RecordQuery, search_record
from tests.commands import run
from tests.people import People, Person, in_database

MONDAY = datetime(2026, 11, 23, 9, tzinfo=UTC)


def add_flag(
    person: Person, opened_at: datetime, *, seen_s: float, accepted_s: float, closed_s: float
) -> Flag:
    return in_database(
        lambda: Flag.objects.create(
            tier="red",
            kind="self_harm",
            source="message",
            conversation=person.conversation,
            participant=person.row.pk,
            site_id=person.row.site_id,
            state="closed",
            owner=1,
            owner_name="Sam",
            opened_at=opened_at,
            seen_at=opened_at + timedelta(seconds=seen_s),
            accepted_at=opened_at + timedelta(seconds=accepted_s),
            closed_at=opened_at + timedelta(seconds=closed_s),
            closed_by_name="Sam",
            outcome="unsure",
        )
    )


def test_a_week_of_a_site_has_its_median_its_95th_and_its_worst(people: People) -> None:
    rosa = people.rosa
    for number in range(1, 21):
        add_flag(rosa, MONDAY, seen_s=1, accepted_s=10 * number, closed_s=100 * number)
    add_flag(rosa, MONDAY + timedelta(days=7), seen_s=2, accepted_s=5, closed_s=9)
    add_flag(people.otto, MONDAY, seen_s=1, accepted_s=1, closed_s=1)
    weeks = in_database(
        lambda: read_weeks([people.site.pk], since=datetime(2026, 11, 23, tzinfo=UTC).date(), target_s=60)
    )
    assert [(one.week.isoformat() if one.week else "", one.count) for one in weeks] == [
        ("2026-11-30", 1),
        ("2026-11-23", 20),
    ]
    accepted = weeks[1].times["accepted"]
    assert (accepted.p50_s, accepted.p95_s, accepted.worst_s, weeks[1].in_target) == (100, 190, 200, 6)


def test_the_metrics_hold_sites_and_times_and_no_ids(people: People) -> None:
    add_flag(people.rosa, timezone.now() - timedelta(minutes=5), seen_s=1, accepted_s=30, closed_s=60)
    document = in_database(lambda: build_document(target_s=60))
    [mine] = [one for one in document["last_week"] if one["site"] == people.site.slug]
    assert (mine["count"], mine["in_target"], mine["steps"]["accepted"]["worst_s"]) == (1, 1, 30)
    assert "Rosa" not in json.dumps(document)


def test_the_command_lists_open_flags_without_a_word_and_is_on_record(people: People) -> None:
    rosa = people.rosa
    add_flag(rosa, timezone.now(), seen_s=1, accepted_s=2, closed_s=3)
    opened: Any = in_database(
        lambda: Flag.objects.create(
            tier="red",
            kind="help",
            source="button",
            conversation=rosa.conversation,
            participant=rosa.row.pk,
            site=people.site,
        )
    )
    [listed] = json.loads(run("flags", "--json", "--site", people.site.slug))["flags"]
    assert (listed["id"], listed["name"], listed["state"], listed["tier"]) == (
        opened.pk,
        "Rosa",
        "open",
        "red",
    )
    assert "Rosa" in run("flags", "--site", people.site.slug)
    assert len(json.loads(run("flags", "--json", "--all", "--site", people.site.slug))["flags"]) == 2
    last = in_database(lambda: AuditEntry.objects.order_by("-id").first())
    assert last is not None and last.what == "listed_flags"


def test_the_record_is_searched_by_person_account_act_and_time_and_the_search_is_on_it(
    people: People,
) -> None:
    rosa = people.rosa
    account = f"sam-{people.site.pk}"

    def add_entries() -> None:
        for what in ("read_along", "accepted_flag", "closed_flag"):
            AuditEntry.objects.create(who=account, what=what, about=rosa.row.pk)
        AuditEntry.objects.create(who=account, what="signed_in")

    in_database(add_entries)
    about = json.loads(run("audit", "--number", str(rosa.row.pk), "--json"))["entries"]
    assert [entry["what"] for entry in about][:3] == ["closed_flag", "accepted_flag", "read_along"]
    one = json.loads(run("audit", "--who", account, "--what", "signed_in", "--since", "5m", "--json"))[
        "entries"
    ]
    assert [(entry["who"], entry["what"]) for entry in one] == [(account, "signed_in")]
    assert json.loads(run("audit", "--who", account, "--since", "2099-01-01", "--json"))["entries"] == []
    searches = in_database(lambda: search_record(RecordQuery(what="searched_record"), size=3)).entries
    assert len(searches) == 3 and f"about {rosa.row.pk}" in searches[2].note
    ahead = (timezone.now() + timedelta(hours=3)).astimezone(fixed_zone(timedelta(hours=5)))
    behind = ahead - timedelta(hours=6)
    for since, found in ((ahead, 0), (behind, 4)):
        listed = json.loads(run("audit", "--who", account, "--since", since.isoformat(), "--json"))["entries"]
        assert len(listed) == found
    assert "no such entry" in run("audit", "--who", "a\udcff")


def test_a_search_goes_on_before_the_last_entry_shown(people: People) -> None:
    account = f"mira-{people.site.pk}"
    for _ in range(5):
        in_database(lambda: AuditEntry.objects.create(who=account, what="signed_in"))
    first = in_database(lambda: search_record(RecordQuery(who=account), size=2))
    rest = in_database(lambda: search_record(RecordQuery(who=account, before=first.further), size=10))
    assert len(first.entries) == 2 and len(rest.entries) == 3 and rest.further is None
    assert rest.entries[0].id < first.entries[-1].id


def test_a_search_by_time_finds_the_entries_of_transactions_that_overlapped(people: People) -> None:
    account, noon = f"tess-{people.site.pk}", timezone.now() - timedelta(days=400)

    def search(since_s: int, until_s: int) -> list[str]:
        query = RecordQuery(
            who=account, since=noon + timedelta(seconds=since_s), until=noon + timedelta(seconds=until_s)
        )
        return [entry.note for entry in in_database(lambda: search_record(query)).entries]

    def add_entry(second: int) -> None:
        at = noon + timedelta(seconds=second)
        AuditEntry.objects.create(who=account, what="signed_in", at=at, note=f"{second}")

    # The entry that began later has the smaller id.
    for second in (0, 3, 2, 5):
        in_database(partial(add_entry, second))

    assert search(1, 4) == ["2", "3"]
    assert search(2, 3) == ["2"]
    assert search(3, 9) == ["5", "3"]
    assert search(-9, 0) == search(6, 9) == []
