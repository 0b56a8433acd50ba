"""A setting that makes no sense ends any command with one sentence and code 78, and never says a secret."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ops.project.addresses import SettingInvalid
from ops.project.env import Environment
from tests.prefork import prefork

ROOT = Path(__file__).resolve().parents[2]
SECRET = "a-secret"
SOUND = {"SECRET_KEY": "a key", "DATABASE_URL": "postgresql://u@/x"}
BROKEN = [
    ("DATABASE_URL", "foo"),
    ("DATABASE_URL", f"postgresql://u:{SECRET}@h:port/x"),
    ("DATABASE_URL", f"mysql://u:{SECRET}@h/x"),
    ("DATABASE_URL", f"postgresql://u:{SECRET}@one,two/x"),
    ("DATABASE_URL", f"postgresql://u:{SECRET}@one,two/x?target_session_attrs=any"),
    ("DATABASE_URL", f"postgresql://u:{SECRET}@one:1,two:2,three/x?port=1,2&target_session_attrs=read-write"),
    ("OWNER_DATABASE_URL", f"postgresql://u:{SECRET}@one,two/x?target_session_attrs=standby"),
    ("DIRECT_DATABASE_URL", f"postgresql://u:{SECRET}@[::1/x"),
    ("VALKEY_URL", f"valkey://u:{SECRET}@h"),
    ("VALKEY_URL", f"redis://u:{SECRET}@h:port"),
    ("REHEARSAL_URL", "127.0.0.1:8099"),
    ("STAFF_OIDC_ISSUER", f"http://id.example.org/{SECRET}"),
    ("ALERT_WEBHOOK_URL", f"http://[::1/{SECRET}"),
    ("EMAIL_URL", f"smtp://u:{SECRET}@[::1"),
    ("TRUSTED_ORIGINS", "talk.example.org"),
    ("TRUSTED_ORIGINS", "https://talk.example.org/chat"),
    ("OPS_TOKEN_FILE", "/nowhere/token"),
    ("DIRECT_DATABASE_URL_FILE", "/nowhere/url"),
    ("EMAIL_URL_FILE", str(ROOT)),
    ("BACKUP_RECIPIENTS", f"AGE-SECRET-KEY-1{SECRET.upper()} {SECRET}"),
    ("BACKUP_RECIPIENTS_FILE", "/dev/null"),
    ("BACKUP_COPY_COMMAND", f"rclone copyto {{file}} elsewhere:{{name}} {SECRET}"),
    ("BACKUP_COPY_COMMAND", f'["rclone", "copyto", "{{file}}", "elsewhere:{SECRET}"]'),
    ("BACKUP_COPY_COMMAND", '["rclone", "copyto", "{file}", "elsewhere:{name}"]'),
    ("COMPANION_CEILING", "many"),
    ("COMPANION_SECURE_COOKIES", "perhaps"),
]


def settings_with(tmp_path: Path, **changed: str) -> subprocess.CompletedProcess[str]:
    own = {"PATH": os.environ["PATH"], "COMPANION_STATE_DIR": str(tmp_path), **SOUND, **changed}
    return prefork.run(["-m", "ops.project.settings"], env=own)


@pytest.mark.parametrize(("name", "value"), BROKEN)
def test_a_setting_that_makes_no_sense_is_one_sentence_and_code_78(
    tmp_path: Path, name: str, value: str
) -> None:
    ended = settings_with(tmp_path, **{name: value})

    assert ended.returncode == 78, ended.stderr
    assert ended.stderr.startswith("settings: ") and name in ended.stderr
    assert "Traceback" not in ended.stderr and SECRET not in ended.stderr


def test_a_file_that_is_not_text_is_said_as_well(tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes(b"\xff\xfe\x00")

    ended = settings_with(tmp_path, OPS_TOKEN_FILE=str(tmp_path / "token"))

    assert ended.returncode == 78
    assert "not text" in ended.stderr and "Traceback" not in ended.stderr


def test_settings_that_make_sense_are_read(tmp_path: Path) -> None:
    sound = {
        "DIRECT_DATABASE_URL": "postgresql://u@%2Ftmp%2Fserver:5433/x",
        "VALKEY_URL": "unix:///run/valkey",
        "TRUSTED_ORIGINS": "https://talk.example.org/, http://localhost:8000",
    }

    assert settings_with(tmp_path, **sound).returncode == 0


def test_a_command_starts_without_the_web_server(tmp_path: Path) -> None:
    program = "import django, sys; django.setup(); sys.exit('twisted' in sys.modules)"
    own = {**SOUND, "COMPANION_STATE_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "ops.project.settings"}

    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=own, timeout=100).returncode == 0


def running(folder: Path, **facts: str) -> None:
    (folder / "run").mkdir()
    (folder / "run" / "environment.json").write_text(json.dumps({"pid": 1, **facts}))


def test_that_nothing_runs_is_said_only_where_nothing_runs(tmp_path: Path) -> None:
    with pytest.raises(SettingInvalid, match="no running scripts/up was found"):
        Environment({"COMPANION_STATE_DIR": str(tmp_path)}).need("SECRET_KEY")

    running(tmp_path, DATABASE_URL="postgresql://u@/x")

    with pytest.raises(SettingInvalid, match=r"A scripts/up runs from .* came from its environment. Set it"):
        Environment({"COMPANION_STATE_DIR": str(tmp_path)}).need("SECRET_KEY")


def test_a_database_named_in_this_shell_is_backed_up_and_not_the_one_that_runs(tmp_path: Path) -> None:
    running(tmp_path, DATABASE_URL="postgresql://u@/runs", DIRECT_DATABASE_URL="postgresql://u@/direct")
    here = {"COMPANION_STATE_DIR": str(tmp_path)}
    mine = "postgresql://u@/mine"

    assert (
        Environment(here).other_address("DIRECT_DATABASE_URL", "postgresql://u@/runs")
        == "postgresql://u@/direct"
    )
    assert Environment({**here, "DATABASE_URL": mine}).other_address("DIRECT_DATABASE_URL", mine) == mine


def test_public_keys_are_read_from_a_file_with_comments_and_an_identity_is_named_and_not_read(
    tmp_path: Path,
) -> None:
    one, two = (f"age1{letter * 58}" for letter in "qz")
    (tmp_path / "recipients").write_text(f"# Ines, and the safe\n{one}\n\n{two}\n")
    environment = Environment(
        {
            "COMPANION_STATE_DIR": str(tmp_path),
            "BACKUP_RECIPIENTS_FILE": str(tmp_path / "recipients"),
            "BACKUP_IDENTITY_FILE": "/nowhere/identity",
        }
    )

    assert environment.recipients("BACKUP_RECIPIENTS", shown="none", meaning="keys") == (one, two)
    assert environment.file("BACKUP_IDENTITY", meaning="a file") == Path("/nowhere/identity")
    assert "BACKUP_IDENTITY_FILE" in environment.declared


def test_a_credential_of_the_unit_stands_before_a_file_that_the_account_cannot_read(tmp_path: Path) -> None:
    (tmp_path / "database_url").write_text("postgresql://u@/credential\n")
    facts = {
        "COMPANION_STATE_DIR": str(tmp_path),
        "CREDENTIALS_DIRECTORY": str(tmp_path),
        "DATABASE_URL_FILE": "/nowhere/database_url",
        "SECRET_KEY_FILE": "/nowhere/secret_key",
    }
    environment = Environment(facts)

    assert environment.need("DATABASE_URL") == "postgresql://u@/credential"
    assert environment.other_address("OWNER_DATABASE_URL", "the same") == "the same"
    assert Environment({**facts, "DATABASE_URL": "named"}).need("DATABASE_URL") == "named"
    with pytest.raises(SettingInvalid, match="SECRET_KEY_FILE points at /nowhere/secret_key"):
        environment.need("SECRET_KEY")
