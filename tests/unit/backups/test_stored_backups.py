"""What an operator may type after an option, and what is said when no backup lies where one was named."""

import json
import re
import shutil
from argparse import ArgumentTypeError
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.management.base import BaseCommand, CommandError

from ops.backups.archive.rotation import StoredBackup
from ops.backups.archive.stored_backups import find_newest, list_backups, require_backup
from ops.backups.commands import arguments
from ops.backups.programs.dump import recognise_archive
from ops.backups.run.errors import ArchiveDamaged, CouldNotRun
from ops.management.commands import backup, check_restored, restore_drill, seed_rows


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (arguments.parse_jobs, "0"),
        (arguments.parse_jobs, "-1"),
        (arguments.parse_jobs, "33"),
        (arguments.parse_jobs, "two"),
        (arguments.parse_zero_or_more, "-1"),
        (arguments.parse_zero_or_more, "1.5"),
        (arguments.parse_one_or_more, "0"),
        (arguments.parse_path, ""),
        (arguments.parse_path, " "),
        (arguments.parse_text, ""),
    ],
)
def test_nonsense_is_refused_and_never_turned_into_something_else(
    read: Callable[[str], object], text: str
) -> None:
    with pytest.raises(ArgumentTypeError, match=re.escape(text.strip() or "variable not set")):
        read(text)


def test_sense_is_read() -> None:
    assert (arguments.parse_jobs("1"), arguments.parse_jobs("32")) == (1, 32)
    assert (arguments.parse_zero_or_more("0"), arguments.parse_one_or_more("1")) == (0, 1)
    assert arguments.parse_path("backups") == Path("backups")


