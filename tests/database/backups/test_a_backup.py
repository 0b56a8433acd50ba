"""A backup is made whole or not at all, and rotated (D4)."""

import fcntl
import os
from pathlib import Path

import pytest

from ops.backups.backup import BackupOrder, back_up
from ops.backups.reporting.verdict import DrillVerdict
from ops.backups.restoring.order import RunEnvironment
from ops.backups.run.errors import CouldNotRun, DrillInterrupted
from ops.backups.run.monitor import RunMonitor
from tests.database.backups.backup_files import list_stored_backups
from tests.database.backups.conftest import MakeBackup, RunDrill
from tests.database.backups.drill_server import KEY, Server
from tests.database.backups.writer import write_meanwhile


def test_a_backup_made_while_people_write_is_proved_by_a_drill(
    server: Server, make: MakeBackup, drill: RunDrill, state: Path
) -> None:
    server.create("busy", like="sample")
    try:
        with write_meanwhile(server.url_of("busy")):
            made = make(database="busy")
    finally:
        server.drop("busy")

    report = drill(source=None, archive=made.path, where="private server")

    assert (report.level, report.verdict, report.differences) == ("B", DrillVerdict.PROVED, ()), (
        report.to_text()
    )
    assert report.rows == made.rows
    private = {path.stat().st_mode & 0o077 for path in [made.path, *made.path.rglob("*")]}
    assert private == {0}


def test_rotation_keeps_the_newest_and_leaves_what_is_not_ours(make: MakeBackup, state: Path) -> None:
    backups = state / "backups"
    backups.mkdir()
    theirs = {"photos", "companion-photos.partial", "companion-before-upgrade", "companion-latest"}
    for name in theirs - {"companion-latest"}:
        (backups / name).mkdir()
    (backups / "companion-latest").symlink_to(backups / "photos")

    for hours in range(4):
        made = make(hours=hours, keep=2)

    assert set(list_stored_backups(state)) == theirs | {
        "companion-20260304T140000Z",
        "companion-20260304T150000Z",
    }
    assert made.removed == ("companion-20260304T130000Z",)
    assert len(made.left_alone) == 3


def test_a_drill_of_a_backup_dated_in_the_future_says_that_its_age_is_unknown(
    make: MakeBackup, drill: RunDrill
) -> None:
    made = make(hours=73 * 365 * 24)

    report = drill(source=None, archive=made.path, where="private server")

    assert (report.verdict, report.as_of) == (DrillVerdict.PROVED, ""), report.to_text()
    assert "a clock was wrong. The drill does not count" in report.not_proved[0]


def test_backups_dated_in_the_future_cost_neither_the_new_one_nor_themselves(
    make: MakeBackup, state: Path
) -> None:
    century = 73 * 365 * 24
    future = {make(hours=hours, keep=0).path.name for hours in (century, century + 1)}

    first = make(keep=2)
    second = make(hours=1, keep=2)
    third = make(hours=2, keep=2)

    assert (first.removed, second.removed, third.removed) == ((), (), (first.path.name,))
    assert set(list_stored_backups(state)) == future | {second.path.name, third.path.name}
    assert all("dates it in the future" in line for line in third.left_alone)


def test_two_backups_at_once_are_one(make: MakeBackup, state: Path) -> None:
    (state / "backups").mkdir()
    lock = os.open(state / "backups" / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        with pytest.raises(CouldNotRun, match="Another backup"):
            make()
    finally:
        os.close(lock)
    assert list_stored_backups(state) == []


def test_a_backup_that_fails_leaves_none_and_removes_none(make: MakeBackup, state: Path) -> None:
    make(keep=1)

    def stop(phase: str) -> None:
        if phase == "read through":
            raise KeyboardInterrupt

    with pytest.raises(DrillInterrupted, match="no backup was made, and none was removed"):
        make(hours=1, keep=1, monitor=RunMonitor(announce=stop))

    assert list_stored_backups(state) == ["companion-20260304T120000Z"]
    assert list((state / "backups" / ".work").iterdir()) == []


def test_a_second_backup_of_the_same_second_leaves_the_first_as_it_is(make: MakeBackup, state: Path) -> None:
    first = make()
    before = (first.path / "manifest.json").read_bytes()

    with pytest.raises(CouldNotRun, match="already exists"):
        make()

    assert (first.path / "manifest.json").read_bytes() == before
    assert list_stored_backups(state) == [first.path.name]


def test_what_another_program_is_still_fetching_is_left_alone(make: MakeBackup, state: Path) -> None:
    fetched = state / "backups" / "companion-20260101T000000Z.partial"
    (fetched / "dump").mkdir(parents=True)

    made = make(keep=1)

    assert list_stored_backups(state) == [fetched.name, made.path.name]


def test_an_old_backup_that_cannot_be_removed_fails_no_new_one_and_is_named(
    make: MakeBackup, state: Path
) -> None:
    old = make()

    def stand_in_the_way(phase: str) -> None:
        if phase == "manifest":
            (run,) = (state / "backups" / ".work").iterdir()
            (run / old.path.name / "something").mkdir(parents=True)

    made = make(hours=1, keep=1, monitor=RunMonitor(announce=stand_in_the_way))

    assert made.path.is_dir() and made.removed == ()
    assert made.stuck == (f"{old.path}: Directory not empty",)
    assert set(list_stored_backups(state)) == {old.path.name, made.path.name}


def test_a_disk_that_is_too_small_for_the_dump_is_refused(server: Server, state: Path) -> None:
    order = BackupOrder(source=server.address("sample"), into=state / "backups", key=KEY)

    with pytest.raises(CouldNotRun, match=r"MB are needed.*larger disk with --to"):
        back_up(order, RunMonitor(), RunEnvironment(free=lambda _folder: 1_000_000))
