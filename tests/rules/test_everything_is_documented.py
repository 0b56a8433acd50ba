"""What can be set, run or relied on stands in the README, or these tests fail."""

import inspect
import re
from pathlib import Path
from typing import get_args

import pytest

from companion import frames
from ops.project.env import KNOWN

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
SOCKET = (
    (ROOT / "companion" / "README.md").read_text().split("**The socket, version 1.**")[1].split("\n\n")[0]
)
INCOMING = {get_args(kind.model_fields["type"].annotation)[0] for kind in get_args(frames.Frame)}
ENDINGS = {
    frames.ending(1, state, 1, "line")["type"] for state in ("complete", "stopped", "paused", "refused")
}
OUTGOING = set(re.findall(r'"type": "(\w+)"', inspect.getsource(frames))) | ENDINGS
COMMANDS = sorted(path.stem for path in (ROOT / "ops" / "management" / "commands").glob("[a-z]*.py"))


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_every_setting_stands_in_the_table_of_settings(name: str) -> None:
    assert re.search(rf"^\| `{name}` \|", README, re.M)


def test_the_table_of_settings_names_nothing_that_does_not_exist() -> None:
    table = README.split("### Settings")[1].split("###")[0]

    assert set(re.findall(r"^\| `(\w+)` \|", table, re.M)) == KNOWN


@pytest.mark.parametrize("command", COMMANDS)
def test_every_management_command_stands_in_the_readme(command: str) -> None:
    assert f"`manage.py {command}" in README


@pytest.mark.parametrize("path", re.findall(r"`((?:ops|personas|scripts)/[\w./-]+)`", README))
def test_every_path_the_readme_names_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("frame", sorted(INCOMING | OUTGOING))
def test_every_frame_of_the_socket_stands_in_the_readme_of_its_room(frame: str) -> None:
    assert f"`{frame}`" in SOCKET


def test_the_readme_names_no_frame_that_does_not_exist() -> None:
    assert set(re.findall(r"`(\w+)`", SOCKET)) == INCOMING | OUTGOING