@pytest.mark.parametrize(
    ("command", "words", "says"),
    [
        (restore_drill.Command, ["--jobs", "0"], "argument --jobs: must be 1 to 32, not 0"),
        (restore_drill.Command, ["--backup", ""], "argument --backup: must not be empty"),
        (restore_drill.Command, ["--target", ""], "argument --target: must not be empty"),
        (restore_drill.Command, ["--work", ""], "argument --work: must not be empty"),
        (backup.Command, ["--to", ""], "argument --to: must not be empty"),
        (backup.Command, ["--keep", "-1"], "argument --keep: must be 0 or more, not -1"),
        (check_restored.Command, [""], "argument backup: must not be empty"),
        (check_restored.Command, ["x", "--jobs", "99"], "argument --jobs: must be 1 to 32, not 99"),
        (seed_rows.Command, ["-5"], "argument rows: must be 1 or more, not -5"),
    ],
)
def test_every_command_names_the_argument_that_makes_no_sense(
    command: type[BaseCommand], words: list[str], says: str
) -> None:
    with pytest.raises(CommandError, match=says):
        command().create_parser("manage.py", "it").parse_args(words)


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A folder with two backups, a half-made one, and a bare archive."""
    for name in (
        "companion-20260101T000000Z",
        "companion-20260102T000000Z",
        "companion-20260103T000000Z.partial",
    ):
        dump = tmp_path / name / "dump"
        dump.mkdir(parents=True)
        (dump / "toc.dat").write_bytes(b"PGDMP")
        made_at = datetime.strptime(name[10:26], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        head = {"made_at": made_at.isoformat(), "source": {"system": "1", "database": "live"}}
        (tmp_path / name / "manifest.json").write_text(json.dumps(head))
    (tmp_path / "night.dump").write_bytes(b"PGDMP rest")
    return tmp_path


def test_what_is_no_backup_of_this_database_is_left_alone_with_the_reason(shelf: Path) -> None:
    made = StoredBackup(
        name="companion-20260102T000000Z", made_at=datetime(2026, 1, 2, tzinfo=UTC), source="1/live"
    )
    (shelf / "companion-latest").symlink_to(shelf / made.name)
    (shelf / "companion-20251201T000000Z").symlink_to(shelf / made.name)
    shutil.copytree(shelf / made.name, shelf / "companion-before-upgrade")
    for name, head in {
        "companion-20251202T000000Z": {"made_at": "2099-01-01T00:00:00+00:00", "database": "live"},
        "companion-20251203T000000Z": {"made_at": "2025-12-03T00:00:00+00:00", "database": "other"},
        "companion-20251204T000000Z": {"made_at": "some day", "database": "live"},
    }.items():
        (shelf / name).mkdir()
        facts = {"made_at": head["made_at"], "source": {"system": "1", "database": head["database"]}}
        (shelf / name / "manifest.json").write_text(json.dumps(facts))
    (shelf / "companion-20251205T000000Z").touch()
    (shelf / "companion-20251206T000000Z").mkdir()

    ours, left = list_backups(shelf, made_by=made)

    assert [one.name for one in ours] == ["companion-20260101T000000Z", made.name]
    assert left == [
        "companion-20251201T000000Z: it is a link",
        "companion-20251202T000000Z: its manifest dates it in the future, 2099-01-01",
        "companion-20251203T000000Z: it is a backup of another database",
        "companion-20251204T000000Z: it has no readable manifest.json",
        "companion-20251205T000000Z: it is not a folder",
        "companion-20251206T000000Z: it has no readable manifest.json",
        "companion-20260103T000000Z.partial: its name is not that of a backup",
        "companion-before-upgrade: its name is not that of a backup",
        "companion-latest: it is a link",
    ]


def get_refusal(path: Path, *, with_manifest: bool = False) -> str:
    """What is said."""
    with pytest.raises(CouldNotRun) as stopped:
        require_backup(path, with_manifest=with_manifest)
    assert str(path) in str(stopped.value)
    return str(stopped.value)


def test_a_backup_and_a_bare_archive_are_taken(shelf: Path) -> None:
    whole = shelf / "companion-20260102T000000Z"

    bare = shelf / "companion-20260101T000000Z"
    (bare / "manifest.json").unlink()

    for path in (whole, bare / "dump", shelf / "night.dump"):
        require_backup(path)
    require_backup(whole, with_manifest=True)
    assert find_newest(shelf) == whole


def test_a_backup_dated_in_the_future_is_the_newest_only_where_there_is_no_other(shelf: Path) -> None:
    future = shelf / "companion-20990101T000000Z"
    shutil.copytree(shelf / "companion-20260101T000000Z", future)
    head = json.loads((future / "manifest.json").read_text()) | {"made_at": "2099-01-01T00:00:00+00:00"}
    (future / "manifest.json").write_text(json.dumps(head))

    assert find_newest(shelf) == shelf / "companion-20260102T000000Z"
    for name in ("companion-20260101T000000Z", "companion-20260102T000000Z"):
        shutil.rmtree(shelf / name)
    assert find_newest(shelf) == future


def test_a_folder_of_backups_and_a_missing_one_name_the_newest(shelf: Path) -> None:
    last = str(shelf / "companion-20260102T000000Z")

    assert get_refusal(shelf).endswith(last)
    assert get_refusal(shelf / "companion-20260105T000000Z").endswith(last)
    assert "Correct the path" in get_refusal(shelf / "nowhere" / "at-all")


def test_a_part_of_a_backup_names_the_whole(shelf: Path) -> None:
    whole = shelf / "companion-20260102T000000Z"

    (shelf / "tonight").symlink_to(whole / "dump")
    for path in (whole / "manifest.json", whole / "dump" / "toc.dat", whole / "dump", shelf / "tonight"):
        assert get_refusal(path).endswith(f"Name the whole backup: {whole}")


def test_a_backup_that_lost_its_manifest_says_so_and_how_to_see_whether_it_restores(shelf: Path) -> None:
    lost = shelf / "companion-20260101T000000Z"
    (lost / "manifest.json").unlink()

    assert "without its manifest.json" in get_refusal(lost)
    assert get_refusal(lost).endswith(str(lost / "dump"))


def test_a_part_of_an_encrypted_backup_names_the_whole_or_what_is_missing(shelf: Path) -> None:
    whole = shelf / "companion-20260104T000000Z"
    whole.mkdir()
    (whole / "backup.tar.age").write_bytes(b"age-encryption.org/v1")

    assert get_refusal(whole).endswith(
        "is an encrypted backup without its manifest.json. Fetch the whole folder again."
    )
    assert get_refusal(whole / "backup.tar.age").endswith(f"Name the whole backup: {whole}")


def test_what_holds_no_manifest_cannot_be_held_against(shelf: Path) -> None:
    (shelf / "empty").mkdir()

    assert "no backup in the folder" in get_refusal(shelf / "empty")
    for path in (shelf / "night.dump", shelf / "companion-20260101T000000Z" / "dump"):
        assert "manifest" in get_refusal(path, with_manifest=True)


@pytest.mark.parametrize("content", [b"SELECT 1;", b"\x1f\x8b", b"age-encryption.org/v1"])
def test_anything_but_an_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)

    with pytest.raises(CouldNotRun, match="unpack it first"):
        recognise_archive(tmp_path / "file")


@pytest.mark.parametrize("content", [b"", b"PGD"])
def test_an_archive_that_was_cut_to_nothing_is_damaged_and_not_merely_refused(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "file").write_bytes(content)

    with pytest.raises(ArchiveDamaged, match="truncated to"):
        recognise_archive(tmp_path / "file")
