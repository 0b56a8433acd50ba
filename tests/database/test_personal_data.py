"""Export, retention, erasure and the safeguarding hold that stops both, tested together (S6)."""

import io
import json
import os
import uuid
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.test import override_settings
from django.utils import timezone

from companion.models import (
    Conversation,
    Draft,
    Flag,
    FlagStep,
    Participant,
    ReplyChunk,
    StaffPause,
    TranscriptEntry,
    Turn,
    Visit,
)
from ops.models import AuditEntry, Erasure, SafeguardingHold, StatedReason
from ops.personal_data import erasure, erasure_list
from ops.personal_data.erasure_list import ErasedPerson
from ops.personal_data.turn_deletion import OLDEST, WALK_INDEX
from tests.people import People, Person, in_database
from tests.processes import Rehearsal, start_web

BY = ("--by", "Ines")
SECRET = "the blue kettle"


def run(*arguments: str) -> str:
    said = io.StringIO()
    in_database(lambda: call_command(*arguments, stdout=said, stderr=io.StringIO()))
    return said.getvalue()


def refused(*arguments: str) -> str:
    with pytest.raises(CommandError) as refusal:
        run(*arguments)
    return str(refusal.value)


def named(person: Person) -> tuple[str, ...]:
    return (person.row.name, "--number", str(person.row.pk))


def add_turn(person: Person, question: str, *, days_ago: float = 0, **fields: Any) -> Turn:
    at = timezone.now() - timedelta(days=days_ago)
    facts = {
        "conversation": person.conversation,
        "key": uuid.uuid4(),
        "question": question,
        "state": "complete",
        "reply": f"About {question}.",
        "owner": "00000000-0000-0000-0000-000000000001",
        "persona_version": "1",
        "wait_until": at,
        "created_at": at,
        "closed_at": at,
        **fields,
    }
    return in_database(lambda: Turn.objects.create(**facts))


def fill(person: Person) -> Flag:
    """Give a participant a row in every table that holds something of theirs."""
    earlier = add_turn(person, SECRET, days_ago=40)
    later = add_turn(person, "What came of it?", answered_by=earlier)
    return in_database(lambda: _fill(person, later))


def _fill(person: Person, turn: Turn) -> Flag:
    ReplyChunk.objects.create(turn_id=turn.pk, seq=1, text=SECRET)
    visit = Visit.objects.create(participant=person.row, expires_at=timezone.now() + timedelta(hours=1))
    Draft.objects.create(conversation=person.conversation, visit=visit.pk, text=SECRET)
    TranscriptEntry.objects.create(
        conversation=person.conversation, kind="said", name="Sam", text=SECRET, after_turn=turn.pk
    )
    flag = Flag.objects.create(
        tier="red",
        kind="help",
        source="button",
        conversation=person.conversation,
        participant=person.row.pk,
        site=person.row.site,
        turn=turn.pk,
    )
    FlagStep.objects.create(flag=flag, what="noted", who="Sam", note=SECRET)
    _add_reasons(person, SECRET)
    return flag


def _add_reasons(person: Person, reason: str) -> None:
    """What staff typed about a participant outside their conversation."""
    StaffPause.objects.create(scope="person", about=person.row.pk, reason=reason, by_name="Sam")
    StatedReason.objects.create(
        staff=1,
        name="Ines",
        conversation=person.conversation.pk,
        participant=person.row.pk,
        site=person.row.site,
        reason=reason,
        until=timezone.now() + timedelta(hours=1),
    )


def add_old_visit(person: Person) -> None:
    at = timezone.now() - timedelta(days=50)
    Visit.objects.create(participant=person.row, opened_at=at, expires_at=at + timedelta(days=1))


