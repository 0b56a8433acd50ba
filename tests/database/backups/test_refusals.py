"""What a drill refuses before it creates anything, each with the statement or the setting that mends it."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from ops.backups.connecting.session import open_scratch
from ops.backups.reporting.report import Report
from ops.backups.reporting.verdict import DrillVerdict
from ops.backups.restoring.order import RunEnvironment
from ops.backups.restoring.scratch import create
from ops.backups.run.errors import CouldNotRun
from ops.backups.run.run_folder import Marker
from ops.stack.postgres import EmbeddedPostgres
from tests.database.backups.conftest import RunDrill, parse_address
from tests.database.backups.drill_server import SETTING, Server


@pytest.fixture(autouse=True)
def nothing_is_created(server: Server, state: Path) -> Iterator[None]:
    """No database and no folder remains, whatever is refused."""
    before = server.databases()
    yield
    assert server.databases() == before
    assert not any((state / "drill-work").glob("*"))


def get_refusal(report: Report) -> str:
    """Why it could not run."""
    assert report.verdict == DrillVerdict.COULD_NOT_RUN, report.to_text()
    assert report.verdict.exit_code == 2
    assert report.not_proved
    return report.stopped


def test_a_database_that_does_not_exist(server: Server, drill: RunDrill) -> None:
    assert "There is no database nowhere" in get_refusal(drill(source=server.address("nowhere")))


def test_a_database_that_is_not_the_services(server: Server, drill: RunDrill) -> None:
    assert "no migration ledger" in get_refusal(drill(source=server.address("postgres")))


def test_a_direct_address_that_leads_elsewhere_than_the_services(
    server: Server, drill: RunDrill, tmp_path: Path
) -> None:
    server.create("stale", like="sample")
    try:
        said = get_refusal(drill(in_use=server.address("stale")))
        # Whether it is in use has to show in the database itself then, and here nothing shows it.
        unreachable = parse_address(f"postgresql://companion@:5432/sample?host={tmp_path}")
        unsettled = drill(in_use=unreachable)
    finally:
        server.drop("stale")

    assert "leads to another database than DATABASE_URL" in said
    assert unsettled.verdict == DrillVerdict.PROVED
    assert "that this is the database in use" in unsettled.not_proved[0]


def test_a_promoted_copy_of_the_database_in_use_is_not_that_database(
    server: Server, drill: RunDrill, replica: EmbeddedPostgres
) -> None:
    copy = Server(replica.url)
    # The control file names the new timeline only after a checkpoint, and on a busy machine that comes late.
    checkpointer = int(
        copy.one("postgres", "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'")
    )
    os.kill(checkpointer, signal.SIGSTOP)
    try:
        copy.load("postgres", "SELECT pg_promote()")
        promoted = get_refusal(drill(source=copy.address("sample"), in_use=server.address("sample")))
        # A copy whose clock of promotions is the same is another server all the same.
        stale = get_refusal(drill(source=server.address("sample"), in_use=copy.address("sample")))
    finally:
        os.kill(checkpointer, signal.SIGCONT)

    assert "a copy of the database in use: it is on timeline 2, and DATABASE_URL" in promoted
    assert "leads to timeline 1" in promoted
    assert "a copy of the database in use" in stale


def test_a_server_that_is_not_there(drill: RunDrill, tmp_path: Path) -> None:
    address = parse_address(f"postgresql://companion@:5432/sample?host={tmp_path}")

    assert "cannot be reached" in get_refusal(drill(source=address))


def test_a_role_that_may_not_create_databases(server: Server, drill: RunDrill) -> None:
    server.load("postgres", "DROP ROLE IF EXISTS modest; CREATE ROLE modest LOGIN BYPASSRLS")
    server.load("postgres", "GRANT pg_read_all_data TO modest")

    said = get_refusal(drill(source=server.address("sample", user="modest")))

    assert "ALTER ROLE modest CREATEDB;" in said


def test_a_role_that_may_not_read_everything(server: Server, drill: RunDrill) -> None:
    server.load("postgres", "DROP ROLE IF EXISTS blind; CREATE ROLE blind LOGIN")

    said = get_refusal(drill(source=server.address("sample", user="blind"), where="private server"))

    assert "GRANT pg_read_all_data TO blind; ALTER ROLE blind BYPASSRLS;" in said


def test_a_role_from_which_row_security_hides_rows_is_given_the_right_it_lacks(
    server: Server, drill: RunDrill
) -> None:
    server.load("postgres", "DROP ROLE IF EXISTS shaded; CREATE ROLE shaded LOGIN")
    server.load("postgres", "GRANT pg_read_all_data TO shaded")

    said = get_refusal(drill(source=server.address("sample", user="shaded"), where="private server"))

    assert "ALTER ROLE shaded BYPASSRLS;" in said
    assert "GRANT" not in said


def test_a_role_that_may_not_act_for_the_owners(server: Server, drill: RunDrill) -> None:
    server.load("postgres", "DROP ROLE IF EXISTS maker; CREATE ROLE maker LOGIN CREATEDB BYPASSRLS")
    server.load("postgres", "GRANT pg_read_all_data TO maker")

    said = get_refusal(drill(source=server.address("sample", user="maker")))

    assert 'GRANT "sample_owner" TO maker;' in said
    assert "--no-owner" in said


def test_a_disk_that_is_too_small(drill: RunDrill) -> None:
    said = get_refusal(
        drill(environment=RunEnvironment(free=lambda _folder: 5_000_000), where="private server")
    )

    assert "5 MB left" in said
    assert "--work" in said


def test_a_live_servers_disk_that_is_too_small_for_a_copy_beside_it(server: Server, drill: RunDrill) -> None:
    data = server.one("postgres", "SHOW data_directory")

    said = get_refusal(
        drill(environment=RunEnvironment(free=lambda folder: 5_000_000 if folder == Path(data) else 1 << 40))
    )

    assert "5 MB left" in said
    assert "--target" in said


def test_tools_that_are_missing(drill: RunDrill, tmp_path: Path) -> None:
    said = get_refusal(drill(bin=tmp_path, where="private server"))

    assert "apt-get install postgresql-18" in said


def test_a_target_that_is_the_wrong_database(server: Server, drill: RunDrill) -> None:
    said = get_refusal(drill(where="target", target=server.address("nowhere")))

    assert "There is no database nowhere" in said


def test_a_target_without_the_roles(server: Server, drill: RunDrill, other_server: Server) -> None:
    said = get_refusal(drill(where="target", target=other_server.address("postgres")))

    assert 'CREATE ROLE "sample_owner" NOLOGIN;' in said
    assert other_server.databases() == {"postgres", "template0", "template1", "companion"}


def test_a_scratch_server_that_does_not_know_the_sources_kind_of_locale(server: Server) -> None:
    like = {"encoding": "UTF8", "provider": "i", "collate": "C", "ctype": "C", "locale": "tr"}
    marker = Marker(run="a", source="s", scratch="restore_drill_turkish")

    with (
        open_scratch(server.address("postgres"), setting=SETTING) as session,
        pytest.raises(CouldNotRun, match=r"locale provider \(icu\).*--bin"),
    ):
        create(session, marker, like=like, owner=None)


def test_a_plain_sql_file(drill: RunDrill, tmp_path: Path) -> None:
    plain = tmp_path / "plain.sql"
    plain.write_text("DROP DATABASE sample;")

    assert "neither a custom nor a directory archive" in get_refusal(drill(source=None, archive=plain))


def test_a_replica(drill: RunDrill, replica: EmbeddedPostgres) -> None:
    source = Server(replica.url).address("sample")

    said = get_refusal(drill(source=source, where="private server"))

    assert "replica" in said
    assert "Name the primary" in said
