"""A selection is a row with who and why, whose version only rises, by every writer and after a restore (R3, R7)."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import DatabaseError, connection

from companion.models import Process
from ops.models import AuditEntry, SelectionRow
from ops.selections.selector import (
    ConfirmationRequired,
    SelectionConflict,
    SelectionRefused,
    SelectionRequest,
)
from routing.lanes import NORMAL
from routing.selection import LASTS, Concern
from tests.people import in_database
from tests.selections import insert, newest, rows_since, select, select_normal, selector

SERIOUS = Concern(kind="head_not_lately", said="It has not answered in the last day.", lane="rehearsal_local")
HARMLESS = Concern(kind="no_fallback", said="It is alone.", asks_twice=False)


def test_it_stands_on_record_with_who_why_and_until_when() -> None:
    before = newest().version
    chosen = select("local_only")

    assert (chosen.version, chosen.by, chosen.reason) == (before + 1, "Ines", "A test")
    assert chosen.expires_at == chosen.at + LASTS
    assert newest() == chosen
    last = in_database(lambda: AuditEntry.objects.order_by("-id").first())
    assert last is not None
    assert (last.who, last.what, last.note) == (
        "Ines",
        "selected_preset",
        f"version {chosen.version}: local_only",
    )


def test_it_lasts_as_long_as_was_said_and_normal_does_not_end() -> None:
    chosen = select("local_only", lasts=timedelta(minutes=30))
    assert chosen.expires_at == chosen.at + timedelta(minutes=30)
    assert select(NORMAL).expires_at is None


def test_extending_is_a_selection_of_its_own() -> None:
    first, second = select("local_only"), select("local_only")
    assert second.version == first.version + 1


def test_to_revert_is_one_action_and_doing_it_twice_changes_nothing() -> None:
    pinned = select("local_only")
    select_normal()
    select_normal()
    assert [row.preset for row in rows_since(pinned.version)] == [NORMAL]


@pytest.mark.parametrize(
    "choice",
    [
        SelectionRequest(preset="mine", by="Ines", reason="x"),
        SelectionRequest(preset="local_only", by=" ", reason="x"),
        SelectionRequest(preset="local_only", by="Ines", reason=""),
        SelectionRequest(preset="local_only", by="Ines", reason="x" * 201),
        SelectionRequest(preset="local_only", by="Ines", reason="slow\nby Sam: all is well"),
        SelectionRequest(preset="local_only", by="Ines\u2028Sam", reason="x"),
        SelectionRequest(preset="local_only", by="Ines", reason="x\x1b[2J"),
        SelectionRequest(preset="local_only", by="Ines", reason="x", lasts=timedelta(seconds=1)),
        SelectionRequest(preset="local_only", by="Ines", reason="x", lasts=timedelta(days=8)),
        SelectionRequest(preset=NORMAL, by="Ines", reason="x", lasts=timedelta(hours=1)),
    ],
)
def test_nonsense_is_refused_with_a_sentence_and_changes_nothing(choice: SelectionRequest) -> None:
    before = newest()
    with pytest.raises(SelectionRefused):
        in_database(lambda: selector().select(choice))
    assert newest() == before


def test_what_speaks_against_it_asks_for_a_second_yes() -> None:
    before = newest()
    choice = SelectionRequest(preset="local_only", by="Ines", reason="x")
    with pytest.raises(ConfirmationRequired) as asked:
        in_database(lambda: selector(SERIOUS, HARMLESS).select(choice))
    assert asked.value.concerns == (SERIOUS,)
    assert newest() == before

    sure = SelectionRequest(preset="local_only", by="Ines", reason="x", is_confirmed=True)
    assert in_database(lambda: selector(SERIOUS).select(sure)).version == before.version + 1


def test_going_back_to_normal_never_asks_twice() -> None:
    select("local_only")
    assert in_database(lambda: selector(SERIOUS).revert(by="Ines", reason="x")).preset == NORMAL


def test_a_selection_made_from_an_older_one_is_refused_with_what_was_selected_meanwhile() -> None:
    seen = newest().version
    select("pin_second")
    with pytest.raises(SelectionConflict, match="Ines selected pin_second"):
        select("local_only", seen=seen)
    assert newest().preset == "pin_second"


def test_of_two_who_decide_at_once_on_what_they_saw_one_wins() -> None:
    seen = newest().version

    def decide(preset: str) -> str:
        try:
            chosen = selector().select(SelectionRequest(preset=preset, by="Ines", reason="x", seen=seen))
            return chosen.preset
        except SelectionConflict:
            return "moved"
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as two:
        came = list(two.map(decide, ["pin_second", "local_only"]))

    assert came.count("moved") == 1
    assert [row.preset for row in rows_since(seen)] == [one for one in came if one != "moved"]


def test_many_who_write_at_once_get_versions_that_rise_without_a_gap() -> None:
    before = newest().version

    def decide(_: int) -> int:
        try:
            return selector().select(SelectionRequest(preset="local_only", by="Ines", reason="x")).version
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as many:
        versions = sorted(many.map(decide, range(12)))

    assert versions == list(range(before + 1, before + 13))


def test_a_database_that_was_restored_does_not_bring_an_old_version_again() -> None:
    """The copy on disk, and what a process says it serves, are higher than any row that is left."""
    before = newest().version
    with_copy = selector(copy_version=before + 100)
    choice = SelectionRequest(preset="local_only", by="Ines", reason="x")
    assert in_database(lambda: with_copy.select(choice)).version == before + 101

    serving = "00000000-0000-0000-0000-00000000beef"
    in_database(lambda: Process.objects.create(id=serving, host="here", pid=1, routing_version=before + 200))
    try:
        assert in_database(lambda: selector().select(choice)).version == before + 201
    finally:
        in_database(lambda: Process.objects.filter(id=serving).delete())


def test_going_back_after_a_restore_is_above_every_version_that_a_process_or_the_disk_has_applied() -> None:
    """The table says normal already, and that is not what is served."""
    select(NORMAL)
    before = newest().version
    from_disk = selector(copy_version=before + 30)
    assert in_database(lambda: from_disk.revert(by="Ines", reason="x")).version == before + 31

    serving = "00000000-0000-0000-0000-00000000beef"
    in_database(lambda: Process.objects.create(id=serving, host="here", pid=1, routing_version=before + 60))
    try:
        back = in_database(lambda: selector().revert(by="Ines", reason="x"))
        assert (back.version, back.preset) == (before + 61, NORMAL)
        assert in_database(lambda: selector().revert(by="Ines", reason="x")) == back
    finally:
        in_database(lambda: Process.objects.filter(id=serving).delete())


def test_a_change_is_logged_with_its_presets_and_versions_and_without_what_was_typed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    select(NORMAL)
    before = newest().version
    choice = SelectionRequest(preset="local_only", by="Ines Ward", reason="Tomas is worried", account=7)
    in_database(lambda: selector().select(choice))

    *_, said = [one.getMessage() for one in caplog.records if "selecting.selected" in one.getMessage()]
    assert said == (
        f"selecting.selected version={before + 1} preset=local_only from=normal from_version={before} "
        "by=page account=7 reason_length=16"
    )


def test_the_database_refuses_a_version_that_does_not_rise() -> None:
    chosen = select("local_only")
    for version in (chosen.version, chosen.version - 1):
        facts = {"version": version, "preset": NORMAL, "by": "x", "reason": "x"}
        with pytest.raises(DatabaseError):
            in_database(lambda facts=facts: SelectionRow.objects.create(**facts))  # type: ignore[misc]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ops_selection SET reason = 'another'",
        "DELETE FROM ops_selection",
        "TRUNCATE ops_selection",
        "INSERT INTO ops_selection (version, preset, by, reason) VALUES (2000000000, 'normal', '', 'x')",
        "INSERT INTO ops_selection (version, preset, by, reason) VALUES (2000000000, 'normal', 'x', '')",
        "INSERT INTO ops_selection (version, preset, by, reason) VALUES (2000000000, 'pin', 'x', 'x')",
        "INSERT INTO ops_selection (version, preset, by, reason, expires_at) "
        "VALUES (2000000000, 'normal', 'x', 'x', now() + interval '1 hour')",
    ],
)
def test_the_database_refuses_to_rewrite_the_trail_or_to_take_half_a_selection(statement: str) -> None:
    insert("local_only")
    before = newest()

    def execute() -> None:
        with connection.cursor() as cursor:
            cursor.execute(statement)

    with pytest.raises(DatabaseError):
        in_database(execute)
    assert newest() == before
