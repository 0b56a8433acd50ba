"""Plain English: code and pages for readers name the person, or use the passive, instead of whoever and nobody."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VAGUE = re.compile(r"(?<!')\b(?:whoever|nobody|somebody|anybody)\b(?![\"`])", re.IGNORECASE)
"""The account `nobody` is written in quotes."""

STILL_VAGUE: dict[str, int] = {
    "ops/access.py": 1,
    "ops/alerts/README.md": 3,
    "ops/alerts/kinds.py": 3,
    "ops/alerts/lasting.py": 1,
    "ops/alerts/rows.py": 3,
    "ops/alerts/sending.py": 1,
    "ops/alerts/statements.py": 1,
    "ops/alerts/watch.py": 1,
    "ops/lane_checks/fallback.py": 1,
    "ops/management/commands/demo_site.py": 3,
    "ops/management/commands/staff.py": 1,
    "ops/management/commands/transcript.py": 1,
    "ops/models.py": 5,
    "ops/names.py": 3,
    "ops/people/README.md": 2,
    "ops/people/cards.py": 7,
    "ops/people/command.py": 1,
    "ops/people/finding.py": 1,
    "ops/people/sites.py": 5,
    "ops/people/staff.py": 5,
    "ops/socket_access.py": 3,
    "ops/staff/README.md": 2,
    "ops/staff/routing_page.py": 1,
    "ops/staff/turn_pages.py": 2,
    "ops/status/README.md": 1,
    "ops/status/caching.py": 1,
    "ops/status/exposition.py": 2,
    "ops/status/frame.py": 1,
    "ops/status/live.py": 2,
    "ops/status/texts.py": 4,
    "ops/transcripts/meanings.py": 1,
    "ops/transcripts/queries.py": 2,
    "tests/acceptance/test_load.py": 1,
    "tests/database/alerts/test_alerts.py": 1,
    "tests/database/alerts/test_lasting.py": 1,
    "tests/database/alerts/test_sending.py": 1,
    "tests/database/backups/test_asking_for_a_drill.py": 1,
    "tests/database/selections/test_following.py": 1,
    "tests/database/selections/test_route_command.py": 1,
    "tests/database/selections/test_selecting.py": 1,
    "tests/database/selections/test_the_copy_on_disk.py": 1,
    "tests/database/test_demo_people.py": 3,
    "tests/database/test_journal.py": 2,
    "tests/database/test_people_and_cards.py": 3,
    "tests/database/test_throttle.py": 3,
    "tests/database/test_transcript.py": 2,
    "tests/database/test_waiting_room.py": 1,
    "tests/database/test_what_is_typed.py": 1,
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
