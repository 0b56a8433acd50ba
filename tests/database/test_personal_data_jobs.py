"""Export, erasure, hold and retention as jobs: a dry run, progress, the record, and a kill in the middle (S6)."""

import io
import os
import pty
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.core.management.base import OutputWrapper
from django.db import InternalError, connection
from django.utils import timezone

from companion.models import Participant, Site, TranscriptEntry, Turn
from ops.models import AuditEntry, Erasure, SafeguardingHold
from ops.personal_data.batches import ROWS_AT_ONCE
from ops.personal_data.dry_run import refuse_changes
from ops.personal_data.job_progress import JobProgress
from ops.personal_data.retention import apply_retention
from ops.stack.postgres import EmbeddedPostgres
from tests.commands import BY, refused, run
from tests.patience import wait_until
from tests.people import People, Person, in_database
from tests.personal_data import add_turn, fill, named
from tests.prefork import ForkedProcess, prefork

REVIEW = f"{timezone.localdate() + timedelta(days=30):%Y-%m-%d}"
WRITTEN_BY_RUNNING_PROCESSES = ("companion_process", "ops_deskprocess", "ops_minute", "django_session")


def read_everything() -> dict[str, str]:
    """A checksum of each table, apart from those that web processes write by themselves."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name FROM information_schema.tables "
            "WHERE table_schema = 'public' AND table_type = 'BASE TABLE'"
        )
        tables = {name for (name,) in cursor.fetchall()} - set(WRITTEN_BY_RUNNING_PROCESSES)
        sums = {}
        for table in sorted(tables):
            cursor.execute(
                f"SELECT coalesce(md5(string_agg(row::text, ',' ORDER BY row::text)), '') FROM \"{table}\" row"
            )
            sums[table] = str(cursor.fetchone()[0])
    return sums


def add_turns(person: Person, count: int, *, days_ago: float = 0) -> None:
    last = add_turn(person, "Hello", days_ago=days_ago)
    fields = [field.attname for field in Turn._meta.concrete_fields if field.attname not in ("id", "key")]
    names = ", ".join(f'"{field}"' for field in fields)

    def copy() -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO companion_turn (key, {names}) SELECT gen_random_uuid(), {names} "
                "FROM companion_turn, generate_series(2, %s) WHERE id = %s",
                [count, last.pk],
            )

    in_database(copy)


def find_notes(what: str, **about: Any) -> list[str]:
    found = AuditEntry.objects.filter(what=what, **about).order_by("id")
    return in_database(lambda: list(found.values_list("note", flat=True)))


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (("erase",), "would be erased: 2 turns, 1 entries of staff and the service, 1 visits"),
        (("export", "--to", "{folder}/rosa.html"), "would be exported to {folder}/rosa.html, drafts left out: 2 turns"),
        (("hold", "--reason", "inquiry 12", "--review-by", REVIEW), "would stop erasure and deletion by age"),
        (("hold", "--end"), "is under no hold"),
    ],
    ids=["erase", "export", "hold", "end of a hold"],
)  # fmt: skip
def test_a_dry_run_says_what_would_happen_and_changes_nothing(
    rosa: Person, state: Path, tmp_path: Path, command: tuple[str, ...], sentence: str
) -> None:
    fill(rosa)
    folder = tmp_path / "exports"
    folder.mkdir()
    before = in_database(read_everything)

    name, *options = (word.format(folder=folder) for word in command)
    said = run(name, *named(rosa), *options, "--dry-run")

    assert sentence.format(folder=folder) in said and said.endswith("Nothing was changed.\n")
    assert in_database(read_everything) == before
    assert list(folder.iterdir()) == []
    assert [path for path in state.rglob("*") if path.is_file() and folder not in path.parents] == []


def test_a_dry_run_of_retention_counts_with_times_that_are_not_set_and_changes_nothing(
    rosa: Person, state: Path
) -> None:
    fill(rosa)
    before = in_database(read_everything)

    said = run("retention", "--site", rosa.row.site.slug, "--messages", "30", "--dry-run")

    assert f"It would be set: {rosa.row.site.slug} keeps messages 30 days" in said
    assert f"{rosa.row.site.slug}: would delete messages 1\n" in said
    assert said.endswith("Nothing was changed.\n")
    assert in_database(read_everything) == before


def test_a_dry_run_refuses_what_the_command_refuses(rosa: Person, state: Path, tmp_path: Path) -> None:
    there = tmp_path / "there.html"
    there.write_text("mine")
    assert "is there already" in refused("export", *named(rosa), "--to", str(there), "--dry-run")
    assert "There is no folder" in refused(
        "export", *named(rosa), "--to", str(tmp_path / "a" / "b"), "--dry-run"
    )
    late = ("--reason", "inquiry", "--review-by", "2999-01-01")
    assert "within a year" in refused("hold", *named(rosa), *late, "--dry-run")
    run("hold", *named(rosa), "--reason", "inquiry", "--review-by", REVIEW, *BY)
    assert "under a safeguarding hold" in refused("erase", *named(rosa), "--dry-run")
    few = ("--site", rosa.row.site.slug, "--record", "30")
    assert "The days for record must be 90" in refused("retention", *few, "--dry-run")


def test_the_database_refuses_a_change_inside_a_dry_run(rosa: Person) -> None:
    def change() -> None:
        with refuse_changes():
            Participant.objects.filter(pk=rosa.row.pk).update(name="Another")

    with pytest.raises(InternalError, match="read-only transaction"):
        in_database(change)


def test_each_run_is_on_record_with_ids_and_counts(rosa: Person, state: Path, tmp_path: Path) -> None:
    fill(rosa)
    about = {"about": rosa.row.pk}
    counts = "2 turns, 1 entries, 1 visits, 1 flags, 1 drafts, 1 needs, command"
    run("export", *named(rosa), "--to", str(tmp_path / "rosa.html"), *BY)
    run("hold", *named(rosa), "--reason", "inquiry", "--review-by", REVIEW, *BY)
    hold = in_database(lambda: SafeguardingHold.objects.get(participant=rosa.row))
    run("hold", *named(rosa), "--end", *BY)
    run("retention", "--site", rosa.row.site.slug, "--messages", "30", *BY)
    run("retention", "--apply", *BY)
    run("erase", *named(rosa), *BY)

    [exported] = find_notes("exported_person", **about)
    assert exported.startswith(f"without notes, {counts}")
    for what in ("placed_hold", "ended_hold"):
        [note] = find_notes(what, **about)
        assert note.startswith(f"hold {hold.pk}, {counts}")
    site = f"site {rosa.row.site_id}, "
    aged = [note for note in find_notes("deleted_by_age", who="Ines") if note.startswith(site)]
    assert aged == [f"{site}begins", f"{site}ended, messages 1"]
    erasure = in_database(lambda: Erasure.objects.get(participant=rosa.row.pk))
    [erased] = find_notes("erased_person", **about)
    assert erased.startswith(f"erasure {erasure.pk}, 1 turns, 1 entries, 1 visits")


def test_progress_is_plain_lines_where_there_is_no_terminal(
    rosa: Person, state: Path, tmp_path: Path
) -> None:
    add_turns(rosa, ROWS_AT_ONCE + 2)

    def read_progress(*arguments: str) -> list[str]:
        lines = io.StringIO()
        in_database(lambda: call_command(*arguments, stdout=io.StringIO(), stderr=lines))
        return lines.getvalue().splitlines()

    exported = read_progress("export", *named(rosa), "--to", str(tmp_path / "rosa.html"), *BY)
    assert exported[0] == "50 of 502 turns exported" and exported[-1] == "502 of 502 turns exported"
    looked = read_progress("retention", "--site", rosa.row.site.slug, "--messages", "30", "--dry-run")
    assert looked[-1].endswith("people looked at")
    erased = read_progress("erase", *named(rosa), *BY)
    assert erased[0] == "500 of 502 turns deleted" and erased[-1] == "502 of 502 turns deleted"


def test_at_most_one_line_a_second_is_written_and_the_last_always() -> None:
    now, lines = [0.0], io.StringIO()
    with JobProgress("turns deleted", OutputWrapper(lines), clock=lambda: now[0]) as progress:
        for done in range(100, 1_001, 100):
            progress.show(done, 1_000)
            now[0] += 0.25
    assert lines.getvalue().splitlines() == [
        "100 of 1,000 turns deleted",
        "500 of 1,000 turns deleted",
        "900 of 1,000 turns deleted",
        "1,000 of 1,000 turns deleted",
    ]


def test_progress_is_a_bar_on_a_terminal(rosa: Person, state: Path) -> None:
    add_turns(rosa, 3)
    ours, theirs = pty.openpty()
    environment = os.environ | {"COMPANION_STATE_DIR": str(state), "TERM": "xterm", "COLUMNS": "100"}
    erasing = prefork.start(
        ["manage.py", "erase", *named(rosa), *BY], env=environment, stderr=theirs, stdout=theirs
    )
    os.close(theirs)
    shown = b""
    try:
        # The other end closes with the process.
        while piece := os.read(ours, 65_536):
            shown += piece
    except OSError:
        pass
    finally:
        os.close(ours)
    assert erasing.wait(60) == 0
    assert b"turns deleted" in shown and b"3/3" in shown and b"\x1b[" in shown


def start(*arguments: str, log: Path, **environment: str) -> ForkedProcess:
    with log.open("w") as file:
        return prefork.start(
            ["manage.py", *arguments],
            env=os.environ | environment,
            stderr=file.fileno(),
            stdout=file.fileno(),
        )


@contextmanager
def wait_for_lock(database: EmbeddedPostgres, lock: str, *facts: Any) -> Iterator[Callable[[], bool]]:
    """Hold a lock in the block. What it yields tells whether a deletion or reading of another process waits for it."""
    with (
        psycopg.connect(database.url) as holder,
        psycopg.connect(database.url, autocommit=True) as watcher,
    ):
        holder.execute(lock, facts)

        def is_awaited() -> bool:
            asked = watcher.execute(
                # Of a process that began after the lock: a web process of other tests may wait for it too.
                "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid)) AND "
                "backend_start > (SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()))",
                [holder.info.backend_pid],
            )
            return bool(asked.fetchone()[0])  # type: ignore[index]

        yield is_awaited
        holder.rollback()


def kill(process: ForkedProcess) -> None:
    process.kill()
    assert process.wait(10) == -signal.SIGKILL


def count_turns(*people: Person) -> list[int]:
    return [
        in_database(lambda: Turn.objects.filter(conversation=person.conversation).count())  # noqa: B023
        for person in people
    ]


def test_an_erasure_that_is_killed_in_the_middle_is_done_by_the_next_run(
    rosa: Person, state: Path, tmp_path: Path, database: EmbeddedPostgres
) -> None:
    add_turns(rosa, ROWS_AT_ONCE + 2)
    last = in_database(lambda: Turn.objects.filter(conversation=rosa.conversation).latest("id").pk)
    log, folder = tmp_path / "erase.log", {"COMPANION_STATE_DIR": str(state)}
    with wait_for_lock(database, "SELECT 1 FROM companion_turn WHERE id = %s FOR UPDATE", last) as is_awaited:
        erasing = start("erase", *named(rosa), *BY, log=log, **folder)
        wait_until(is_awaited, within_s=60)
        kill(erasing)
    assert [line for line in log.read_text().splitlines() if "turns" in line] == ["500 of 502 turns deleted"]
    assert count_turns(rosa) == [2]
    assert in_database(lambda: Erasure.objects.get(participant=rosa.row.pk)).finished_at is None

    assert start("erase", *named(rosa), *BY, log=log, **folder).wait(60) == 0

    assert not in_database(lambda: Participant.objects.filter(pk=rosa.row.pk).exists())
    erasure = in_database(lambda: Erasure.objects.get(participant=rosa.row.pk))
    assert erasure.finished_at is not None
    first, second = find_notes("erased_person", about=rosa.row.pk)
    assert first.startswith(f"erasure {erasure.pk}, 502 turns")
    assert second.startswith(f"erasure {erasure.pk} goes on, 2 turns")


def test_retention_that_is_killed_in_the_middle_is_done_by_the_next_run(
    people: People, state: Path, tmp_path: Path, database: EmbeddedPostgres
) -> None:
    rosa, ada = people.rosa, people.add_participant("Ada")
    for person in (rosa, ada):
        add_turns(person, 3, days_ago=40)
    site = f"site {rosa.row.site_id}, "
    run("retention", "--site", rosa.row.site.slug, "--messages", "30", *BY)
    last = in_database(lambda: Turn.objects.filter(conversation=ada.conversation).latest("id").pk)
    log = tmp_path / "retention.log"
    with wait_for_lock(database, "SELECT 1 FROM companion_turn WHERE id = %s FOR UPDATE", last) as is_awaited:
        deleting = start("retention", "--apply", *BY, log=log)
        wait_until(is_awaited, within_s=60)
        kill(deleting)
    assert count_turns(rosa, ada) == [0, 3]
    assert [note for note in find_notes("deleted_by_age") if note.startswith(site)] == [f"{site}begins"]

    assert start("retention", "--apply", *BY, log=log).wait(60) == 0

    assert count_turns(rosa, ada) == [0, 0]
    notes = [note for note in find_notes("deleted_by_age") if note.startswith(site)]
    assert notes == [f"{site}begins", f"{site}begins", f"{site}ended, messages 3"]


def test_an_export_that_is_killed_leaves_no_half_file_under_its_name_and_the_next_run_writes_it(
    rosa: Person, tmp_path: Path, database: EmbeddedPostgres
) -> None:
    fill(rosa)
    target, log = tmp_path / "exports" / "rosa.html", tmp_path / "export.log"
    target.parent.mkdir()
    order = ("export", *named(rosa), "--to", str(target), "--with-notes", *BY)
    with wait_for_lock(database, "LOCK TABLE companion_flagstep IN ACCESS EXCLUSIVE MODE") as is_awaited:
        exporting = start(*order, log=log)
        wait_until(is_awaited, within_s=60)
        kill(exporting)
    assert not target.exists()

    assert start(*order, log=log).wait(60) == 0

    assert "When staff were called" in target.read_text()
    assert [path.name for path in target.parent.iterdir()] == ["rosa.html"]
    assert target.stat().st_mode & 0o777 == 0o600
    assert len(find_notes("exported_person", about=rosa.row.pk)) == 2


def test_nothing_of_a_participant_is_deleted_by_age_once_a_hold_is_placed_during_the_run(
    people: People, state: Path, tmp_path: Path, database: EmbeddedPostgres
) -> None:
    rosa, ada = people.rosa, people.add_participant("Ada")
    for person in (rosa, ada):
        add_turns(person, 3, days_ago=40)
    run("retention", "--site", rosa.row.site.slug, "--messages", "30", *BY)
    first = in_database(lambda: Turn.objects.filter(conversation=rosa.conversation).earliest("id").pk)
    with wait_for_lock(
        database, "SELECT 1 FROM companion_turn WHERE id = %s FOR UPDATE", first
    ) as is_awaited:
        deleting = start("retention", "--apply", *BY, log=tmp_path / "retention.log")
        wait_until(is_awaited, within_s=60)
        # The run has read both names already, and is at the first.
        run("hold", *named(ada), "--reason", "inquiry", "--review-by", REVIEW, *BY)
    assert deleting.wait(60) == 0
    assert count_turns(rosa, ada) == [0, 3]


def test_a_run_that_fails_has_what_it_deleted_on_record(people: People, state: Path) -> None:
    rosa, ada = people.rosa, people.add_participant("Ada")
    for person in (rosa, ada):
        add_turns(person, 3, days_ago=40)
    run("retention", "--site", rosa.row.site.slug, "--messages", "30", *BY)
    site = f"site {rosa.row.site_id}, "

    def stop_after_rosa(_done: int, _total: int) -> None:
        if count_turns(rosa) == [0]:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        in_database(lambda: apply_retention(on_progress=stop_after_rosa))
    notes = [note for note in find_notes("deleted_by_age") if note.startswith(site)]
    assert notes == [f"{site}begins", f"{site}stopped, messages 3"]


def test_an_erasure_deletes_what_staff_said_in_bounded_batches(rosa: Person, state: Path) -> None:
    entries = [
        TranscriptEntry(conversation=rosa.conversation, kind="said", name="Sam", text="Hello", after_turn=0)
        for _ in range(ROWS_AT_ONCE + 1)
    ]
    in_database(lambda: TranscriptEntry.objects.bulk_create(entries))
    run("erase", *named(rosa), *BY)
    assert not in_database(lambda: TranscriptEntry.objects.filter(conversation=rosa.conversation.pk).exists())
    assert not in_database(lambda: Site.objects.filter(participants__pk=rosa.row.pk).exists())
