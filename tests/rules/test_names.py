"""One name for one thing: a public class name stands in one room only."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("companion", "ops", "personas", "routing", "validation")

NAMES_OF_THE_FRAMEWORK = {"Command"}
"""Django finds these by their name."""


def room_of(path: Path) -> str:
    """`companion`, or a room inside `ops`, such as `ops.alerts`."""
    parts = path.relative_to(ROOT).parts
    return f"ops.{parts[1].removesuffix('.py')}" if parts[0] == "ops" else parts[0]


def public_classes(source: str) -> set[str]:
    return {
        node.name
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    }


def rooms_by_class() -> dict[str, set[str]]:
    rooms: dict[str, set[str]] = defaultdict(set)
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            if "migrations" not in path.parts:
                for name in public_classes(path.read_text(encoding="utf-8")):
                    rooms[name].add(room_of(path))
    return rooms


def test_a_public_class_name_stands_in_one_room_only() -> None:
    doubles = {
        name: sorted(rooms)
        for name, rooms in rooms_by_class().items()
        if len(rooms) > 1 and name not in NAMES_OF_THE_FRAMEWORK
    }

    assert doubles == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [("class Way:\n    class Inner: ...\n", {"Way"}), ("class _Way: ...\n", set()), ("Way = int\n", set())],
)
def test_only_public_classes_of_a_module_count(source: str, found: set[str]) -> None:
    assert public_classes(source) == found
