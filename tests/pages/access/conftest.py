"""The accessibility report of this run."""

from pathlib import Path

import pytest

from tests.pages.access.report import Report
from tests.pages.access.staff_states import STAFF_STATES
from tests.pages.access.stage import name_state
from tests.pages.access.states import STATES

PARTICIPANTS = "Pages of participants"
STAFF = "Pages of staff"


@pytest.fixture(scope="session")
def report(reports: Path) -> Report:
    """The report that every test of a state adds its row to."""
    expected = {
        PARTICIPANTS: [name_state(state) for state in STATES],
        STAFF: [name_state(state) for state in STAFF_STATES],
    }
    return Report(reports / "accessibility", expected=expected)
