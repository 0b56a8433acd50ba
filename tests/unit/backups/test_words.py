"""What a drill reads and says: addresses without secrets, complaints without rows, manifests, records, errors."""

import inspect
import json
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from django.template.loader import render_to_string

from ops.backups.archive import manifest, signature
from ops.backups.connecting.address import Address
from ops.backups.reporting import records
from ops.backups.reporting.report import format_age, format_duration
from ops.backups.run.error_mapping import (
    describe_os_error,
    map_database_error,
    map_own_fault,
    map_system_error,
)
from ops.backups.run.errors import ArchiveDamaged, ConnectionLost, CouldNotRun, DrillStopped, SourceChanged
from ops.backups.run.run_folder import make_work_folder

NOW = datetime(2026, 6, 1, tzinfo=UTC)
SECRET = "hunter2"
URL = f"postgresql://ines:{SECRET}@db.example.org:5433/live?sslmode=require"


def test_an_address_never_shows_its_password() -> None:
    address = Address.parse(URL, setting="DIRECT_DATABASE_URL")

    for text in (repr(address), str(address), address.label, repr(address.with_database("scratch"))):
        assert SECRET not in text
    assert address.label == "live at db.example.org, port 5433"


def test_several_servers_are_accepted_where_the_one_in_use_is_looked_for() -> None:
    several = "postgresql://ines@one,two:5433/live?target_session_attrs=read-write"

    assert Address.parse(several, setting="DATABASE_URL", may_name_several=True).names_several
    # One server is the one in use; read-only sessions of a drill may connect to it.
    one = Address.parse(several.replace("one,", ""), setting="X").find_primary(setting="X")
    assert (one.label, "target_session_attrs" in one.keywords) == ("live at two, port 5433", False)


def test_a_programs_environment_holds_everything_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGOPTIONS", "-c role=another")
    monkeypatch.setenv("PGTZ", "UTC")
    monkeypatch.setenv("SECRET_KEY", "the key of the service")
    monkeypatch.setenv("OPS_TOKEN", "the token of the service")
    given = Address.parse(URL, setting="X").make_environment({"default_transaction_read_only": "on"})

    assert given["PGPASSWORD"] == SECRET
    assert (given["PGHOST"], given["PGPORT"], given["PGDATABASE"]) == ("db.example.org", "5433", "live")
    assert given["PGSSLMODE"] == "require"
    assert given["PGOPTIONS"] == "-c default_transaction_read_only=on"
    assert (given["LC_ALL"], given["PGTZ"], given["PATH"]) == ("C", "UTC", os.environ["PATH"])
    assert not {"SECRET_KEY", "OPS_TOKEN", "DATABASE_URL"} & given.keys()


@pytest.mark.parametrize(
    "text", ["postgresql://ines:hunter2@h:x/", "host=a dbname", "postgresql://h/", "host=a,b dbname=c"]
)
def test_an_address_that_cannot_be_used_is_refused_without_being_quoted(text: str) -> None:
    with pytest.raises(CouldNotRun, match="DIRECT_DATABASE_URL") as refusal:
        Address.parse(text, setting="DIRECT_DATABASE_URL")

    assert SECRET not in str(refusal.value)


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        (psycopg.errors.LockNotAvailable("x"), SourceChanged),
        (psycopg.errors.UndefinedTable("x"), SourceChanged),
        (psycopg.errors.DiskFull("x"), CouldNotRun),
        (psycopg.errors.InsufficientPrivilege("x"), CouldNotRun),
        (psycopg.errors.QueryCanceled("x"), CouldNotRun),
        (psycopg.errors.AdminShutdown("x"), ConnectionLost),
        (psycopg.OperationalError("x"), ConnectionLost),
        (psycopg.InterfaceError("x"), ConnectionLost),
        (psycopg.errors.SyntaxError("x"), CouldNotRun),
    ],
)
def test_every_error_of_psycopg_becomes_ours_and_loses_its_text(
    error: psycopg.Error, ours: type[DrillStopped]
) -> None:
    found = map_database_error(error)

    assert isinstance(found, ours)
    assert "x" not in found.what.split()


def test_no_error_of_psycopg_is_unmapped() -> None:
    kinds = [kind for _, kind in inspect.getmembers(psycopg.errors, inspect.isclass)]

    for kind in kinds:
        if issubclass(kind, psycopg.Error):
            assert isinstance(map_database_error(kind("rows")), DrillStopped)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"manifest": 2}', '{"manifest": "one"}', "\x00"])
