"""Traffic moves in real processes: at once where the bell is heard, soon where it is lost, and nothing is left (R4)."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from ops.models import Alert
from ops.selections.board import read_board
from ops.selections.last_known_good import LastKnownGood
from routing.lanes import NORMAL
from tests.page_socket import Page
from tests.patience import until
from tests.people import People, in_database
from tests.prefork import prefork
from tests.processes import Rehearsal, Web, start_web
from tests.selections import (
    ROUTING,
    forget_lane_answers,
    insert,
    is_served_by_all,
    newest,
    route,
    select,
    select_normal,
    wait_until_selection_is_served,
)

POLLED_WITHIN_S = 10
FOUND_WITHIN_S = 20
"""Seconds from the row to the heartbeat that reports it, on a slow machine."""


@pytest.fixture(autouse=True)
def _normal_afterwards(database: object) -> Iterator[None]:
    yield
    select_normal()
    in_database(lambda: Alert.objects.all().delete())


async def ask_for_model(web: Web, people: People, rehearsal: Rehearsal) -> str:
    """Ask through this process; returns the model that was asked."""
    person = people.rosa
    before = len(rehearsal.list_requests())
    async with Page(web.socket_url, person.sign_in(web.url)) as page:
        await page.say("Hello")
        await page.ending()
    return str(rehearsal.list_requests()[before]["model"])


@pytest.fixture(scope="module")
def _three(
    database: object, _rehearsal: Rehearsal, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Web]]:
    with ExitStack() as stack:
        disks = [str(tmp_path_factory.mktemp("disk")) for _ in range(3)]
        yield [stack.enter_context(start_web(_rehearsal, COMPANION_STATE_DIR=disk)) for disk in disks]
    wait_until_selection_is_served()


@pytest.fixture
def three(_three: list[Web], rehearsal: Rehearsal) -> list[Web]:
    """Three web processes, each with its own state folder, and a provider cleared of faults."""
    return _three


async def test_every_process_serves_the_new_head_and_then_the_old_one_again(
    three: list[Web], people: People, rehearsal: Rehearsal
) -> None:
    chosen = select("pin_second")
    await until(lambda: is_served_by_all(chosen.version), within_s=FOUND_WITHIN_S)
    assert [await ask_for_model(web, people, rehearsal) for web in three] == ["rehearsal-2"] * 3
    select_normal()
    await until(lambda: is_served_by_all(newest().version), within_s=FOUND_WITHIN_S)
    assert [await ask_for_model(web, people, rehearsal) for web in three] == ["rehearsal-1"] * 3


async def test_without_a_doorbell_the_poll_moves_every_process(three: list[Web]) -> None:
    version = insert("local_only")
    await until(lambda: is_served_by_all(version), within_s=FOUND_WITHIN_S)
    for web in three:
        assert f"routing_store.selected version={version} preset=local_only" in web.log_text


async def test_a_turn_keeps_its_preset_and_version_on_record(
    three: list[Web], people: People, rehearsal: Rehearsal
) -> None:
    chosen = select("local_only")
    await until(lambda: is_served_by_all(chosen.version), within_s=FOUND_WITHIN_S)
    person = people.rosa
    async with Page(three[0].socket_url, person.sign_in(three[0].url)) as page:
        await page.say("Hello")
        await page.ending()
    (turn,) = person.turns()
    assert (turn.preset, turn.routing_version, turn.lane, turn.model) == (
        "local_only",
        chosen.version,
        "rehearsal_local",
        "rehearsal-local",
    )


async def test_a_pin_that_ends_is_reverted_by_web_processes_alone(
    three: list[Web], people: People, rehearsal: Rehearsal
) -> None:
    version = insert("pin_second", lasts=timedelta(seconds=8))
    await until(lambda: newest().version == version + 1, within_s=FOUND_WITHIN_S)
    await until(lambda: is_served_by_all(version + 1), within_s=FOUND_WITHIN_S)

    assert (newest().preset, newest().by) == (NORMAL, "the service")
    assert await ask_for_model(three[2], people, rehearsal) == "rehearsal-1"


async def test_after_a_restore_what_is_served_from_disk_is_shown_and_going_back_takes_effect(
    rehearsal: Rehearsal, people: People, tmp_path: Path
) -> None:
    """The table holds `normal` in an older version; the process serves a pin that has no row."""
    select_normal()
    forgotten = replace(
        newest(),
        version=newest().version + 50,
        preset="pin_second",
        at=timezone.now(),
        expires_at=timezone.now() + timedelta(hours=1),
    )
    assert LastKnownGood(tmp_path, ROUTING).write(forgotten)
    with start_web(rehearsal, COMPANION_STATE_DIR=str(tmp_path)) as web:
        assert await ask_for_model(web, people, rehearsal) == "rehearsal-2"
        served = f"serves version {forgotten.version} (pin_second)"
        await until(lambda: served in route("show"), within_s=FOUND_WITHIN_S)
        assert "NOT ON RECORD: of " in route("show")
        assert "The table says: normal" in route("show")
        assert in_database(lambda: read_board(ROUTING)).may_revert

        said = route("revert", "--by", "Ines")

        assert "Nothing was changed" not in said and newest().version == forgotten.version + 1
        await until(lambda: is_served_by_all(newest().version), within_s=FOUND_WITHIN_S)
        assert await ask_for_model(web, people, rehearsal) == "rehearsal-1"
        assert "NOT ON RECORD" not in route("show")
        assert "Nothing was changed." in route("revert", "--by", "Ines")


async def test_a_lane_that_does_not_take_our_key_is_told_of_at_once(
    three: list[Web], people: People, rehearsal: Rehearsal
) -> None:
    rehearsal.inject({"status": 401, "error": "invalid_key"}, times=1)
    person = people.rosa
    async with Page(three[0].socket_url, person.sign_in(three[0].url)) as page:
        await page.say(f"Hello {uuid4().hex[:4]}")
        await page.ending()

    await until(lambda: in_database(lambda: Alert.objects.filter(kind="misconfigured").exists()))
    alert = in_database(lambda: Alert.objects.get(kind="misconfigured"))
    assert (alert.about, alert.count) == ("rehearsal", 1)


def test_the_command_measures_how_long_it_takes_there_and_back(
    three: list[Web], rehearsal: Rehearsal, tmp_path: Path
) -> None:
    forget_lane_answers()
    manage = build_manage(three, rehearsal, tmp_path)

    def run_route(*arguments: str) -> Any:
        answer = manage("route", *arguments, "--json")
        assert answer.returncode == 0, answer.stderr
        return json.loads(answer.stdout)

    refused = manage("route", "measure", "pin_second", "--by", "Ines", "--reason", "x")
    assert refused.returncode == 3
    assert "has not answered in the last day" in refused.stderr

    before = newest().version
    measured = run_route("measure", "pin_second", "--by", "Ines", "--reason", "To know it", "--yes")
    assert measured["in_time"]
    for way, lane in (("there", "rehearsal_second"), ("back", "rehearsal")):
        assert measured[way]["lane"] == lane
        assert len(measured[way]["each_s"]) == len(three)
        assert max(measured[way]["each_s"]) < POLLED_WITHIN_S
        assert measured[way]["first_s"] == min(measured[way]["each_s"])

    history = run_route("history")["selections"][:2]
    assert [(one["version"], one["preset"]) for one in history] == [
        (before + 2, NORMAL),
        (before + 1, "pin_second"),
    ]
    shown = run_route("show")
    assert (shown["preset"], shown["version"]) == (NORMAL, before + 2)
    assert manage("transcript", "Person 1").returncode == 1, "the people who asked were deleted"

    pinned = run_route("select", "drop_first", "--by", "Ines", "--reason", "x", "--for", "90m", "--yes")
    assert pinned["preset"] == "drop_first"
    refused = manage("route", "measure", "pin_second", "--by", "Ines", "--reason", "x", "--yes")
    assert refused.returncode == 1
    assert "Another preset than normal is in force." in refused.stderr
    assert run_route("revert", "--by", "Ines")["preset"] == NORMAL


def build_manage(webs: list[Web], rehearsal: Rehearsal, state: Path) -> Any:
    """Run commands of manage.py with a state folder in which `scripts/up` would have named these processes."""
    (state / "run").mkdir()
    (state / "run" / "environment.json").write_text(json.dumps({"ports": [web.port for web in webs]}))
    for token in (Path(os.environ["COMPANION_STATE_DIR"]) / "run").glob("rehearsal-*.token"):
        shutil.copy(token, state / "run")
    environment = {**os.environ, "COMPANION_STATE_DIR": str(state), "REHEARSAL_URL": rehearsal.url}

    def manage(*arguments: str) -> subprocess.CompletedProcess[str]:
        return prefork.run(["manage.py", *arguments], env=environment, timeout_s=120)

    return manage
