"""The rights of a running `scripts/up`: the accounts of its processes and the roles of its database sessions.

Started by root, nothing of it runs as root, and root's commands leave files its account can use.
"""

import json
import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest
from psycopg import errors

from ops.stack.account import PASSING_CAPABILITIES, find_service_account
from ops.stack.process import Running
from ops.stack.roles import OWNER, SERVICE
from ops.stack.roster import Roster, RosterEntry
from tests.acceptance.running_up import LIMIT_S, ROOT, Up, clean_environment, up
from tests.prefork import prefork
from tests.staff import sign_in

pytestmark = pytest.mark.timeout(900)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has another account to leave its place to")
SERVING = ("ops.stack.up", "ops.stack.guard", "manage.py serve", "celery", "routing.rehearsal")
SERVERS = ("postgres", "valkey-server")
REASON = ("--by", "Ines", "--reason", "To see it move")
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
def account() -> pwd.struct_passwd:
    """The one that it runs as: an ordinary user's own."""
    return find_service_account() if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """One `up` that goes on serving. The last test of this file ends it."""
    with up(tmp_path_factory.mktemp("rights") / "state") as run:
        yield run.wait_until_ready()


@pytest.fixture(scope="module")
def backup(serving: Up) -> Path:
    """A backup of it."""
    made = manage(serving, "backup", "--quiet")
    assert made.returncode == 0, made.stderr
    return Path(made.stdout.splitlines()[-1])


@pytest.fixture
def service(serving: Up) -> Iterator[psycopg.Connection]:
    url = serving.find_process("manage.py serve").environ()["DATABASE_URL"]
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


def manage(run: Up, *arguments: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    """Run a command as a person does, in a Python of its own."""
    own = clean_environment({"COMPANION_STATE_DIR": str(run.state), **settings})
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, timeout=LIMIT_S)


