"""What a process knows to be wrong with its own set-up: its lanes, and the files it would have to read again (R13)."""

import asyncio
import shutil
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from companion.prompt import min_context_tokens
from ops.alerts.process_conditions import ConditionMonitor, WatchedFile, check_persona, check_routing
from personas.load import DEFAULT, load
from routing import lanes
from routing.errors import RoutingFileInvalid
from routing.lanes import Routing
from tests.chains import lane_text
from tests.patience import until

NORMAL = '[presets.normal]\nchain = ["one", "two"]\n'
SOUND = lane_text("one") + lane_text("two") + NORMAL
ONE_DOMAIN = lane_text("one") + lane_text("two", failure_domain="one") + NORMAL
ALONE = lane_text("one") + '[presets.normal]\nchain = ["one"]\n'


def routing(text: str) -> Routing:
    return lanes.parse(text, source="routing.toml")


@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        (SOUND, []),
        (ONE_DOMAIN, ["no_fallback all its lanes share the failure domain one"]),
        (ALONE, ["no_fallback one is its only lane"]),
    ],
)
def test_a_normal_chain_that_would_stop_as_a_whole_is_named(text: str, conditions: list[str]) -> None:
    assert list(check_routing(routing(text), is_rehearsed=False)) == conditions


def test_scripted_replies_are_named_unless_they_are_meant() -> None:
    without_a_file = lanes.rehearsal_routing("http://127.0.0.1:1/v1")

    assert list(check_routing(without_a_file, is_rehearsed=False)) == [
        "scripted_replies no routing file is set"
    ]
    assert list(check_routing(without_a_file, is_rehearsed=True)) == []


def test_the_hash_of_a_file_is_that_of_its_content_and_there_is_none_without_a_file() -> None:
    assert routing(SOUND).file_hash == routing(SOUND).file_hash != routing(ALONE).file_hash
    assert len(routing(SOUND).file_hash) == 16
    assert lanes.rehearsal_routing("http://127.0.0.1:1/v1").file_hash == ""


@pytest.fixture
def file(tmp_path: Path) -> WatchedFile:
    path = tmp_path / "routing.toml"
    path.write_text(SOUND)
    return WatchedFile(
        name="routing file",
        path=path,
        version=routing(SOUND).file_hash,
        read=lambda path: lanes.load(path).file_hash,
        refusal=RoutingFileInvalid,
    )


def test_a_file_that_changed_or_became_wrong_or_went_away_is_named_until_it_is_as_before(
    file: WatchedFile, tmp_path: Path
) -> None:
    conditions = ConditionMonitor(routing(SOUND), [file], is_rehearsed=False)

    def now() -> tuple[str, ...]:
        conditions.check()
        return conditions.current

    shutil.copyfile(file.path, tmp_path / "before")
    assert now() == ()
    file.path.write_text(SOUND.replace("[lanes.one]", "[lane.one]"))
    assert now() == ("file_refused routing file",)
    file.path.write_text(ONE_DOMAIN)
    assert now() == ("file_changed routing file",)
    file.path.unlink()
    assert now() == ("file_refused routing file",)
    shutil.copyfile(tmp_path / "before", file.path)
    assert now() == ()


def test_a_file_that_looks_as_before_is_not_read_again(file: WatchedFile) -> None:
    read: list[Path] = []

    def reads(path: Path) -> str:
        read.append(path)
        return file.version

    conditions = ConditionMonitor(routing(SOUND), [replace(file, read=reads)], is_rehearsed=False)
    for _ in range(3):
        conditions.check()

    assert read == [file.path]


async def test_it_looks_again_and_again(file: WatchedFile) -> None:
    conditions = ConditionMonitor(routing(SOUND), [file], is_rehearsed=False, every_s=0.01)
    looking = asyncio.create_task(conditions.run())
    try:
        file.path.write_text(ALONE)
        await until(lambda: bool(conditions.current))
    finally:
        looking.cancel()
    assert conditions.current == ("file_changed routing file",)


def test_a_lane_whose_window_the_character_fills_is_named_from_the_start() -> None:
    system = "You are Robin. " * 400
    known = routing(SOUND)
    small = replace(known.lanes["two"], context_tokens=3_000)
    needed = min_context_tokens(system, max_tokens=small.max_tokens)
    assert 3_000 < needed < 32_000
    narrow = replace(known, lanes={**known.lanes, "two": small})
    conditions = ConditionMonitor(narrow, [], is_rehearsed=True, needs=lambda lane: needed)
    assert list(conditions.current) == [f"window_too_small two (3000 of at least {needed} tokens)"]


def test_a_character_that_is_not_approved_or_whose_review_is_overdue_is_named() -> None:
    persona = load(DEFAULT)
    assert persona.approved_on is None
    due = persona.review_by
    unapproved = f"persona_unapproved Robin, {persona.version}"
    assert list(check_persona(persona, due)) == [unapproved]
    assert list(check_persona(persona, due + timedelta(days=1))) == [
        unapproved,
        f"persona_overdue due on {due}",
    ]
    approved = persona.model_copy(update={"approved_on": due})
    assert list(check_persona(approved, due)) == []


def test_a_review_that_becomes_overdue_while_a_process_runs_is_named_from_then_on() -> None:
    today = [date(2027, 3, 31)]
    conditions = ConditionMonitor(
        routing(SOUND),
        [],
        is_rehearsed=True,
        persona=lambda: check_persona(load(DEFAULT).model_copy(update={"approved_on": today[0]}), today[0]),
    )
    assert not conditions.current
    today[0] = date(2027, 4, 1)
    conditions.check()
    assert list(conditions.current) == ["persona_overdue due on 2027-03-31"]
