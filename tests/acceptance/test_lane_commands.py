"""Drill and check as an operator runs them: what they print, keep, and end with (R10, R11)."""

import json
import subprocess
import sys
from typing import Any

import pytest

from ops.models import LaneProbe
from tests.lanes import Lanes
from tests.people import in_database
from tests.processes import ROOT


@pytest.fixture
def manage(lanes: Lanes) -> Any:
    """Run a command of manage.py against the lanes of this test."""
    import os

    environment = {**os.environ, **lanes.settings()}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-W", "ignore", "manage.py", *arguments]
        return subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=90, check=False
        )

    return run


def kept(*lanes: str) -> list[tuple[str, str, bool]]:
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
    assert kept(lanes.head, lanes.second) == [
        (lanes.head, "drill", True),
        (lanes.second, "drill", True),
        (lanes.second, "chain", True),
    ]


def test_a_drill_that_fails_ends_with_one_and_says_which_lane(manage: Any, lanes: Lanes) -> None:
    lanes.backup.will({"status": 401, "error": "invalid_key"})
    done = manage("fallback_drill")
    assert done.returncode == 1
    assert f"{lanes.second}  FAILED: misconfigured" in done.stdout
    assert (lanes.second, "drill", False) in kept(lanes.second)


def test_a_preset_that_does_not_exist_is_said_and_nothing_is_asked(manage: Any, lanes: Lanes) -> None:
    for command in ("fallback_drill", "check_lanes"):
        done = manage(command, "--preset", "none")
        assert done.returncode == 2
        assert "Name one of: normal" in done.stderr
    assert lanes.primary.asked() == lanes.backup.asked() == []


def test_a_check_prints_the_lanes_side_by_side_and_ends_with_one_on_a_difference(
    manage: Any, lanes: Lanes
) -> None:
    lanes.backup.will({"say": "**I** am a program, and I am here for you.", "pace_ms": 0})
    done = manage("check_lanes")
    assert done.returncode == 1
    assert lanes.head in done.stdout and lanes.second in done.stdout
    assert f"MATTERS  {lanes.second}: replies hold Markdown, HTML or emoji" in done.stdout
    assert {how for _, how, _ in kept(lanes.head, lanes.second)} == {"check"}
