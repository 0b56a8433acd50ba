"""One name for one thing: a public class name stands in one module only."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("companion", "ops", "personas", "routing", "validation")

NAMES_OF_THE_FRAMEWORK = {"Command"}
"""Django finds these by their name."""


def public_classes(source: str) -> set[str]:
    return {
        node.name
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    }


def modules_by_class(root: Path) -> dict[str, list[str]]:
    """Where each public class stands, by its name."""
    modules: dict[str, list[str]] = defaultdict(list)
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            if "migrations" not in path.parts:
                for name in public_classes(path.read_text(encoding="utf-8")):
                    modules[name].append(str(path.relative_to(root)))
    return modules


def find_doubles(root: Path) -> dict[str, list[str]]:
    return {
        name: modules
        for name, modules in modules_by_class(root).items()
        if len(modules) > 1 and name not in NAMES_OF_THE_FRAMEWORK
    }


def test_a_public_class_name_stands_in_one_module_only() -> None:
    assert find_doubles(ROOT) == {}


def test_a_name_that_two_modules_of_one_room_share_is_found(tmp_path: Path) -> None:
    room = tmp_path / "personas" / "safety"
    room.mkdir(parents=True)
    (room / "findings.py").write_text("class Way: ...\n")
    (room / "lint.py").write_text("class Way: ...\nclass Lint: ...\n")

    assert find_doubles(tmp_path) == {"Way": ["personas/safety/findings.py", "personas/safety/lint.py"]}


@pytest.mark.parametrize(
    ("source", "found"),
    [("class Way:\n    class Inner: ...\n", {"Way"}), ("class _Way: ...\n", set()), ("Way = int\n", set())],
)
def test_only_public_classes_of_a_module_count(source: str, found: set[str]) -> None:
    assert public_classes(source) == found
