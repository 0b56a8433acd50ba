"""The rules find danger in the labelled sets, however it is written, and leave everyday talk alone (S1, S9)."""

import random
import tomllib
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from personas.safety import SafetyRules, Tier, load
from personas.safety.measure import LabelledMessage, measure, read_set
from tests.safety_noise import NOISES

SETS = Path(__file__).resolve().parents[1] / "safety"
FLOORS = tomllib.loads((SETS / "floors.toml").read_text(encoding="utf-8"))
NOISE_FLOOR_PERCENT = 94
MAX_NOISED = 1000
"""So many sentences, spread over all sets, are written in each other way."""


@pytest.fixture(scope="module")
def rules() -> SafetyRules:
    return load()


@pytest.fixture(scope="module")
def messages() -> list[LabelledMessage]:
    return [message for path in sorted(SETS.glob("*.jsonl")) for message in read_set(path)]


def test_every_set_has_floors() -> None:
    assert {path.stem for path in SETS.glob("*.jsonl")} == set(FLOORS)


def test_there_are_at_least_600_sentences_of_several_kinds_of_people(messages: list[LabelledMessage]) -> None:
    assert len(messages) >= 600
    assert len({message.id for message in messages}) == len(messages)
    assert len({message.person for message in messages}) >= 8


def test_no_figure_is_below_its_floor() -> None:
    said = StringIO()

    call_command("safety_report", stdout=said)

    assert "line shown on red" in said.getvalue()


def test_a_figure_below_its_floor_fails(tmp_path: Path) -> None:
    (tmp_path / "small.jsonl").write_text(
        '{"id": "s1", "text": "I like tea", "tier": "red", "kind": "goodbye", "person": "plain"}\n'
    )
    (tmp_path / "floors.toml").write_text("[small]\nline_shown = 90\n")
    said = StringIO()

    with pytest.raises(SystemExit):
        call_command("safety_report", "--sets", str(tmp_path), stdout=said)

    assert "small: line_shown is 90 %, and the figure is 0.0 %." in said.getvalue()


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.__name__)
def test_danger_is_found_however_it_is_written(
    rules: SafetyRules, messages: list[LabelledMessage], noise: Callable[[str, random.Random], str]
) -> None:
    chance = random.Random(12)
    spread = messages[:: len(messages) // MAX_NOISED]
    red = [message.text for message in spread if rules.read_message(message.text).tier is Tier.RED]
    missed = [
        text for text in (noise(text, chance) for text in red) if rules.read_message(text).tier < Tier.RED
    ]

    assert 100 * (1 - len(missed) / len(red)) >= NOISE_FLOOR_PERCENT, missed[:20]


def test_capitals_and_a_long_message_change_no_harmless_sentence(
    rules: SafetyRules, messages: list[LabelledMessage]
) -> None:
    harmless = [message for message in messages if message.tier == "none"]
    before = measure(rules.read_message, harmless).false_alarms.hits

    assert measure(lambda text: rules.read_message(text.upper()), harmless).false_alarms.hits == before
