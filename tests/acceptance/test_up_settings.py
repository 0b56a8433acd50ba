"""`scripts/up` with settings of a real installation: a public name, a key of its own, a database of its own server."""

import subprocess
import sys
import uuid
from pathlib import Path

import psycopg
import pytest

from ops.stack.postgres import EmbeddedPostgres
from tests.acceptance.running_up import LIMIT_S, ROOT, Up, clean_environment, find_free_ports, status, up
from tests.patience import wait_until

# Each starts the whole service, some of them twice.
pytestmark = [pytest.mark.timeout(600), pytest.mark.long]

PUBLIC = {
    "ALLOWED_HOSTS": "talk.example.org",
    "TRUSTED_ORIGINS": "https://talk.example.org",
    "SECRET_KEY": "a key that stands in no file at all, and is long enough to be one",
}


def manage(run: Up, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    own = clean_environment({"COMPANION_STATE_DIR": str(run.state), **settings})
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, timeout=LIMIT_S)


def test_with_a_public_name_alone_it_answers_this_machine_and_its_commands(tmp_path: Path) -> None:
    with up(tmp_path, environment=PUBLIC) as run:
        assert "https://talk.example.org/staff/sign-in/" in run.wait_until_ready().text
        assert status(run, "/readyz")[0] == 200

        keyless = manage(run, "card", "Rosa")
        assert keyless.returncode == 78
        assert "SECRET_KEY came from its environment" in " ".join(keyless.stderr.split())
        key = {"SECRET_KEY": PUBLIC["SECRET_KEY"]}
        card = manage(run, "card", "Rosa", **key).stdout.splitlines()[-1]
        assert card.startswith("https://talk.example.org/card/") and card in run.text
        played = manage(run, "rehearse_outage", **key)
        assert played.returncode == 0, played.stderr
        reason = ("--by", "Ines", "--reason", "To know", "--yes")
        measured = manage(run, "route", "measure", "pin_second", *reason, **key)
        assert "Traceback" not in measured.stderr and "There: first request" in measured.stdout


def test_a_named_database_gets_no_demo_people_unless_they_are_asked_for(
    tmp_path: Path, database: EmbeddedPostgres
) -> None:
    name = f"elsewhere_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    settings = {"DATABASE_URL": database.url.replace("/companion?", f"/{name}?")}
    rehearsed = settings | {"COMPANION_REHEARSED": "yes"}
    assert name in settings["DATABASE_URL"]

    with up(tmp_path, environment=settings) as run:
        run.wait_until_ready()
        assert "There is no site yet." in run.text
        assert "/card/" not in run.text and "Ines" not in run.text
        assert not (tmp_path / "staff.json").exists()
        assert "Its replies are SCRIPTED" in run.text
        assert "--directives" not in run.find_process("routing.rehearsal").cmdline()
        run.stop()

    with up(tmp_path, "--demo", environment=rehearsed) as run:
        run.wait_until_ready()
        assert "/card/" in run.text and "Ines, operator" in run.text
        assert "--directives" in run.find_process("routing.rehearsal").cmdline()
        run.stop()


def test_a_routing_file_is_said_to_be_mended_once_it_is_and_broken_later_stops_a_process_that_died_alone(
    tmp_path: Path,
) -> None:
    example = (ROOT / "ops" / "deploy" / "routing.example.toml").read_text()
    broken = example.replace("[lanes.", "[lane.", 1)
    routing = tmp_path / "routing.toml"
    routing.write_text(broken)
    settings = {"COMPANION_ROUTING": str(routing)}
    with up(tmp_path / "state", "--processes", "2", port=find_free_ports(2), environment=settings) as run:
        run.until("says that the chat is not working")

        routing.write_text(broken + "\n# touched\n")
        assert str(routing) in run.until("Not yet.")

        routing.write_text(example)
        run.until("It has been mended. Starting.")
        run.wait_until_ready()
        assert run.text.count("It has been mended.") == 1

        routing.write_text(broken)
        run.find_process(f"serve --port {run.port + 1}").kill()

        assert str(routing) in run.until(f"web-{run.port + 1} cannot start again")
        wait_until(lambda: status(run, "/healthz", port=run.port + 1)[0] == 503, within_s=LIMIT_S)
        assert status(run, "/healthz")[0] == 200

        routing.write_text(example)
        wait_until(lambda: status(run, "/healthz", port=run.port + 1)[0] == 200, within_s=LIMIT_S)
        run.stop()
