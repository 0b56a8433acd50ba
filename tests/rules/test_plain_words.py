"""Plain English: code, pages and names say who is meant, or use the passive, instead of whoever and nobody."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VAGUE = re.compile(
    r"(?<![A-Za-z'\"])(?:whoever|nobody|somebody|anybody)(?:s(?![A-Za-z])|(?![A-Za-z\"`-]))", re.IGNORECASE
)
"""Also as a part of a name with underscores. The account `nobody` is written in quotes, and the name of a runbook goes
on with a hyphen."""

THIS_FILE = Path(__file__).resolve()
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "PROMISES.md", "CONTRIBUTING.md", "SECURITY.md")),
    *(ROOT / "ops").rglob("*.md"),
]
# Without persona files and word lists, whose words are for participants.
SOURCES = [
    path
    for room in ("companion", "ops", "personas", "routing", "scripts", "templates", "tests", "validation")
    for path in (ROOT / room).rglob("*")
    if path.suffix in {".py", ".js", ".css", ".html"} or path.name.endswith("example.toml")
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


@pytest.mark.parametrize(
    "line",
    [
        "Whoever waits is told.",
        "# so that nobody waits",
        "somebody's words",
        "def test_nobody_waits() -> None:",
        "def test_it_is_nobodys_fault() -> None:",
        "somebody_speaks(room)",
        "def test_words_are_for_anybody() -> None:",
    ],
)
def test_a_vague_line_is_seen(line: str) -> None:
    assert vague_lines(line) == [line]


@pytest.mark.parametrize(
    "line",
    [
        "the account `nobody`",
        'ACCOUNTS = ("postgres", "nobody")',
        "SET who = 'nobody'",
        '_("x", "model: nobody")',
    ],
)
def test_a_quoted_account_of_that_name_is_not_meant(line: str) -> None:
    assert vague_lines(line) == []
