"""The daily job that asks for a drill (D6)."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.test import override_settings

from ops.alerts.kinds import AlertKind
from ops.alerts.rows import list_open_alerts
from ops.jobs import ask_for_restore_drill, close_alerts
from ops.models import Alert
from ops.stack.postgres import EmbeddedPostgres
from tests.people import in_database


@pytest.fixture
def state(database: EmbeddedPostgres, tmp_path: Path) -> Path:
    """A state folder, and no alert about drills."""
    in_database(lambda: Alert.objects.filter(kind=AlertKind.RESTORE_UNPROVED).delete())
    return tmp_path


def list_alerts(state: Path) -> list[str]:
    """What operators read after the job has run."""
    with override_settings(COMPANION_STATE_DIR=state):
        in_database(ask_for_restore_drill)
    return [told.says for told in in_database(list_open_alerts) if told.kind == AlertKind.RESTORE_UNPROVED]


def test_operators_are_asked_while_no_drill_has_proved_anything(state: Path) -> None:
    assert list_alerts(state) == [
        "There is no current proof that a backup restores: no drill has proved it yet."
    ]
    # Asked again on the next day, it is still one alert.
    assert len(list_alerts(state)) == 1


def write_proof(state: Path) -> None:
    """A drill proves a backup."""
    facts = {
        "run": "r",
        "ended_at": datetime.now(UTC).isoformat(),
        "verdict": "PROVED",
        "level": "B",
        "where": "private server",
        "rows": 1,
        "source_bytes": 1,
        "restore_s": 1,
        "expected_restore_s": {},
        "differences": [],
    }
    (state / "drills").mkdir()
    (state / "drills" / "r.json").write_text(json.dumps(facts))


def test_no_drill_is_asked_for_while_a_proof_is_fresh(state: Path) -> None:
    write_proof(state)
    assert list_alerts(state) == []


def test_an_alert_goes_once_a_proof_arrives_and_not_before(state: Path) -> None:
    assert len(list_alerts(state)) == 1
    assert run_job_later(state) == 1
    write_proof(state)
    assert run_job_later(state) == 0


def run_job_later(state: Path) -> int:
    """How many stand open once the job of every minute has run."""
    with override_settings(COMPANION_STATE_DIR=state):
        in_database(close_alerts)
    return len([told for told in in_database(list_open_alerts) if told.kind == AlertKind.RESTORE_UNPROVED])