def test_a_file_that_is_no_manifest_is_damaged(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)

    with pytest.raises(ArchiveDamaged):
        manifest.read(tmp_path / "manifest.json")


def test_the_manifests_document_names_every_key() -> None:
    document = (Path(manifest.__file__).parent / "MANIFEST.md").read_text()

    for model in (manifest.Manifest, manifest.SourceFacts, manifest.FileFacts, manifest.TableFacts):
        for key in model.model_fields:
            assert f"`{key}`" in document, key


@pytest.fixture
def signed(tmp_path: Path) -> Path:
    """Something that was signed, as a manifest is."""
    path = tmp_path / "manifest.json"
    path.write_bytes(b"some facts")
    (tmp_path / "manifest.sig").write_text(signature.sign(b"some facts", "the key"))
    return path


def test_a_signature_holds_for_its_key_and_its_bytes_alone(signed: Path) -> None:
    assert signature.check_signature(signed, "the key", trust=False)
    with pytest.raises(CouldNotRun, match="another key"):
        signature.check_signature(signed, "the key of another", trust=False)
    assert not signature.check_signature(signed, "the key of another", trust=True)
    signed.write_bytes(b"some facts ")
    for trust in (False, True):
        with pytest.raises(ArchiveDamaged, match="changed since it was signed"):
            signature.check_signature(signed, "the key", trust=trust)


def test_a_signature_gives_no_key_away(signed: Path) -> None:
    assert "the key" not in signed.with_name("manifest.sig").read_text()


@pytest.mark.parametrize(
    "text", ["", "[]", '{"signature": 1}', '{"signature": 2, "key": "0000000000000000", "hmac": ""}']
)
def test_a_file_that_is_no_signature_is_damaged(signed: Path, text: str) -> None:
    signed.with_name("manifest.sig").write_text(text)

    with pytest.raises(ArchiveDamaged, match="not valid"):
        signature.check_signature(signed, "the key", trust=True)


def write_record(
    state: Path,
    *,
    days_ago: int,
    verdict: str,
    run: str = "",
    restore_s: float = 2.5,
    older_by: int | None = 0,
    doubt: str = "",
) -> None:
    """Put a drill on record, of data that were `older_by` days old; None: of no known age."""
    folder = state / "drills"
    folder.mkdir(exist_ok=True)
    at = NOW - timedelta(days=days_ago)
    facts = {
        "run": run or f"{at:%Y%m%dt%H%M%S}_abcd",
        "ended_at": at.isoformat(),
        "verdict": verdict,
        "level": "A",
        "where": "private server",
        "rows": 12345,
        "source_bytes": 1000,
        "restore_s": restore_s,
        "expected_restore_s": {"10 x this size": 25.0},
        "differences": [],
        "as_of": "" if older_by is None else (at - timedelta(days=older_by)).isoformat(),
        "in_use_doubt": doubt,
    }
    (folder / f"{facts['run']}.json").write_text(json.dumps(facts))


def test_a_drill_is_due_at_once_where_none_ever_proved_anything(tmp_path: Path) -> None:
    nothing = dict.fromkeys(("last_at", "verdict", "due_at", "proved_at", "proved_as_of"))
    assert records.make_status(tmp_path) == nothing
    assert records.is_overdue(tmp_path, NOW)
    write_record(tmp_path, days_ago=1, verdict="COULD NOT RUN")
    write_record(tmp_path, days_ago=2, verdict="PROCEDURE ONLY")
    assert records.make_status(tmp_path)["verdict"] == "COULD NOT RUN"
    assert records.is_overdue(tmp_path, NOW)


def test_a_drill_is_due_a_quarter_after_the_last_that_proved(tmp_path: Path) -> None:
    write_record(tmp_path, days_ago=80, verdict="PROVED")
    write_record(tmp_path, days_ago=200, verdict="PROVED")
    write_record(tmp_path, days_ago=3, verdict="DIFFERENT")

    assert records.compute_due_at(tmp_path) == NOW + timedelta(days=11)
    assert not records.is_overdue(tmp_path, NOW)
    assert records.is_overdue(tmp_path, NOW + timedelta(days=12))
    last = records.find_latest(tmp_path)
    assert last is not None and last.verdict == "DIFFERENT"


