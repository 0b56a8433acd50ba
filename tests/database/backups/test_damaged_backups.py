"""A damaged backup is reported before any of it is restored; an archive without its manifest is never proved (D4)."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ops.backups.programs.tools import find_tools, list_folders
from ops.backups.reporting.verdict import DrillVerdict
from tests.database.backups.backup_files import (
    add_file,
    change_value,
    remove_file,
    remove_manifest,
    remove_table_of_contents,
    truncate_end,
    truncate_to_nothing,
    write_invalid_manifest,
)
from tests.database.backups.conftest import MakeBackup, RunDrill
from tests.database.backups.drill_server import Server


@pytest.mark.parametrize(
    "damage",
    [
        truncate_to_nothing,
        truncate_end,
        remove_file,
        add_file,
        remove_table_of_contents,
        change_value,
        write_invalid_manifest,
    ],
)
def test_a_damaged_backup_is_different_before_anything_of_it_is_run(
    make: MakeBackup, drill: RunDrill, state: Path, damage: Callable[[Path], None]
) -> None:
    made = make()
    damage(made.path)

    report = drill(source=None, archive=made.path, where="private server")

    assert report.verdict == DrillVerdict.DIFFERENT, report.to_text()
    assert report.stopped
    assert "restore" not in report.seconds


def test_a_manifest_of_a_later_version_is_not_guessed_at(make: MakeBackup, drill: RunDrill) -> None:
    made = make()
    later = json.loads((made.path / "manifest.json").read_text()) | {"manifest": 4, "news": []}
    (made.path / "manifest.json").write_text(json.dumps(later))

    report = drill(source=None, archive=made.path, where="private server")

    assert report.verdict == DrillVerdict.COULD_NOT_RUN
    assert "version 2" in report.stopped


def test_the_dump_of_a_backup_is_not_drilled_past_its_manifest_in_silence(
    make: MakeBackup, drill: RunDrill
) -> None:
    made = make()

    report = drill(source=None, archive=made.path / "dump", where="private server")

    assert report.verdict == DrillVerdict.COULD_NOT_RUN
    assert report.stopped.endswith(f"Name the whole backup: {made.path}")


@pytest.mark.parametrize(
    "damage", [truncate_to_nothing, truncate_end, pytest.param(remove_file, marks=pytest.mark.long)]
)
def test_a_damaged_archive_without_a_manifest_is_different_too(
    make: MakeBackup, drill: RunDrill, damage: Callable[[Path], None]
) -> None:
    made = make()
    damage(made.path)

    report = drill(source=None, archive=remove_manifest(made), where="private server")

    assert (report.level, report.verdict) == ("C", DrillVerdict.DIFFERENT), report.to_text()


def test_an_archive_without_a_manifest_restores_and_is_never_proved(
    make: MakeBackup, drill: RunDrill
) -> None:
    report = drill(source=None, archive=remove_manifest(make()), where="private server")

    assert (report.level, report.verdict) == ("C", DrillVerdict.PROCEDURE_ONLY), report.to_text()
    for said in (report.to_text(), report.to_page(), report.to_json()):
        assert "the file came without a manifest" in said
    assert "objects, compared with nothing" in report.to_text()
    assert "without a manifest" in report.not_proved[0]


def test_a_custom_archive_from_elsewhere_restores_too(
    server: Server, drill: RunDrill, tmp_path: Path
) -> None:
    archive = tmp_path / "night.dump"
    tools = find_tools(18, list_folders(), server=False)
    dumped = subprocess.run(
        [tools["pg_dump"], "--format=custom", f"--file={archive}"],
        env=server.address("sample").make_environment(),
        capture_output=True,
    )
    assert dumped.returncode == 0, dumped.stderr

    report = drill(source=None, archive=archive, where="private server")

    assert (report.level, report.verdict) == ("C", DrillVerdict.PROCEDURE_ONLY), report.to_text()
