"""Settings, commands, addresses and frames stand in the reference pages, and the pages name nothing else."""

import inspect
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest
from django.conf import settings

from companion import frames
from companion.supervision.entry_view import EntryView
from companion.supervision.states import EntryKind
from ops.project.settings_reference import PAGE, render_settings_page
from ops.project.wiring.pools import count_connections
from ops.stack.version import VERSION

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "ops" / "reference"
COMMANDS_PAGE = (REFERENCE / "commands.md").read_text()
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "PROMISES.md")),
    *sorted(REFERENCE.glob("*.md")),
    *sorted((ROOT / "ops" / "decisions").glob("*.md")),
    *sorted((ROOT / "ops" / "runbooks").glob("*.md")),
]
SOCKET = (
    (ROOT / "companion" / "README.md").read_text().split("**The socket, version 1.**")[1].split("\n\n")[0]
)
INCOMING = {get_args(kind.model_fields["type"].annotation)[0] for kind in get_args(frames.Frame)}
ENDINGS = {
    frames.ending(1, state, 1, "line")["type"] for state in ("complete", "stopped", "paused", "refused")
}
ENTRIES = {
    frames.entry(
        EntryView(
            entry=1,
            conversation=1,
            kind=kind,
            key=None,
            name="",
            text="",
            at=datetime.now(UTC),
            after_turn=0,
        )
    )["type"]
    for kind in EntryKind
    if kind is not EntryKind.DISCLOSURE
}
OUTGOING = set(re.findall(r'"type": "(\w+)"', inspect.getsource(frames))) | ENDINGS | ENTRIES
CHECKS_PAGE = (REFERENCE / "checks.md").read_text()
CHECK_NUMBER = re.compile(r"companion\.[EWI]\d{3}")
COMMANDS = {path.stem for path in (ROOT / "ops" / "management" / "commands").glob("[a-z]*.py")}
NAMED_PATH = re.compile(r"(?:`|\]\()((?:ops|personas|scripts|companion|routing|tests)/[\w./-]+)[`)]")
README_LINES = 150


def test_the_page_of_settings_is_what_the_declarations_say() -> None:
    # Write it again with: python -m ops.project.settings_reference
    assert PAGE.read_text() == render_settings_page(settings.DECLARED_SETTINGS)


def test_a_setting_has_the_name_under_which_it_is_used() -> None:
    renamed = {"EMAIL_URL": "MAIL_SERVER"}

    assert all(
        hasattr(settings, renamed.get(setting.name, setting.name)) for setting in settings.DECLARED_SETTINGS
    )


def test_the_page_of_commands_names_every_command_and_no_other() -> None:
    assert set(re.findall(r"^\| `manage\.py (\w+)", COMMANDS_PAGE, re.M)) == COMMANDS


def test_the_page_of_checks_names_every_number_once_and_no_other() -> None:
    raised = {
        number for path in (ROOT / "ops").rglob("*.py") for number in CHECK_NUMBER.findall(path.read_text())
    }
    # Lanes raise one of two numbers, by how many of them are left.
    raised |= {f"companion.{level}{number}" for level in "EW" for number in ("040", "041")}
    listed = [
        number
        for row in re.findall(r"^\| (.+?) \|", CHECKS_PAGE, re.M)
        for number in CHECK_NUMBER.findall(row)
    ]

    assert sorted(listed) == sorted(raised)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_that_a_page_names_exists(page: Path) -> None:
    missing = {path for path in NAMED_PATH.findall(page.read_text()) if not (ROOT / path).exists()}

    assert missing == set()


def test_the_changes_of_the_version_in_use_are_listed() -> None:
    assert f"\n## {VERSION}\n" in (ROOT / "CHANGELOG.md").read_text()
    assert re.fullmatch(r"\d+\.\d+\.\d+", VERSION)


def test_the_readme_fits_on_two_screens() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= README_LINES


@pytest.mark.parametrize(
    "record", sorted((ROOT / "ops" / "decisions").glob("[0-9]*.md")), ids=lambda path: path.stem
)
def test_a_decision_record_has_the_sections_of_the_template_in_order(record: Path) -> None:
    sections = re.findall(
        r"^\*\*(\w[\w ]*?)(?:\.\*\*|\*\*)", (record.parent / "0000-template.md").read_text(), re.M
    )
    written = [
        name
        for name in re.findall(r"^\*\*(\w[\w ]*?)(?:\.\*\*|\*\*)", record.read_text(), re.M)
        if name in sections
    ]

    assert written == [name for name in sections if name in written]
    assert {"Status", "Context", "Decision"} <= set(written)


@pytest.mark.parametrize(
    "record", sorted((ROOT / "ops" / "decisions").glob("[0-9]*.md")), ids=lambda path: path.stem
)
def test_every_decision_record_stands_in_the_list(record: Path) -> None:
    listed = (record.parent / "README.md").read_text()

    assert record.name in listed


@pytest.mark.parametrize("frame", sorted(INCOMING | OUTGOING))
def test_every_frame_of_the_socket_stands_in_the_readme_of_its_room(frame: str) -> None:
    assert f"`{frame}`" in SOCKET


def test_the_readme_names_no_frame_that_does_not_exist() -> None:
    assert set(re.findall(r"`(\w+)`", SOCKET)) == INCOMING | OUTGOING


def test_the_pages_name_how_many_connections_a_web_process_opens() -> None:
    most = count_connections()

    assert f"must hold {most} for each web process" in (ROOT / "ops" / "deploy" / "README.md").read_text()
    record = (ROOT / "ops" / "decisions" / "0013-how-it-grows.md").read_text()
    assert f"Each web process opens at most {most} connections" in record
