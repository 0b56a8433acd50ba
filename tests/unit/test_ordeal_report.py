"""The report of an ordeal leads to the first violation, shows the run, and asks no other origin."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

from ops.ordeal.judge.verdict import judge
from ops.ordeal.report.chart import count_in_flight, draw_run
from ops.ordeal.report.lines import format_verdict
from ops.ordeal.report.page import render_page, write
from ops.ordeal.report.timeline import MOST_EVENTS, list_neighbourhood
from tests.ordeal_edits import change_frames, change_rows, edit_history, rich_history, with_frame

RICH = rich_history()
LAST = 19
BROKEN = edit_history(
    RICH,
    change_frames({"type": "words", "turn": LAST, "seq": 3}, lambda event: [with_frame(event, text="X ")]),
)
AT = datetime(2026, 11, 30, 21, 0, tzinfo=UTC)
REPEAT = "manage.py ordeal --seed 1"


def test_without_a_violation_the_text_says_how_much_was_checked() -> None:
    verdict = judge(RICH)
    lines = list(format_verdict(RICH, verdict, repeat=REPEAT))

    assert lines[-1] == f"Seed 1: nothing found in {sum(verdict.checked.values()):,} checks."
    assert not any("BROKEN" in line for line in lines)


def test_a_rule_that_looked_at_nothing_is_not_said_to_hold() -> None:
    history = edit_history(RICH, change_rows("pauses", lambda rows: rows.clear()))
    lines = list(format_verdict(history, judge(history), repeat=REPEAT))

    [line] = [line for line in lines if line.endswith("No turn speaks in a pause")]
    assert line.split()[:4] == ["nothing", "to", "check", "0"]


def test_after_a_violation_the_text_shows_its_neighbourhood_and_how_to_repeat_it() -> None:
    verdict = judge(BROKEN)
    lines = list(format_verdict(BROKEN, verdict, repeat=REPEAT))

    assert lines[-1].endswith(f"To repeat: {REPEAT}")
    assert any(line.startswith("First violation") and "shown-is-stored" in line for line in lines)
    assert any("page:person1" in line and f"turn={LAST}" in line and "'X '" in line for line in lines)
    assert f"Turn {LAST} as it is stored:" in lines
    assert any("fault=kill" in line for line in lines)


def test_the_neighbourhood_holds_the_socket_the_calls_and_no_other_person() -> None:
    [first, *_] = judge(BROKEN).violations
    near = list_neighbourhood(BROKEN, first)

    assert 0 < len(near) <= MOST_EVENTS
    assert any("provider:first" in line and "asked" in line for line in near)
    assert not any("page:person2" in line for line in near)


def test_the_picture_has_a_row_for_each_person_and_a_bar_for_each_turn() -> None:
    chart = draw_run(BROKEN, judge(BROKEN).violations)

    assert [row.label for row in chart.rows] == [
        "faults",
        "person1",
        "person2",
        "sam",
        "tess",
        "web-1",
        "web-2",
    ]
    titles = [bar.title for bar in chart.bars]
    assert all(
        any(f"turn {turn}:" in title for title in titles)
        for turn in range(1, LAST + 1)
        if turn not in (10, 12)
    )
    assert all(0 <= bar.x <= chart.width and bar.x + bar.width <= chart.width + 2 for bar in chart.bars)
    assert chart.marks


def test_the_calls_in_flight_are_counted_at_each_change() -> None:
    samples = count_in_flight(RICH)

    assert max(count for _, count in samples) == 1
    assert samples[-1][1] == 0


def test_the_page_is_whole_by_itself(tmp_path: Path) -> None:
    path = write(BROKEN, judge(BROKEN), tmp_path, repeat=REPEAT, at=AT)
    page = path.read_text()

    assert "shown-is-stored" in page
    assert REPEAT in page
    assert "<script" not in page
    assert re.findall(r"""(?:src|href|url)\s*[=(]""", page) == []
    document = json.loads(path.with_suffix(".json").read_text())
    assert document["violations"][0]["rule"] == "shown-is-stored"
    assert document["seed"] == 1


def test_the_page_of_a_run_without_a_finding_says_so() -> None:
    page = render_page(RICH, judge(RICH), at=AT, repeat=REPEAT)

    assert "Ordeal, seed 1: nothing found" in page
    assert "The first violation" not in page
