"""Every log line begins with an event, names its values, and stands in the reference."""

import pytest

from ops.project.log_reference import PAGE, LogCall, find_log_calls, render_log_page
from ops.project.structured_logs import parse_placeholders

CALLS = list(find_log_calls())


def test_the_page_of_log_lines_is_what_the_code_writes() -> None:
    # Write it again with: python -m ops.project.log_reference
    assert PAGE.read_text() == render_log_page(CALLS)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call.logger}:{call.line}")
def test_a_line_begins_with_its_event_and_names_each_value(call: LogCall) -> None:
    assert call.event, "begin with an event such as turn.ended"
    assert all(parse_placeholders(call.template)), "write each value as name=%s"


def test_an_event_is_always_of_one_level() -> None:
    levels: dict[str, set[str]] = {}
    for call in CALLS:
        levels.setdefault(call.event, set()).add(call.level)

    assert {event: found for event, found in levels.items() if len(found) > 1} == {}
