"""Finds the service that `scripts/up` runs from a state folder."""

import json
from pathlib import Path

from ops.stack.state import StateFolder


class NoRunningService(Exception):
    """No `scripts/up` runs from the state folder. The text says the mend."""


def web_addresses(state_dir: Path, *, mend: str) -> list[str]:
    """The address of each web process, in order. Raises NoRunningService, whose text ends with `mend`."""
    try:
        facts = json.loads(StateFolder(state_dir).environment.read_text())
        addresses = [f"http://127.0.0.1:{int(port)}" for port in facts["ports"]]
    except (OSError, ValueError, KeyError, TypeError):
        addresses = []
    if not addresses:
        raise NoRunningService(f"No scripts/up runs from {state_dir}. {mend}")
    return addresses


def token_folder(state_dir: Path) -> Path:
    """Where the rehearsal providers of a running `scripts/up` write their tokens."""
    return StateFolder(state_dir).run