def test_operators_are_told_of_a_proof_that_is_missing_old_or_contradicted(tmp_path: Path) -> None:
    assert records.explain_missing_proof(tmp_path, NOW) == "no drill has proved it yet"
    write_record(tmp_path, days_ago=80, verdict="PROVED")
    assert records.explain_missing_proof(tmp_path, NOW) is None
    assert records.explain_missing_proof(tmp_path, NOW + timedelta(days=20)) == (
        "the newest backup that was proved is of 2026-03-13, drilled on 2026-03-13"
    )
    write_record(tmp_path, days_ago=2, verdict="COULD NOT RUN")
    assert records.explain_missing_proof(tmp_path, NOW) is None
    write_record(tmp_path, days_ago=1, verdict="DIFFERENT")
    contradicted = "the drill of 2026-05-31 says DIFFERENT, and none since has proved it"
    assert records.explain_missing_proof(tmp_path, NOW) == contradicted
    # One that could not run, or compared nothing, takes nothing back.
    for hours, verdict in enumerate(("COULD NOT RUN", "INCONCLUSIVE", "PROCEDURE ONLY")):
        write_record(tmp_path, days_ago=0, verdict=verdict, run=f"20260601t0{hours}0000_abcd")
    assert records.explain_missing_proof(tmp_path, NOW) == contradicted
    write_record(tmp_path, days_ago=0, verdict="PROVED", run="20260601t230000_abcd")
    assert records.explain_missing_proof(tmp_path, NOW) is None


def test_operators_are_told_when_a_drill_found_the_database_in_use_damaged(tmp_path: Path) -> None:
    write_record(tmp_path, days_ago=3, verdict="PROVED")
    write_record(tmp_path, days_ago=1, verdict="DIFFERENT")
    path = max((tmp_path / "drills").iterdir())
    path.write_text(json.dumps(json.loads(path.read_text()) | {"source_is_damaged": True}))

    assert records.explain_missing_proof(tmp_path, NOW) == (
        "the drill of 2026-05-31 found the database in use damaged: part of it cannot be read, "
        "and no drill since has proved it"
    )


def test_a_drill_of_data_that_are_dated_later_than_itself_is_no_proof(tmp_path: Path) -> None:
    write_record(tmp_path, days_ago=1, verdict="PROVED", older_by=-26_500)

    assert records.explain_missing_proof(tmp_path, NOW) == "no drill has proved it yet"
    assert records.compute_due_at(tmp_path) is None


def test_a_proof_is_worth_the_age_of_its_backup_and_not_that_of_its_drill(tmp_path: Path) -> None:
    write_record(tmp_path, days_ago=1, verdict="PROVED", older_by=200)

    assert records.is_overdue(tmp_path, NOW)
    assert records.explain_missing_proof(tmp_path, NOW) == (
        "the newest backup that was proved is of 2025-11-12, drilled on 2026-05-31"
    )
    status = records.make_status(tmp_path)
    assert status["proved_at"] == "2026-05-31T00:00:00+00:00"
    assert status["proved_as_of"] == "2025-11-12T00:00:00+00:00"
    page = render_to_string("ops/_drills.html", records.make_page_context(tmp_path, NOW))
    assert "200 days</td>" in page and "overdue" in page
    # An older drill of newer data is worth more.
    write_record(tmp_path, days_ago=20, verdict="PROVED", older_by=1)
    assert records.compute_due_at(tmp_path) == NOW - timedelta(days=21) + records.QUARTER
    assert records.explain_missing_proof(tmp_path, NOW) is None


def test_a_proof_of_older_data_takes_back_no_difference_in_newer_ones(tmp_path: Path) -> None:
    write_record(tmp_path, days_ago=3, verdict="DIFFERENT", older_by=1)
    write_record(tmp_path, days_ago=2, verdict="PROVED", older_by=30)
    against = "the drill of 2026-05-29 says DIFFERENT, and none since has proved it"
    assert records.explain_missing_proof(tmp_path, NOW) == against
    write_record(tmp_path, days_ago=1, verdict="PROVED", older_by=0)
    assert records.explain_missing_proof(tmp_path, NOW) is None


def test_a_drill_of_a_database_that_is_not_in_use_is_no_proof(tmp_path: Path) -> None:
    write_record(tmp_path, days_ago=1, verdict="PROVED", doubt="no web process sends heartbeats to it now")

    assert records.compute_due_at(tmp_path) is None
    assert records.explain_missing_proof(tmp_path, NOW) == (
        "the drill of 2026-05-31 was not of the database in use, and no other has proved it"
    )
    page = render_to_string("ops/_drills.html", records.make_page_context(tmp_path, NOW))
    assert "PROVED, not in use" in page and "No backup has been proved yet" in page