def manage_soon(run: Up, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a command in a process that has its libraries."""
    own = clean_environment({"COMPANION_STATE_DIR": str(run.state)})
    return prefork.run(["manage.py", *arguments], env=own, timeout_s=LIMIT_S)


def rows(run: Up, question: str) -> list[tuple[str, ...]]:
    url = run.find_process("manage.py serve").environ()["DATABASE_URL"]
    with psycopg.connect(url) as connection:
        return connection.execute(question.encode()).fetchall()


def list_owners(tree: Path) -> set[int]:
    return {path.lstat().st_uid for path in (tree, *tree.rglob("*"))}


def read_rights(process: psutil.Process) -> tuple[set[int], int]:
    """All four user ids of a process, and the bits of every capability it has or could take."""
    fields = dict(
        line.split(":", 1)
        for line in Path(f"/proc/{process.pid}/status").read_text().splitlines()
        if ":" in line
    )
    bits = 0
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        bits |= int(fields[name], 16)
    return {int(number) for number in fields["Uid"].split()}, bits


def assert_nothing_is_root(run: Up, account: pwd.struct_passwd) -> None:
    passing = [1 << number for number in PASSING_CAPABILITIES.values()]
    for words in SERVING:
        assert run.find_process(words).is_running()
    names = run.ask_each(lambda process: process.name())
    assert all(any(server in name for name in names) for server in SERVERS)
    for uids, capabilities in run.ask_each(read_rights):
        assert uids == {account.pw_uid}
        assert capabilities in {0, *passing}


def test_no_process_of_it_has_the_rights_of_root(serving: Up, account: pwd.struct_passwd) -> None:
    assert_nothing_is_root(serving, account)
    assert (f"runs as the account {account.pw_name}" in serving.text) is (os.geteuid() == 0)
    assert list_owners(serving.state) == {account.pw_uid}


@as_root
def test_commands_of_root_work_on_it_and_every_file_keeps_its_owner(
    serving: Up, account: pwd.struct_passwd, backup: Path
) -> None:
    drill = manage_soon(serving, "restore_drill", "--backup", str(backup))
    assert drill.returncode == 0, drill.stdout + drill.stderr
    assert "PROCEDURE ONLY" in drill.stdout, "the demo people prove the procedure alone"
    for command in (
        ("route", "select", "pin_second", *REASON, "--yes"),
        ("route", "revert", *REASON),
        ("card", "Rosa"),
        ("transcript", "Rosa"),
    ):
        done = manage_soon(serving, *command)
        assert done.returncode == 0, (command, done.stderr)

    assert list_owners(serving.state) == {account.pw_uid}
    password = json.loads((serving.state / "staff.json").read_text())["ines"]["password"]
    with httpx.Client(base_url=serving.address, trust_env=False, timeout=LIMIT_S) as staff_client:
        staff_client.get("/staff/sign-in/")
        sign_in(staff_client, "ines", password)
        page = staff_client.get("/ops/").text
    assert "<td>PROCEDURE ONLY</td>" in page


@as_root
def test_the_audit_record_names_root_who_typed_it_and_believes_no_environment(serving: Up) -> None:
    read = manage(serving, "transcript", "Rosa", USER="ines", LOGNAME="ines", SUDO_USER="ines")
    assert read.returncode == 0, read.stderr

    url = serving.find_process("manage.py serve").environ()["DATABASE_URL"]
    with psycopg.connect(url) as connection:
        told = connection.execute("SELECT who FROM ops_auditentry ORDER BY id DESC LIMIT 1").fetchone()
    assert told == ("root",)


@as_root
def test_a_backup_into_a_folder_that_the_account_cannot_write_in_is_refused_with_a_sentence(
    serving: Up, tmp_path: Path
) -> None:
    if read_rights(serving.find_process("manage.py serve"))[1] == 1 << PASSING_CAPABILITIES["dac_override"]:
        pytest.skip("the only capability that passes through folders here lets the account write in them too")
    done = manage(serving, "backup", "--quiet", "--to", str(tmp_path / "kept"))

    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert str(tmp_path) in done.stderr
    assert not (tmp_path / "kept").exists()


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


def test_a_backup_and_a_drill_of_it_work_under_these_roles(serving: Up, backup: Path) -> None:
    drilled = manage_soon(serving, "restore_drill", "--backup", str(backup))
    assert drilled.returncode == 0, drilled.stdout + drilled.stderr
    assert "PROVED" in drilled.stdout
    fresh = manage_soon(serving, "restore_drill", "--keep-dump")
    assert fresh.returncode == 0, fresh.stdout + fresh.stderr

    told = rows(serving, "SELECT what, note FROM ops_auditentry")
    [(_, backup_note)] = [entry for entry in told if entry[0] == "made_backup"]
    [(_, dump_note)] = [entry for entry in told if entry[0] == "kept_dump"]
    assert backup_note.startswith(f"{backup.name}, ") and "command, account" in backup_note
    assert dump_note.startswith("dump ")


def test_commands_that_define_tables_run_as_the_owner_and_others_as_the_service(serving: Up) -> None:
    assert manage_soon(serving, "migrate", "auth", "0011").returncode == 0
    assert manage_soon(serving, "migrate").returncode == 0
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
        done = manage_soon(serving, *command)
        assert done.returncode == 0, (command, done.stderr)


@as_root
def test_a_folder_of_root_that_holds_something_else_is_not_given_away(tmp_path: Path) -> None:
    (tmp_path / "accounts").write_text("mine")

    with up(tmp_path) as run:
        assert run.wait_for_exit() == 1

    assert "holds accounts" in run.text and "Traceback" not in run.text
    assert list_owners(tmp_path) == {0}


def test_a_lock_that_is_a_planted_link_is_refused_and_its_target_unchanged(
    tmp_path: Path, account: pwd.struct_passwd
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of one account alone")
    state = tmp_path / "state"
    (state / "run").mkdir(parents=True)
    os.chown(state / "run", account.pw_uid, account.pw_gid)
    (state / "run" / "lock").symlink_to(secret)

    with up(state) as run:
        assert run.wait_for_exit() == 1

    assert "Traceback" not in run.text
    assert secret.read_text() == "of one account alone"
    assert secret.stat().st_uid == os.geteuid()


@pytest.mark.long
@as_root
def test_a_state_folder_that_root_made_with_an_earlier_release_is_taken_over(
    serving: Up, account: pwd.struct_passwd
) -> None:
    """The last of this file: it ends the `up` that the others look at."""
    state = serving.state
    assert manage_soon(serving, "route", "select", "pin_second", *REASON, "--yes").returncode == 0
    assert serving.stop() == 0
    key = (state / "secret_key").read_text()
    _give_to_root(state)
    leftover = subprocess.Popen(["sleep", "600"])
    running = Running.of(leftover.pid)
    assert running is not None
    Roster(path=state / "run" / "children.json").add(
        RosterEntry(name="web", pid=running.pid, created=running.created, stage=1, signal=15, grace_s=5)
    )

    with up(state) as run:
        run.wait_until_ready()
        assert_nothing_is_root(run, account)
        assert list_owners(state) == {account.pw_uid}
        assert manage_soon(run, "route", "revert", *REASON).returncode == 0
        assert run.stop() == 0
    assert leftover.wait(LIMIT_S) == -15
    assert (state / "secret_key").read_text() == key


def _give_to_root(state: Path) -> None:
    # As it was before: all of it was root's except what the two servers had.
    for path in (state, *state.rglob("*")):
        if not {"postgres", "valkey"} & set(path.relative_to(state).parts):
            os.chown(path, 0, 0, follow_symlinks=False)
