"""The roles of a running `scripts/up`: the service can use rows and define nothing; commands of the owner go on."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import errors

from ops.stack.roles import OWNER, SERVICE
from tests.acceptance.running_up import LIMIT_S, Up, clean_environment, up
from tests.prefork import prefork

pytestmark = pytest.mark.timeout(600)

FORBIDDEN = (
    "ALTER TABLE ops_auditentry ADD COLUMN planted text",
    "ALTER TABLE ops_auditentry DISABLE TRIGGER ALL",
    "SET session_replication_role = replica",
    "DROP TABLE companion_turn",
    "TRUNCATE companion_turn",
    "CREATE TABLE planted (word text)",
    "CREATE ROLE planted SUPERUSER",
    f"SET ROLE {OWNER}",
    "COPY companion_turn TO PROGRAM 'cat'",
)


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with up(tmp_path_factory.mktemp("roles")) as run:
        yield run.wait_until_ready()


@pytest.fixture
def service(serving: Up) -> Iterator[psycopg.Connection]:
    url = serving.find_process("manage.py serve").environ()["DATABASE_URL"]
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


def manage(run: Up, *arguments: str) -> subprocess.CompletedProcess[str]:
    own = clean_environment({"COMPANION_STATE_DIR": str(run.state)})
    return prefork.run(["manage.py", *arguments], env=own, timeout_s=LIMIT_S)


def rows(run: Up, question: str) -> list[tuple[str, ...]]:
    url = run.find_process("manage.py serve").environ()["DATABASE_URL"]
    with psycopg.connect(url) as connection:
        return connection.execute(question.encode()).fetchall()


def test_every_session_of_the_service_is_of_a_role_without_rights_over_the_server(
    serving: Up, service: psycopg.Connection
) -> None:
    rights = service.execute(
        "SELECT rolname, rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls "
        "FROM pg_roles WHERE rolname = current_user"
    ).fetchone()
    sessions = service.execute(
        "SELECT DISTINCT usename FROM pg_stat_activity WHERE backend_type = 'client backend'"
    ).fetchall()

    assert rights == (SERVICE, False, False, False, False, False)
    assert sessions == [(SERVICE,)]


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_the_role_of_the_service_cannot(service: psycopg.Connection, statement: str) -> None:
    with pytest.raises(errors.InsufficientPrivilege):
        service.execute(statement.encode())


@pytest.mark.parametrize(
    "statement", ["UPDATE ops_auditentry SET who = 'nobody'", "DELETE FROM ops_auditentry"]
)
def test_the_audit_record_is_append_only_for_the_role_of_the_service(
    service: psycopg.Connection, statement: str
) -> None:
    with pytest.raises(errors.RaiseException, match="append-only"):
        service.execute(statement.encode())


def test_programs_that_serve_are_not_given_the_address_of_the_owner(serving: Up) -> None:
    addresses = json.loads((serving.state / "run" / "environment.json").read_text())
    assert OWNER in addresses["OWNER_DATABASE_URL"] and OWNER in addresses["DIRECT_DATABASE_URL"]

    for words in ("manage.py serve", "celery", "routing.rehearsal"):
        given = serving.find_process(words).environ()
        assert not {"OWNER_DATABASE_URL", "DIRECT_DATABASE_URL"} & given.keys()


def test_a_backup_and_a_drill_of_it_work_under_these_roles(serving: Up) -> None:
    made = manage(serving, "backup", "--quiet")
    assert made.returncode == 0, made.stderr
    backup = Path(made.stdout.splitlines()[-1])

    drilled = manage(serving, "restore_drill", "--backup", str(backup))
    assert drilled.returncode == 0, drilled.stdout + drilled.stderr
    assert "PROVED" in drilled.stdout
    fresh = manage(serving, "restore_drill", "--keep-dump")
    assert fresh.returncode == 0, fresh.stdout + fresh.stderr

    told = rows(serving, "SELECT what, note FROM ops_auditentry ORDER BY id")
    [(_, backup_note)] = [entry for entry in told if entry[0] == "made_backup"]
    [(_, dump_note)] = [entry for entry in told if entry[0] == "kept_dump"]
    assert backup_note.startswith(f"{backup.name}, ") and "command, account" in backup_note
    assert dump_note.startswith("dump ")


def test_commands_that_define_tables_run_as_the_owner_and_others_as_the_service(serving: Up) -> None:
    assert manage(serving, "migrate", "auth", "0011").returncode == 0
    assert manage(serving, "migrate").returncode == 0
    with psycopg.connect(
        json.loads((serving.state / "run" / "environment.json").read_text())["OWNER_DATABASE_URL"]
    ) as owner:
        strays = owner.execute(
            "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace "
            "AND pg_get_userbyid(relowner) <> %s",
            [OWNER],
        ).fetchone()
    assert strays == (0,)

    for command in (
        ("card", "Rosa"),
        ("ceiling", "12", "--by", "Ines", "--reason", "A quiet night"),
        ("route", "show"),
        ("staff", "list"),
        ("rehearse_outage",),
    ):
        done = manage(serving, *command)
        assert done.returncode == 0, (command, done.stderr)
