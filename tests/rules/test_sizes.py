"""A function fits on one screen: 60 lines at most, with its signature and docstring."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAX_FUNCTION_LINES = 60
ROOMS = ("companion", "ops", "personas", "routing", "scripts", "tests", "validation")
FILES = [
    path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")) if "migrations" not in path.parts
]


def long_functions(source: str) -> list[str]:
    return [
        f"{node.name}: {length} lines"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > MAX_FUNCTION_LINES
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_function_is_longer_than_sixty_lines(path: Path) -> None:
    assert long_functions(path.read_text(encoding="utf-8")) == []


def test_a_function_of_sixty_one_lines_is_seen() -> None:
    lines = ["def f() -> None:", *["    pass"] * MAX_FUNCTION_LINES]
    assert long_functions("\n".join(lines)) == ["f: 61 lines"]
    assert long_functions("\n".join(lines[:-1])) == []
