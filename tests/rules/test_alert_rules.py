"""Prometheus reads our figures, rules and dashboard; every rule names its runbook, and every runbook its signal."""

import json
import re
import subprocess
from collections import Counter
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from ops.alerts.kinds import AlertKind
from ops.status.exposition import format_exposition
from tests.unit.test_exposition import FIGURES, NOON

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "ops" / "deploy" / "prometheus"
RULES = FOLDER / "companion.rules.yml"
RUNBOOKS = sorted((ROOT / "ops" / "runbooks").glob("*.md"))
DASHBOARD: dict[str, Any] = json.loads((FOLDER / "dashboard.json").read_text())
METRIC = re.compile(r"\bcompanion_\w+")


@cache
def read_rules() -> dict[str, str]:
    """Each rule's text by its name, from the YAML of the file. `promtool check rules` reads it as YAML."""
    blocks = re.split(r"^ {6}- alert: ", RULES.read_text(), flags=re.M)[1:]
    return {block.split("\n", 1)[0]: block for block in blocks}


def get_runbook(rule: str) -> str:
    [name] = re.findall(r"^ {10}runbook: (\S+)$", read_rules()[rule], re.M)
    return str(name)


def get_expression(rule: str) -> str:
    [expression] = re.findall(r"^ {8}expr: (.+?)^ {8}\w", read_rules()[rule], re.M | re.S)
    return str(expression)


def find_metrics() -> set[str]:
    return set(re.findall(r"^# TYPE (\w+)", format_exposition(FIGURES, at=NOON), re.M))


def get_kinds(rule: str) -> list[str]:
    """The kinds of the service's alerts that the rule passes on."""
    return [
        kind
        for kinds in re.findall(r'companion_alerts_open\{kind=~"([\w|]+)"', get_expression(rule))
        for kind in kinds.split("|")
    ]


def promtool(*arguments: str, given: str = "") -> str:
    """Run promtool beside the rules. Its output, of a run that must succeed."""
    run = subprocess.run(
        ["promtool", *arguments], cwd=FOLDER, input=given, capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout + run.stderr


def test_promtool_finds_nothing_to_say_about_the_metrics() -> None:
    assert promtool("check", "metrics", given=format_exposition(FIGURES, at=NOON)) == ""


def test_promtool_takes_the_rules_and_the_configuration() -> None:
    assert f"{len(read_rules())} rules found" in promtool("check", "rules", RULES.name)
    assert "valid" in promtool("check", "config", "--syntax-only", "prometheus.example.yml")


def test_every_rule_fires_and_stays_silent_as_its_own_tests_say() -> None:
    tests = (FOLDER / "companion.rules.test.yml").read_text()
    fires = set(re.findall(r"alertname: (\w+)\n +exp_alerts:\n", tests))
    is_silent = set(re.findall(r"alertname: (\w+)\n +exp_alerts: \[\]\n", tests))
    assert fires == is_silent == set(read_rules())

    promtool("test", "rules", "companion.rules.test.yml")


@pytest.mark.parametrize("rule", sorted(read_rules()))
def test_a_rule_reads_metrics_that_exist_and_says_how_urgent_it_is(rule: str) -> None:
    assert set(METRIC.findall(get_expression(rule))) <= find_metrics()
    assert re.search(r"^ {8}labels: \{severity: (page|ticket)\}$", read_rules()[rule], re.M)


@pytest.mark.parametrize("runbook", RUNBOOKS, ids=lambda path: path.stem)
def test_a_runbook_names_its_signals_and_they_are_the_rules_that_name_it(runbook: Path) -> None:
    [signal] = re.findall(r"^\*\*Signal:\*\* (.+?)\n\n", runbook.read_text(), re.M | re.S)
    named = set(re.findall(r"`(Companion\w+)`", signal))

    assert named == {rule for rule in read_rules() if get_runbook(rule) == runbook.name}
    assert named or signal.startswith("no alert")


def test_every_alert_of_the_service_is_passed_on_by_one_rule_with_the_same_runbook() -> None:
    passed_on = Counter(kind for rule in read_rules() for kind in get_kinds(rule))
    assert passed_on == Counter(kind.value for kind in AlertKind)

    runbooks = {kind: get_runbook(rule) for rule in read_rules() for kind in get_kinds(rule)}
    assert runbooks == {kind.value: kind.runbook for kind in AlertKind}


def test_the_dashboard_reads_metrics_that_exist_and_its_panels_do_not_overlap() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        expressions = [target["expr"] for target in panel["targets"]]
        assert expressions and panel["title"] and panel["description"]
        assert all(METRIC.findall(expression) for expression in expressions)
        assert {name for text in expressions for name in METRIC.findall(text)} <= find_metrics()
        assert panel["datasource"]["uid"] == "${datasource}"
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
    for one, other in combinations([panel["gridPos"] for panel in panels], 2):
        is_beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        is_below = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert is_beside or is_below, (one, other)


def test_the_dashboard_and_the_rules_name_runbooks_that_exist() -> None:
    text = RULES.read_text() + json.dumps(DASHBOARD)
    assert set(re.findall(r"[\w-]+\.md", text)) - {"alerts.md"} <= {path.name for path in RUNBOOKS}