def find_text(text: str) -> list[str]:
    """The tables with a row that contains this text, in any column."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name FROM information_schema.tables "
            "WHERE table_schema = 'public' AND table_type = 'BASE TABLE'"
        )
        tables = [name for (name,) in cursor.fetchall()]
        found = []
        for table in tables:
            cursor.execute(f'SELECT 1 FROM "{table}" AS row WHERE row::text LIKE %s LIMIT 1', [f"%{text}%"])
            if cursor.fetchone():
                found.append(table)
    return found


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    with override_settings(COMPANION_STATE_DIR=tmp_path):
        yield tmp_path


@pytest.fixture
def rosa(people: People) -> Person:
    """A participant with a name that stands in no other row."""
    return people.add_participant(f"Rosa {os.urandom(4).hex()}")


def test_an_erasure_leaves_no_row_with_the_name_or_a_word_of_the_participant(
    rosa: Person, state: Path
) -> None:
    word = f"kettle-{os.urandom(6).hex()}"
    add_turn(rosa, word)
    flag = fill(rosa)
    in_database(lambda: StaffPause.objects.filter(about=rosa.row.pk).update(reason=word))
    in_database(lambda: StatedReason.objects.filter(participant=rosa.row.pk).update(reason=word))
    assert set(in_database(lambda: find_text(word))) == {
        "companion_turn",
        "companion_staffpause",
        "ops_statedreason",
    }
    run("erase", *named(rosa), *BY)
    assert in_database(lambda: find_text(word)) == []
    assert in_database(lambda: find_text(rosa.row.name)) == []
    assert not in_database(lambda: FlagStep.objects.filter(flag=flag).exists())
    assert not in_database(lambda: Conversation.objects.filter(pk=rosa.conversation.pk).exists())


def test_an_erasure_keeps_the_flag_as_a_count_without_the_participants_number(
    rosa: Person, state: Path
) -> None:
    flag = fill(rosa)
    run("erase", *named(rosa), *BY)
    kept = in_database(lambda: Flag.objects.get(pk=flag.pk))
    assert (kept.participant, kept.conversation_id, kept.turn) == (0, None, None)


def test_a_dry_run_counts_and_changes_nothing(rosa: Person, state: Path) -> None:
    fill(rosa)
    said = run("erase", *named(rosa), "--dry-run")
    assert (
        "2 turns, 1 entries of staff and the service, 1 visits, 1 flags, 1 drafts. Nothing was changed"
        in said
    )
    assert in_database(lambda: Turn.objects.filter(conversation=rosa.conversation).count()) == 2
    assert list(state.iterdir()) == []


def test_an_erasure_is_on_record_and_on_the_list_as_numbers_alone(rosa: Person, state: Path) -> None:
    fill(rosa)
    run("erase", *named(rosa), *BY)
    [line] = (state / erasure_list.FILE).read_text().splitlines()
    assert set(json.loads(line)) == {"participant", "added_at", "erased_at"}
    assert json.loads(line)["participant"] == rosa.row.pk
    assert (state / "backups" / erasure_list.FILE).read_text() == line + "\n"
    entry = in_database(lambda: AuditEntry.objects.filter(about=rosa.row.pk, what="erased_person").get())
    assert entry.who == "Ines"
    assert in_database(lambda: Erasure.objects.get(participant=rosa.row.pk).finished_at) is not None


def test_a_hold_stops_an_erasure_and_deletion_by_age_until_it_ends(rosa: Person, state: Path) -> None:
    fill(rosa)
    review = f"{timezone.localdate() + timedelta(days=30)}"
    run("hold", *named(rosa), "--reason", "inquiry 12", "--review-by", review, *BY)
    run("retention", "--site", rosa.row.site.slug, "--messages", "10", *BY)
    assert "under a safeguarding hold" in refused("erase", *named(rosa), *BY)
    run("retention", "--apply")
    assert in_database(lambda: Turn.objects.filter(conversation=rosa.conversation).count()) == 2

    run("hold", *named(rosa), "--end", *BY)
    run("retention", "--apply")
    assert in_database(lambda: Turn.objects.filter(conversation=rosa.conversation).count()) == 1
    run("erase", *named(rosa), *BY)
    assert not in_database(lambda: Participant.objects.filter(pk=rosa.row.pk).exists())


def test_the_database_refuses_to_delete_a_participant_under_a_hold(rosa: Person) -> None:
    in_database(
        lambda: SafeguardingHold.objects.create(
            participant=rosa.row, by="Ines", reason="inquiry", review_by=timezone.localdate()
        )
    )

    def delete() -> None:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM companion_participant WHERE id = %s", [rosa.row.pk])

    with pytest.raises(Exception) as refusal:
        in_database(delete)
    assert isinstance(refusal.value.__cause__, psycopg.errors.ForeignKeyViolation)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--reason", "inquiry"), "--review-by says when"),
        (("--reason", "inquiry", "--review-by", "2020-01-01"), "must be after today"),
        (("--review-by", "2999-01-01", "--reason", "inquiry"), "within a year"),
    ],
)
def test_a_hold_needs_a_reason_and_a_review_within_a_year(
    rosa: Person, arguments: tuple[str, ...], sentence: str
) -> None:
    assert sentence in refused("hold", *named(rosa), *arguments, *BY)
    assert not in_database(lambda: SafeguardingHold.objects.filter(participant=rosa.row).exists())


def test_an_interrupted_erasure_goes_on(rosa: Person, state: Path) -> None:
    for number in range(3):
        add_turn(rosa, f"question {number}")

    class Killed(Exception):
        pass

    def fail(_turns: int) -> None:
        raise Killed

    with pytest.raises(Killed):
        in_database(lambda: erasure.erase(rosa.row, by="Ines", lists=[], on_progress=fail))
    assert in_database(lambda: erasure.finish_erasures([])) >= 1
    assert not in_database(lambda: Participant.objects.filter(pk=rosa.row.pk).exists())


def test_an_erasure_that_has_begun_refuses_a_hold(rosa: Person, state: Path) -> None:
    class Killed(Exception):
        pass

    def fail(_turns: int) -> None:
        raise Killed

    add_turn(rosa, "question")
    with pytest.raises(Killed):
        in_database(lambda: erasure.erase(rosa.row, by="Ines", lists=[], on_progress=fail))
    review = (timezone.localdate() + timedelta(days=30)).isoformat()
    said = refused("hold", *named(rosa), "--reason", "An inquiry", "--review-by", review, *BY)
    assert "has begun" in said
    assert in_database(lambda: erasure.finish_erasures([])) >= 1


def test_of_two_processes_that_erase_the_same_person_neither_fails(rosa: Person, state: Path) -> None:
    for _ in range(2):
        in_database(lambda: erasure.erase(rosa.row, by="Ines", lists=[]))
    assert in_database(lambda: Erasure.objects.filter(participant=rosa.row.pk).count()) == 1


def test_an_erasure_is_added_to_a_list_that_ends_without_a_line_break(rosa: Person, state: Path) -> None:
    path = state / erasure_list.FILE
    now = timezone.now()
    first, second = (
        ErasedPerson(participant=number, added_at=now, erased_at=now) for number in (2**40, 2**40 + 1)
    )
    erasure_list.add_to_list(path, [first])
    path.write_text(path.read_text().removesuffix("\n"))
    erasure_list.add_to_list(path, [second])
    assert erasure_list.read_list(path) == [first, second]


def test_a_restored_database_forgets_the_same_people_and_no_other(people: People, state: Path) -> None:
    erased, stays = people.add_participant("Rosa"), people.add_participant("Rosa")
    run("erase", *named(erased), *BY)
    # As after a restore of an older backup: the row is back, and the number of the other was once given before.
    back = in_database(
        lambda: Participant.objects.create(
            pk=erased.row.pk,
            created_at=erased.row.created_at,
            name="Rosa",
            site=erased.row.site,
            card_handle=os.urandom(4).hex(),
        )
    )
    other_time = erased.row.created_at + timedelta(seconds=1)
    reused = ErasedPerson(participant=stays.row.pk, added_at=other_time, erased_at=other_time)
    erasure_list.add_to_list(state / "beside" / erasure_list.FILE, [reused])
    said = run("forget_again", "--list", str(state / "beside" / erasure_list.FILE))
    assert "Forgotten again: 1" in said
    assert not in_database(lambda: Participant.objects.filter(pk=back.pk).exists())
    assert in_database(lambda: Participant.objects.filter(pk=stays.row.pk).exists())


def test_a_damaged_list_of_erasures_is_named_and_stops_the_command(state: Path) -> None:
    (state / erasure_list.FILE).write_text('{"participant": 1}\n')
    assert "line 1: this is no erasure" in refused("forget_again")


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


def test_an_export_names_each_speaker_in_order_and_leaves_half_answers_out(
    rosa: Person, tmp_path: Path
) -> None:
    add_turn(rosa, "Is <b>tea</b> good?", days_ago=1, reply="Yes, it warms.")
    add_turn(rosa, "And now?", state="paused", reply="half an ans", line="I have to stop.")
    flag = fill(rosa)
    target = tmp_path / "rosa.html"
    assert run("export", *named(rosa), "--to", str(target), *BY) == f"{target}\n"
    page = target.read_text()
    assert target.stat().st_mode & 0o777 == 0o600
    assert "Is &lt;b&gt;tea&lt;/b&gt; good?" in page
    places = [
        page.index(words) for words in ("Yes, it warms.", "And now?", "I have to stop.", "What came of it?")
    ]
    assert places == sorted(places)
    assert '<span class="who">Robin</span>' in page
    assert '<span class="who">Sam</span>' in page
    assert "half an ans" not in page
    assert SECRET not in page.split("When staff were called")[1]
    assert in_database(lambda: AuditEntry.objects.filter(about=rosa.row.pk, what="exported_person").exists())

    with_notes = tmp_path / "notes.html"
    run("export", *named(rosa), "--to", str(with_notes), "--with-notes", *BY)
    assert SECRET in with_notes.read_text().split("When staff were called")[1]
    assert flag.pk


def test_an_export_never_overwrites_a_file(rosa: Person, tmp_path: Path) -> None:
    target = tmp_path / "there.html"
    target.write_text("mine")
    assert "is there already" in refused("export", *named(rosa), "--to", str(target), *BY)
    assert target.read_text() == "mine"


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


def test_a_web_process_forgets_again_before_it_serves(
    people: People, rehearsal: Rehearsal, tmp_path: Path
) -> None:
    rosa, otto = people.rosa, people.otto
    erased = ErasedPerson(participant=rosa.row.pk, added_at=rosa.row.created_at, erased_at=timezone.now())
    erasure_list.add_to_list(tmp_path / "backups" / erasure_list.FILE, [erased])
    with start_web(rehearsal, COMPANION_STATE_DIR=str(tmp_path)) as web:
        answer = httpx.post(
            f"{web.url}/card/", data={"code": rosa.card.code}, headers={"Origin": web.url}, trust_env=False
        )
        assert answer.headers.get("location") != "/chat/"
        assert not in_database(lambda: Participant.objects.filter(pk=rosa.row.pk).exists())
        assert otto.sign_in(web.url)


def test_a_web_process_does_not_serve_beside_a_damaged_list(rehearsal: Rehearsal, tmp_path: Path) -> None:
    (tmp_path / erasure_list.FILE).write_text("not a list\n")
    with (
        pytest.raises(AssertionError),
        start_web(rehearsal, COMPANION_STATE_DIR=str(tmp_path)),
    ):
        pass
