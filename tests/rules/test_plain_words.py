"""Plain English: code and pages for readers name the person, or use the passive, instead of whoever and nobody."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VAGUE = re.compile(r"(?<!')\b(?:whoever|nobody|somebody|anybody)\b(?![\"`])", re.IGNORECASE)
"""The account `nobody` is written in quotes."""

STILL_VAGUE: dict[str, int] = {
    "ops/lane_checks/fallback.py": 1,
    "tests/acceptance/test_load.py": 1,
    "tests/database/alerts/test_sending.py": 1,
    "tests/database/backups/test_asking_for_a_drill.py": 1,
    "tests/database/selections/test_following.py": 1,
    "tests/database/selections/test_route_command.py": 1,
    "tests/database/selections/test_selecting.py": 1,
    "tests/database/selections/test_the_copy_on_disk.py": 1,
    "tests/database/test_demo_people.py": 2,
    "tests/database/test_journal.py": 2,
    "tests/database/test_people_and_cards.py": 1,
    "tests/database/test_throttle.py": 3,
    "tests/database/test_transcript.py": 1,
    "tests/database/test_waiting_room.py": 1,
    "tests/pages/door.py": 1,
    "tests/pages/test_typed_words.py": 1,
    "tests/pages/test_way_in.py": 1,
    "tests/sockets/test_a_lost_ring.py": 1,
    "tests/sockets/test_breaker.py": 2,
    "tests/sockets/test_limits.py": 2,
    "tests/unit/test_engine.py": 1,
    "tests/unit/test_persona_check.py": 1,
    "tests/unit/test_personas_load.py": 1,
}
"""Files and how many lines may still say so. A number falls and never rises."""

THIS_FILE = Path(__file__).resolve()
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "PROMISES.md", "CONTRIBUTING.md", "SECURITY.md")),
    *(ROOT / "ops").rglob("*.md"),
]
SOURCES = [
    path
    for room in ("companion", "ops", "personas", "routing", "scripts", "tests")
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
    found = vague_lines(path.read_text(encoding="utf-8"))

    assert len(found) <= STILL_VAGUE.get(str(path.relative_to(ROOT)), 0), found


@pytest.mark.parametrize("line", ["Whoever waits is told.", "# so that nobody waits", "somebody's words"])
def test_a_vague_line_is_seen(line: str) -> None:
    assert vague_lines(line) == [line]


@pytest.mark.parametrize("line", ["the account `nobody`", 'ACCOUNTS = ("postgres", "nobody")'])
def test_the_account_of_that_name_is_not_meant(line: str) -> None:
    assert vague_lines(line) == []
