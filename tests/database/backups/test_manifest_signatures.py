"""Only a manifest that this service signed, or that the operator trusts, is believed (D4)."""

from typing import Any

import pytest

from ops.backups.check_restored import compare_with_manifest, list_statements
from ops.backups.reporting.verdict import DrillVerdict
from ops.backups.run.errors import ArchiveDamaged
from ops.backups.run.monitor import RunMonitor
from tests.database.backups.backup_files import (
    EditManifest,
    change_content,
    edit_manifest,
    lower_rows,
    move_date,
    remove_kind,
    remove_manifest,
    widen_sequence,
)
from tests.database.backups.conftest import MakeBackup, RunDrill
from tests.database.backups.drill_server import KEY, SETTING, Server


@pytest.mark.parametrize("edit", [change_content, lower_rows, widen_sequence, remove_kind, move_date])
def test_a_manifest_that_was_edited_is_different_before_anything_of_it_is_run(
    server: Server, make: MakeBackup, drill: RunDrill, edit: EditManifest
) -> None:
    made = make()
    edit_manifest(made.path, edit)

    reports = [
        drill(source=None, archive=made.path, where="private server", trust=trust) for trust in (False, True)
    ]

    for report in reports:
        assert report.verdict == DrillVerdict.DIFFERENT, report.to_text()
        assert "has been changed since it was signed" in report.stopped
        assert "restore" not in report.seconds
    with pytest.raises(ArchiveDamaged, match="since it was signed"):
        list_statements(made.path, name="restored", owner="companion", key=KEY)


@pytest.mark.parametrize("another", ["another key", pytest.param("no signature", marks=pytest.mark.long)])
def test_a_manifest_that_was_not_signed_here_is_refused_unless_it_is_to_be_trusted(
    make: MakeBackup, drill: RunDrill, another: str
) -> None:
    if another == "no signature":
        made = make()
        (made.path / "manifest.sig").unlink()
    else:
        made = make(key="the key of another service")

    refused = drill(source=None, archive=made.path, where="private server")
    trusted = drill(source=None, archive=made.path, where="private server", trust=True)

    assert refused.verdict == DrillVerdict.COULD_NOT_RUN, refused.to_text()
    assert another in refused.stopped and "--trust" in refused.stopped
    assert "restore" not in refused.seconds
    assert trusted.verdict == DrillVerdict.PROVED, trusted.to_text()
    assert any("without a signature (--trust)" in line for line in trusted.not_proved)


def test_a_trusted_manifest_that_tells_of_other_rows_is_different_and_names_the_table(
    make: MakeBackup, drill: RunDrill
) -> None:
    made = make()
    (made.path / "manifest.sig").unlink()
    edit_manifest(made.path, change_content)

    report = drill(source=None, archive=made.path, where="private server", trust=True)

    assert report.verdict == DrillVerdict.DIFFERENT
    assert [line for line in report.differences if not line.startswith("table public.heap: at least")] == []


ODD_MANIFESTS: dict[str, EditManifest] = {
    "rows that do not add up": lower_rows,
    "no database": lambda told: told["catalogue"].pop("database"),
    "a provider of no kind": lambda told: told["catalogue"]["database"]["itself"].update(provider="x"),
    "a moment that is none": lambda told: told.update(made_at="some day"),
    "a moment without a zone": lambda told: told.update(made_at="2026-03-04T12:00:00"),
    "a moment before there was time": lambda told: told.update(made_at="0001-01-01T00:00:00+14:00"),
    "a size beyond any disk": lambda told: told["source"].update(bytes=10**400),
    "a version of letters": lambda told: told["source"].update(server="18.x; DROP"),
    "a position beyond 64 bits": lambda told: next(iter(told["sequences"].values())).update(before=2**70),
}


@pytest.mark.parametrize("edit", ODD_MANIFESTS.values(), ids=ODD_MANIFESTS)
def test_an_odd_manifest_that_is_to_be_trusted_ends_in_a_sentence(
    make: MakeBackup, drill: RunDrill, edit: EditManifest
) -> None:
    made = make()
    (made.path / "manifest.sig").unlink()
    edit_manifest(made.path, edit)

    report = drill(source=None, archive=made.path, where="private server", trust=True)

    assert report.verdict == DrillVerdict.DIFFERENT, report.to_text()
    assert "errors in its structure" in report.stopped
    assert report.to_page() and report.to_json()


@pytest.mark.parametrize("kind", ["a file alone", "a manifest without a signature"])
def test_the_code_of_a_strange_backup_runs_on_no_server_but_the_drills_own(
    server: Server, make: MakeBackup, drill: RunDrill, kind: str
) -> None:
    made = make()
    archive = remove_manifest(made) if kind == "a file alone" else made.path
    (made.path / "manifest.sig").unlink()
    target = server.address("postgres")
    before = server.databases()

    beside = drill(source=server.address("sample"), archive=archive, trust=True)
    elsewhere = drill(source=None, archive=archive, where="target", target=target)
    trusted = drill(source=None, archive=archive, where="target", target=target, trust=True)

    assert (beside.verdict, elsewhere.verdict) == (DrillVerdict.COULD_NOT_RUN, DrillVerdict.COULD_NOT_RUN)
    assert "Leave --target out" in beside.stopped and "--trust" not in beside.stopped
    assert trusted.verdict in {DrillVerdict.PROVED, DrillVerdict.PROCEDURE_ONLY}, trusted.to_text()
    assert server.databases() == before


def test_a_definition_in_a_manifest_that_is_only_trusted_is_not_run_on_the_database_in_use(
    server: Server, make: MakeBackup
) -> None:
    def inject(told: dict[str, Any]) -> None:
        for entry in told["catalogue"]["column"].values():
            if "default" in entry:
                entry["default"] = "1) AS it; COMMIT; CREATE TABLE public.injected (); SELECT (1"

    made = make()
    (made.path / "manifest.sig").unlink()
    edit_manifest(made.path, inject)
    server.create("for_real", like="sample")
    try:
        address = server.address("for_real")
        found = compare_with_manifest(
            address,
            made.path,
            setting=SETTING,
            jobs=1,
            no_owner=False,
            monitor=RunMonitor(),
            key=KEY,
            trust=True,
        )
        there = server.one("for_real", "SELECT to_regclass('public.injected')")
    finally:
        server.drop("for_real")

    assert there is None
    assert any("another default" in str(difference) for difference in found.differences)