def test_a_report_of_the_release_before_still_counts(tmp_path: Path) -> None:
    write_record(tmp_path, days_ago=3, verdict="PROVED")
    (path,) = (tmp_path / "drills").iterdir()
    facts = json.loads(path.read_text())
    path.write_text(json.dumps({key: facts[key] for key in facts.keys() - {"as_of", "in_use_doubt"}}))

    assert records.compute_due_at(tmp_path) == NOW - timedelta(days=3) + records.QUARTER


@pytest.mark.parametrize(
    ("hours", "said"),
    [(0.2, "under 1 hour old"), (1, "1 hour old"), (30, "30 hours old"), (24 * 9, "9 days old")],
)
def test_an_age_is_said_no_finer_than_it_matters(hours: float, said: str) -> None:
    assert format_age(timedelta(hours=hours)) == said


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"run": "a", "ended_at": "never"}'])
def test_a_damaged_report_is_shown_as_unreadable_and_proves_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "drills").mkdir()
    (tmp_path / "drills" / "broken.json").write_text(text)
    os.utime(tmp_path / "drills" / "broken.json", (0, 0))

    assert [found.verdict for found in records.read_all(tmp_path)] == ["UNREADABLE"]
    assert records.compute_due_at(tmp_path) is None


def test_the_ops_page_lists_drills_and_says_when_the_next_is_due(tmp_path: Path) -> None:
    empty = render_to_string("ops/_drills.html", records.make_page_context(tmp_path, NOW))
    write_record(tmp_path, days_ago=10, verdict="PROVED")
    fresh = render_to_string("ops/_drills.html", records.make_page_context(tmp_path, NOW))
    late = render_to_string(
        "ops/_drills.html", records.make_page_context(tmp_path, NOW + timedelta(days=100))
    )

    assert "No backup has been proved yet" in empty
    assert "The next drill is due by" in fresh and "about 25 s" in fresh and "12,345" in fresh
    assert "overdue" in late


def test_the_ops_page_is_not_calm_about_a_proof_that_was_contradicted(tmp_path: Path) -> None:
    write_record(tmp_path, days_ago=10, verdict="PROVED")
    write_record(tmp_path, days_ago=2, verdict="DIFFERENT")
    write_record(tmp_path, days_ago=1, verdict="COULD NOT RUN", restore_s=0)

    page = render_to_string("ops/_drills.html", records.make_page_context(tmp_path, NOW))

    assert "<strong>The drill of 2026-05-30 says DIFFERENT, and none since has proved it.</strong>" in page
    assert "0.0 s" not in page


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.21, "0.2 s"), (48.5, "48 s"), (119.0, "119 s"), (600, "10 min"), (9000, "2.5 h")]
)
def test_a_time_is_said_no_finer_than_it_is_known(seconds: float, said: str) -> None:
    assert format_duration(seconds) == said


def test_a_full_disk_and_a_fault_of_our_own_are_said_without_their_texts() -> None:
    assert "disk is full" in map_system_error(OSError(28, "No space left on device")).what
    assert (
        "disk is full"
        in map_system_error(shutil.Error([("a", "b", "[Errno 28] No space left on device")])).what
    )
    refused = map_system_error(PermissionError(13, "Permission denied", "/srv/backups"))
    assert refused.what == "The operating system refused an operation: Permission denied (/srv/backups)."
    try:
        raise KeyError("Rosa")
    except KeyError as error:
        found = map_own_fault(error)

    assert "KeyError in test_words.py" in found.what
    assert "Rosa" not in str(found)


def test_what_the_system_refused_without_a_word_is_not_none() -> None:
    for error in (OSError(), shutil.Error([("a", "b", "c")]), OSError("no number")):
        assert "None" not in str(map_system_error(error))
        assert describe_os_error(error) not in {"", "None"}


def test_rows_that_are_hidden_by_row_security_are_not_mended_by_a_right_to_read() -> None:
    hidden = psycopg.errors.InsufficientPrivilege(
        'query would be affected by row-level security policy for table "x"'
    )

    assert (
        "BYPASSRLS" in map_database_error(hidden).mend
        and "pg_read_all_data" not in map_database_error(hidden).mend
    )


def test_a_folder_that_was_there_before_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)

    make_work_folder(tmp_path)
    make_work_folder(tmp_path / "a" / "b")

    assert tmp_path.stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "a" / "b").stat().st_mode & 0o077 in {0, 0o011}
