"""A backup carries its own proof: made whole or not at all, rotated, and drilled against its manifest (D4)."""

import fcntl
import gzip
import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ops.backups.backup import BackupOrder, BackupResult, back_up
from ops.backups.check_restored import compare_with_manifest, list_statements
from ops.backups.programs.tools import find_tools, list_folders
from ops.backups.reporting.verdict import DrillVerdict
from ops.backups.restoring.order import RunEnvironment
from ops.backups.run.errors import ArchiveDamaged, CouldNotRun, DrillInterrupted
from ops.backups.run.monitor import RunMonitor
from tests.database.backups.conftest import RunDrill
from tests.database.backups.drill_server import KEY, SETTING, Server
from tests.database.backups.writer import write_meanwhile

MakeBackup = Callable[..., BackupResult]
NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)


@pytest.fixture
def make(server: Server, state: Path) -> MakeBackup:
    """Make a backup; `hours` after noon, so that names differ."""

    def made(
        *, hours: int = 0, database: str = "sample", monitor: RunMonitor | None = None, **order: object
    ) -> BackupResult:
        asked = BackupOrder(source=server.address(database), into=state / "backups", key=KEY)
        environment = RunEnvironment(now=lambda: NOON + timedelta(hours=hours))
        return back_up(replace(asked, **order), monitor or RunMonitor(), environment)  # type: ignore[arg-type]

    return made


def list_stored_backups(state: Path) -> list[str]:
    """The backups there are."""
    return sorted(path.name for path in (state / "backups").iterdir() if not path.name.startswith("."))


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


def truncate_to_nothing(backup: Path) -> None:
    largest = max((backup / "dump").glob("*.dat.gz"), key=lambda path: path.stat().st_size)
    largest.write_bytes(b"")


def truncate_end(backup: Path) -> None:
    largest = max((backup / "dump").glob("*.dat.gz"), key=lambda path: path.stat().st_size)
    largest.write_bytes(largest.read_bytes()[:-40])


def remove_file(backup: Path) -> None:
    next((backup / "dump").glob("*.dat.gz")).unlink()


def add_file(backup: Path) -> None:
    (backup / "dump" / "9999.dat.gz").write_bytes(gzip.compress(b"\\.\n"))


def remove_table_of_contents(backup: Path) -> None:
    (backup / "dump" / "toc.dat").unlink()


def change_value(backup: Path) -> None:
    for path in (backup / "dump").glob("*.dat.gz"):
        text = gzip.decompress(path.read_bytes())
        if b"Person 5\t" in text:
            path.write_bytes(gzip.compress(text.replace(b"Person 5\t", b"Person V\t"), mtime=0))


def write_invalid_manifest(backup: Path) -> None:
    (backup / "manifest.json").write_text('{"manifest": 2, "tables": 3}')


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
    later = json.loads((made.path / "manifest.json").read_text()) | {"manifest": 3, "news": []}
    (made.path / "manifest.json").write_text(json.dumps(later))

    report = drill(source=None, archive=made.path, where="private server")

    assert report.verdict == DrillVerdict.COULD_NOT_RUN
    assert "version 2" in report.stopped


EditManifest = Callable[[dict[str, Any]], object]
"""A change of a manifest's facts."""


def change_content(told: dict[str, Any]) -> None:
    """Another sum, in a bucket of its own."""
    rows, first, second = told["tables"]["public.heap"]["buckets"].popitem()[1]
    told["tables"]["public.heap"]["buckets"]["9"] = [rows, str(int(first) + 1), second]


def lower_rows(told: dict[str, Any]) -> None:
    """A count that is not compared."""
    told["tables"]["public.person"]["rows"] -= 1


def widen_sequence(told: dict[str, Any]) -> None:
    """A sequence that may stand anywhere."""
    name = next(iter(told["sequences"]))
    told["sequences"][name] |= {"before": -(2**62), "after": 2**62}


def remove_kind(told: dict[str, Any]) -> None:
    """A catalogue of which a kind was taken out."""
    del told["catalogue"]["index"]


def move_date(told: dict[str, Any]) -> None:
    """A backup that claims to be of tonight."""
    told["made_at"] = "2026-03-05T12:00:00Z"


def edit_manifest(backup: Path, edit: EditManifest) -> None:
    """Change the manifest, and leave its signature as it is."""
    told = json.loads((backup / "manifest.json").read_text())
    edit(told)
    (backup / "manifest.json").write_text(json.dumps(told))


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


@pytest.mark.parametrize("another", ["no signature", "another key"])
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


def remove_manifest(made: BackupResult) -> Path:
    """The dump of a backup whose manifest is lost."""
    (made.path / "manifest.json").unlink()
    return made.path / "dump"


