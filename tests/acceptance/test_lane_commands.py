"""Drill and check as an operator runs them: what they print, keep, and end with (R10, R11)."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ops.models import LaneProbe
from tests.lanes import Lanes
from tests.people import in_database
from tests.prefork import prefork
from tests.processes import Rehearsal, Web


@pytest.fixture
def manage(lanes: Lanes) -> Any:
    """Run a command of manage.py against the lanes of this test."""
    environment = {**os.environ, **lanes.write_settings()}

    def run(*arguments: str, **changed: str) -> subprocess.CompletedProcess[str]:
        return prefork.run(["manage.py", *arguments], env=environment | changed)

    return run


def list_probes(*lanes: str) -> list[tuple[str, str, bool]]:
    return in_database(
        lambda: list(LaneProbe.objects.filter(lane__in=lanes).order_by("id").values_list("lane", "how", "ok"))
    )


def test_a_drill_that_passes_keeps_a_row_for_each_lane_and_one_for_the_chain(
    manage: Any, lanes: Lanes
) -> None:
    done = manage("fallback_drill", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["passed"] and told["head"] == lanes.head and told["head_was_tried"] >= 1
    assert told["chain"]["lane"] == lanes.second
    assert list_probes(lanes.head, lanes.second) == [
        (lanes.head, "drill", True),
        (lanes.second, "drill", True),
        (lanes.second, "chain", True),
    ]


def test_a_drill_that_fails_ends_with_one_and_says_which_lane(manage: Any, lanes: Lanes) -> None:
    lanes.backup.inject({"status": 401, "error": "invalid_key"})
    done = manage("fallback_drill")
    assert done.returncode == 1
    assert f"{lanes.second}  FAILED: misconfigured" in done.stdout
    assert (lanes.second, "drill", False) in list_probes(lanes.second)


def test_a_preset_that_does_not_exist_is_said_and_nothing_is_asked(manage: Any, lanes: Lanes) -> None:
    for command in ("fallback_drill", "check_lanes"):
        done = manage(command, "--preset", "none")
        assert done.returncode == 2
        assert "Name one of: normal" in done.stderr
    assert lanes.primary.list_requests() == lanes.backup.list_requests() == []


def test_a_check_prints_the_lanes_side_by_side_and_ends_with_one_on_a_difference(
    manage: Any, lanes: Lanes
) -> None:
    lanes.backup.inject({"say": "**I** am a program, and I am here for you.", "pace_ms": 0})
    done = manage("check_lanes")
    assert done.returncode == 1
    assert lanes.head in done.stdout and lanes.second in done.stdout
    assert f"MATTERS  {lanes.second}: replies hold Markdown, HTML or emoji" in done.stdout
    assert {how for _, how, _ in list_probes(lanes.head, lanes.second)} == {"check"}


def test_a_key_that_is_not_set_in_this_shell_says_nothing_about_the_lane(lanes: Lanes, manage: Any) -> None:
    routing = Path(lanes.write_settings()["COMPANION_ROUTING"])
    lane = f"[lanes.{lanes.second}]\n"
    assert lane in routing.read_text()
    routing.write_text(routing.read_text().replace(lane, f'{lane}api_key_env = "KEY_OF_NO_SHELL"\n'))
    for command in ("fallback_drill", "check_lanes"):
        done = manage(command, COMPANION_ROUTING=str(routing))
        assert done.returncode == 2
        assert f"KEY_OF_NO_SHELL ({lanes.second})" in done.stderr
    assert lanes.primary.list_requests() == lanes.backup.list_requests() == []
    assert list_probes(lanes.head, lanes.second) == []


def test_a_change_that_cannot_be_measured_is_said_and_nothing_is_changed(
    manage: Any, rehearsal: Rehearsal, another_web: Callable[..., Web], tmp_path: Path
) -> None:
    web = another_web(ALLOWED_HOSTS="talk.example.org")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "environment.json").write_text(json.dumps({"ports": [web.port]}))
    for token in (Path(os.environ["COMPANION_STATE_DIR"]) / "run").glob("rehearsal-*.token"):
        shutil.copy(token, tmp_path / "run")
    asked = ("route", "measure", "pin_second", "--by", "Ines", "--reason", "To know", "--yes")
    own = {"COMPANION_STATE_DIR": str(tmp_path), "COMPANION_ROUTING": ""}

    shut = manage(*asked, **own, REHEARSAL_URL=rehearsal.url)
    gone = manage(*asked, **own, REHEARSAL_URL="http://127.0.0.1:9/v1")

    for done, why in ((shut, "A web process does not open the chat"), (gone, "not the rehearsal provider")):
        assert done.returncode == 1
        assert "Nothing was changed." in done.stderr and why in done.stderr
        assert "Traceback" not in done.stderr
