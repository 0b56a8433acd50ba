"""Erasure, and the safeguarding hold that stops it; a restored database forgets again (S6)."""

import json
import os
from datetime import timedelta
from pathlib import Path

import httpx
import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from companion.models import (
    Conversation,
    Flag,
    FlagStep,
    Needs,
    Participant,
    StaffPause,
    Turn,
)
from ops.models import AuditEntry, Erasure, SafeguardingHold, StatedReason
from ops.personal_data import erasure, erasure_list
from ops.personal_data.erasure_list import ErasedPerson
from ops.stack.postgres import EmbeddedPostgres
from tests.commands import BY, refused, run
from tests.people import People, Person, in_database
from tests.personal_data import add_turn, fill, named
from tests.processes import Rehearsal, start_web


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
    assert not in_database(lambda: Needs.objects.filter(pk=rosa.row.pk).exists())
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
        "2 turns, 1 entries of staff and the service, 1 visits, 1 flags, 1 drafts, 1 needs. Nothing was changed"
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

    def fail(_done: int, _total: int) -> None:
        raise Killed

    with pytest.raises(Killed):
        in_database(lambda: erasure.erase(rosa.row, by="Ines", lists=[], on_progress=fail))
    assert in_database(lambda: erasure.finish_erasures([])) >= 1
    assert not in_database(lambda: Participant.objects.filter(pk=rosa.row.pk).exists())


def test_an_erasure_that_has_begun_refuses_a_hold(rosa: Person, state: Path) -> None:
    class Killed(Exception):
        pass

    def fail(_done: int, _total: int) -> None:
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


def test_a_web_process_does_not_serve_beside_a_damaged_list(
    database: EmbeddedPostgres, rehearsal: Rehearsal, tmp_path: Path
) -> None:
    (tmp_path / erasure_list.FILE).write_text("not a list\n")
    with (
        pytest.raises(AssertionError),
        start_web(rehearsal, COMPANION_STATE_DIR=str(tmp_path)),
    ):
        pass
