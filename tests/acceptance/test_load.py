"""`manage.py load_test` against real processes: what it finds, what it refuses, and what it leaves behind (Q1, Q6)."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from companion.models import Participant, Site
from tests.conftest import STATE
from tests.people import People, in_database
from tests.prefork import prefork
from tests.processes import ROOT, Rehearsal, Web


def load_test(
    *arguments: str, within_s: float = 100, settings: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command as an operator does."""
    environment = {**os.environ, **(settings or {})}
    return prefork.run(["manage.py", "load_test", *arguments], env=environment, timeout_s=within_s)


def report_of(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    """What the report says, as programs read it."""
    [line] = [line for line in done.stdout.splitlines() if line.startswith("Report: ")]
    page = Path(line.removeprefix("Report: "))
    html = page.read_text()
    assert "<script" not in html and "<svg" in html
    told: dict[str, object] = json.loads(page.with_suffix(".json").read_text())
    return told


@pytest.fixture
def running(service: Web, rehearsal: Rehearsal) -> Iterator[dict[str, str]]:
    """The shared service, as a running `scripts/up` would announce it; the settings a command needs beside."""
    announced = STATE / "run" / "environment.json"
    announced.parent.mkdir(exist_ok=True)
    announced.write_text(json.dumps({"ports": [service.port]}))
    yield {"REHEARSAL_URL": rehearsal.url}
    announced.unlink()


def test_a_running_service_is_put_under_load_and_nothing_is_left_behind(
    running: dict[str, str], people: People
) -> None:
    rosa = people.rosa
    before = in_database(lambda: (Site.objects.count(), Participant.objects.count()))
    killed = in_database(lambda: Site.objects.create(slug="load-test-killed", name="Load test"))
    people.add_participant("Left over", site=killed)

    done = load_test("--sessions", "6", "--turns", "2", "--pace", "5", "--words", "12", settings=running)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "The people of 1 interrupted load tests were removed." in done.stdout
    assert "Turns: 12 complete." in done.stdout
    assert report_of(done)["passed"] is True
    assert in_database(lambda: (Site.objects.count(), Participant.objects.count())) == before
    assert in_database(lambda: Participant.objects.filter(id=rosa.row.pk).exists())


def test_a_real_provider_is_never_put_under_load(running: dict[str, str], tmp_path: Path) -> None:
    routing = tmp_path / "routing.toml"
    example = (ROOT / "ops" / "deploy" / "routing.example.toml").read_text()
    routing.write_text(example)
    keys = {
        line.split('"')[1]: "no key"
        for line in example.splitlines()
        if line.strip().startswith("api_key_env")
    }

    done = load_test("--sessions", "1", settings={"COMPANION_ROUTING": str(routing), **keys, **running})

    assert done.returncode == 1
    assert "this never touches one" in done.stderr


def test_without_a_service_it_says_what_to_start() -> None:
    done = load_test("--sessions", "1")

    assert done.returncode == 1
    assert "add --own for a private service" in done.stderr


def test_what_is_for_a_private_service_is_not_quietly_ignored(running: dict[str, str]) -> None:
    done = load_test("--sessions", "1", "--ceiling", "2", settings=running)

    assert done.returncode == 1
    assert "--ceiling is for a private service" in done.stderr


@pytest.mark.long
@pytest.mark.timeout(300)
def test_eight_may_speak_and_one_of_four_processes_is_killed_in_the_middle() -> None:
    """The ceiling, the order and every text hold; people on the dead process come back to another."""
    story(sessions=40, turns=2, kill_after_s=1.5)


@pytest.mark.long
@pytest.mark.timeout(300)
def test_eight_may_speak_of_three_hundred_questions_and_one_of_four_processes_is_killed() -> None:
    story(sessions=100, turns=3, kill_after_s=6)


def story(*, sessions: int, turns: int, kill_after_s: float) -> None:
    done = load_test(
        "--own",
        *("--processes", "4", "--ceiling", "8", "--wait-ceiling", "120"),
        *("--sessions", str(sessions), "--turns", str(turns), "--kill", str(kill_after_s)),
        *("--pace", "8", "--words", "40", "--first-word", "100"),
        within_s=280,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    told = report_of(done)
    figures = told["figures"]
    assert isinstance(figures, dict)
    assert sum(figures["ends"].values()) == sessions * turns
    assert set(figures["ends"]) <= {"complete", "paused"}
    assert figures["returned"] >= 1
    assert "at most 8 of 8" in done.stdout
    assert " 0 of " in next(line for line in done.stdout.splitlines() if "First come, first served" in line)
