"""Plain English: code and pages for readers name the person, or use the passive, instead of whoever and nobody."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VAGUE = re.compile(r"(?<!')\b(?:whoever|nobody|somebody|anybody)\b(?![\"`])", re.IGNORECASE)
"""The account `nobody` is written in quotes."""

THIS_FILE = Path(__file__).resolve()
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "PROMISES.md", "CONTRIBUTING.md", "SECURITY.md")),
    *(ROOT / "ops").rglob("*.md"),
]
SOURCES = [
    path
    for room in ("companion", "ops", "personas", "routing", "scripts", "tests", "validation")
    for path in (ROOT / room).rglob("*.py")
]


def vague_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if VAGUE.search(line)]


@pytest.mark.parametrize(
    "path",
    [path for path in (*SOURCES, *PAGES) if path != THIS_FILE],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_a_file_uses_plain_words(path: Path) -> None:
    assert vague_lines(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("line", ["Whoever waits is told.", "# so that nobody waits", "somebody's words"])
def test_a_vague_line_is_seen(line: str) -> None:
    assert vague_lines(line) == [line]


@pytest.mark.parametrize("line", ["the account `nobody`", 'ACCOUNTS = ("postgres", "nobody")'])
def test_the_account_of_that_name_is_not_meant(line: str) -> None:
    assert vague_lines(line) == []