def test_the_dump_of_a_backup_is_not_drilled_past_its_manifest_in_silence(
    make: MakeBackup, drill: RunDrill
) -> None:
    made = make()

    report = drill(source=None, archive=made.path / "dump", where="private server")

    assert report.verdict == DrillVerdict.COULD_NOT_RUN
    assert report.stopped.endswith(f"Name the whole backup: {made.path}")


@pytest.mark.parametrize("damage", [truncate_to_nothing, truncate_end, remove_file])
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


def test_a_restored_database_is_held_against_its_backup_before_people_come_back(
    server: Server, make: MakeBackup
) -> None:
    made = make()
    server.create("for_real", like="sample")

    def held() -> list[str]:
        address = server.address("for_real")
        found = compare_with_manifest(
            address, made.path, setting=SETTING, jobs=2, no_owner=False, monitor=RunMonitor(), key=KEY
        )
        return [str(difference) for difference in found.differences]

    try:
        assert held() == []
        server.load("for_real", "INSERT INTO heap VALUES (5, 'five')")
        assert held() == ["table public.heap: at least 1 key with other content; 4 rows became 5"]
    finally:
        server.drop("for_real")


def test_the_statements_for_a_restore_make_a_database_like_the_one_that_was_backed_up(
    server: Server, make: MakeBackup
) -> None:
    server.load("postgres", "CREATE DATABASE plain_c TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C'")
    server.load("plain_c", "CREATE TABLE django_migrations AS SELECT 1 AS id, 'a' AS app, '1' AS name")
    try:
        made = make(database="plain_c", hours=5)
        said = list_statements(made.path, name="restored", owner="companion", key=KEY)
        for statement in said:
            if " DATABASE " in statement:
                server.load("postgres", statement)
        shapes = "SELECT count(DISTINCT (encoding, datlocprovider, datlocale, datcollate, datctype)) FROM pg_database"
        alike = server.one("postgres", f"{shapes} WHERE datname IN ('plain_c', 'restored')")
    finally:
        server.drop("plain_c")
        server.drop("restored")

    assert 'CREATE ROLE "companion" LOGIN;' in said
    assert alike == 1


def test_what_no_dump_holds_is_made_by_the_statements_and_held_against_the_backup(
    server: Server, make: MakeBackup
) -> None:
    server.create("settled", like="sample")
    server.load("settled", """ALTER DATABASE settled SET search_path = "$user", 'Odd one', public""")
    server.load("settled", "ALTER DATABASE settled SET companion.greeting = 'it''s us'")
    server.load("settled", "ALTER ROLE sample_reader IN DATABASE settled SET work_mem = '5MB'")
    server.load("settled", "REVOKE ALL ON DATABASE settled FROM PUBLIC")
    server.load("settled", "GRANT CONNECT ON DATABASE settled TO sample_reader WITH GRANT OPTION")
    server.load("settled", "ALTER DATABASE settled CONNECTION LIMIT 90")
    server.load("settled", "ALTER DATABASE settled OWNER TO sample_owner")
    made = make(database="settled", hours=7)
    said = [
        statement
        for statement in list_statements(made.path, name="for_real", owner="companion", key=KEY)
        if " DATABASE " in statement
    ]

    def held(*, no_owner: bool = False) -> list[str]:
        address = server.address("for_real")
        found = compare_with_manifest(
            address, made.path, setting=SETTING, jobs=2, no_owner=no_owner, monitor=RunMonitor(), key=KEY
        )
        return [str(difference) for difference in found.differences]

    try:
        # As a restore for real: an empty database by these statements, or here one with the rows in it already.
        server.create("for_real", like="sample")
        assert held() == [
            "database grant itself: its grant to PUBLIC is only in the copy",
            "database grant itself: its grant to sample_reader is missing in the copy",
            "database owner itself: another limit of connections",
            "database owner itself: another owner",
            "database setting companion.greeting: missing in the copy",
            "database setting search_path: missing in the copy",
            "database setting work_mem for sample_reader: missing in the copy",
        ]
        assert held(no_owner=True) == held()[4:]
        for statement in said:
            if not statement.startswith("CREATE DATABASE"):
                server.load("postgres", statement)
        server.load("postgres", "ALTER DATABASE for_real OWNER TO sample_owner")
        assert 'CREATE DATABASE "for_real" OWNER "sample_owner"' in said[0]
        assert held() == []
        server.load("postgres", "ALTER DATABASE for_real SET search_path = public")
        assert held() == ["database setting search_path: another value"]
    finally:
        server.drop("settled")
        server.drop("for_real")


def test_a_file_that_is_no_manifest_cannot_be_held_against(server: Server, state: Path) -> None:
    (state / "manifest.json").write_text("[]")

    with pytest.raises(ArchiveDamaged):
        compare_with_manifest(
            server.address("sample"),
            state,
            setting=SETTING,
            jobs=1,
            no_owner=False,
            monitor=RunMonitor(),
            key=KEY,
        )
