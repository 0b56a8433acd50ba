"""A whole drill of a database in use: what it says, what it leaves alone, what it refuses to call proved."""

import json
from pathlib import Path

import psycopg
import pytest

from ops.backups.connecting.session import open_source
from ops.backups.reporting import report as reports
from ops.backups.reporting.verdict import DrillVerdict
from tests.database.backups.conftest import RunDrill
from tests.database.backups.drill_server import SETTING, Server
from tests.database.backups.writer import write_meanwhile


@pytest.mark.parametrize("where", ["same server", "private server"])
def test_a_database_in_use_is_proved_and_nothing_is_left(
    server: Server, drill: RunDrill, state: Path, where: str
) -> None:
    before = server.databases()
    server.create("busy", like="sample")
    try:
        with write_meanwhile(server.url_of("busy")) as writer:
            rounds = writer.rounds
            report = drill(source=server.address("busy"), where=where)
            assert writer.rounds > rounds
    finally:
        server.drop("busy")

    assert (report.verdict, report.differences) == (DrillVerdict.PROVED, ()), report.to_text()
    assert report.rows > 600
    assert server.databases() == before
    assert list((state / "drill-work").iterdir()) == []


@pytest.mark.long
@pytest.mark.parametrize("time", range(10))
def test_ten_drills_of_a_database_in_use_raise_no_false_alarm(
    server: Server, drill: RunDrill, time: int
) -> None:
    server.create("busy", like="sample")
    try:
        with write_meanwhile(server.url_of("busy")):
            report = drill(
                source=server.address("busy"), where="private server" if time % 2 else "same server"
            )
    finally:
        server.drop("busy")

    assert (report.verdict, report.differences) == (DrillVerdict.PROVED, ()), report.to_text()


def test_a_copy_that_is_not_alike_is_different_and_the_report_names_it(
    server: Server, drill: RunDrill
) -> None:
    def spoil(phase: str) -> None:
        if phase == "analyze":
            (copy,) = [name for name in server.databases() if name.startswith("restore_drill_")]
            server.load(copy, "DELETE FROM heap WHERE a = 2; DROP INDEX person_by_name")

    report = drill(announce=spoil)

    assert (report.verdict, report.verdict.exit_code) == (DrillVerdict.DIFFERENT, 1)
    assert report.differences == (
        "table public.heap: at least 1 key with other content; 4 rows became 3",
        "index public.person_by_name: missing in the copy",
    )
    assert [name for name, table in report.tables.items() if not table["equal"]] == ["public.heap"]


def test_a_source_session_cannot_write(server: Server) -> None:
    with (
        open_source(server.address("sample"), setting=SETTING) as session,
        pytest.raises(psycopg.errors.ReadOnlySqlTransaction),
    ):
        session.execute("DELETE FROM public.heap")


def test_a_role_that_cannot_write_is_enough(server: Server, drill: RunDrill) -> None:
    server.load("postgres", "DROP ROLE IF EXISTS onlooker; CREATE ROLE onlooker LOGIN BYPASSRLS")
    server.load("postgres", "GRANT pg_read_all_data TO onlooker")
    with server.connected("sample", user="onlooker") as connection:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("INSERT INTO public.heap VALUES (1)")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("CREATE TABLE public.mine ()")
    server.load("sample", "GRANT SELECT ON LARGE OBJECT " + str(large_object(server)) + " TO onlooker")

    report = drill(source=server.address("sample", user="onlooker"), where="private server")

    assert report.verdict == DrillVerdict.PROVED, report.to_text()


def large_object(server: Server) -> int:
    """The sample's one."""
    oid = server.one("sample", "SELECT oid FROM pg_largeobject_metadata")
    assert isinstance(oid, int)
    return oid


def test_a_migrated_database_without_people_is_procedure_only(server: Server, drill: RunDrill) -> None:
    server.create("fresh")
    server.load(
        "fresh",
        "CREATE TABLE django_migrations (id serial PRIMARY KEY, app text, name text);"
        "INSERT INTO django_migrations (app, name) VALUES ('a', '0001'); CREATE TABLE person (id int)",
    )
    try:
        report = drill(source=server.address("fresh"))
    finally:
        server.drop("fresh")

    assert report.verdict == DrillVerdict.PROCEDURE_ONLY
    assert report.verdict.exit_code == 0
    assert any("without a row: public.person" in line for line in report.not_proved)


def test_a_database_with_people_and_no_conversation_is_procedure_only(
    server: Server, drill: RunDrill
) -> None:
    server.create("shown", like="sample")
    server.load("shown", "CREATE TABLE companion_turn (id int PRIMARY KEY)")
    try:
        before = drill(source=server.address("shown"))
        server.load("shown", "INSERT INTO companion_turn VALUES (1)")
        after = drill(source=server.address("shown"))
    finally:
        server.drop("shown")

    assert (before.verdict, after.verdict) == (DrillVerdict.PROCEDURE_ONLY, DrillVerdict.PROVED)
    assert "no conversation yet" in before.to_text()


def test_no_report_holds_a_value(server: Server, drill: RunDrill, state: Path) -> None:
    report = drill(where="same server")

    page = reports.write(report, state / "drills")
    for text in (report.to_text(), report.to_json(), page.read_text()):
        assert "Person 5" not in text
        assert "example.org" not in text
    assert page.stat().st_mode & 0o777 == 0o600
    assert "<script" not in page.read_text() and "http" not in page.read_text()
    assert json.loads(page.with_suffix(".json").read_text())["verdict"] == "PROVED"


def test_the_dump_is_kept_on_request_with_a_manifest_that_a_drill_can_use(
    server: Server, drill: RunDrill, state: Path
) -> None:
    report = drill(keep_dump=True)
    again = drill(source=None, archive=Path(report.kept_dump), where="private server")

    assert Path(report.kept_dump).is_relative_to(state)
    assert (again.level, again.verdict) == ("B", DrillVerdict.PROVED), again.to_text()


def test_owners_and_grants_may_be_left_out_and_are_then_not_proved(server: Server, drill: RunDrill) -> None:
    report = drill(no_owner=True)

    assert report.verdict == DrillVerdict.PROVED, report.to_text()
    assert any("owners and grants" in line for line in report.not_proved)


def test_a_table_that_a_migration_changes_meanwhile_makes_it_inconclusive(
    server: Server, drill: RunDrill
) -> None:
    server.create("moving", like="sample")

    def migrate(phase: str) -> None:
        # Not what the snapshot shows, and printed by the server as it is now: what the copy has differs.
        if phase == "create":
            server.load("moving", "DROP INDEX person_by_name")

    def lock(phase: str) -> None:
        if phase == "snapshot":
            holder.execute("BEGIN; LOCK TABLE person")

    try:
        assert drill(source=server.address("moving"), announce=migrate).verdict == DrillVerdict.PROVED
        with psycopg.connect(server.url_of("moving"), autocommit=True) as holder:
            report = drill(source=server.address("moving"), announce=lock)
    finally:
        server.drop("moving")

    assert report.verdict == DrillVerdict.INCONCLUSIVE
    assert "migration" in report.stopped
