"""Writes the report of one run: an HTML page with pictures, without scripts and requests, and the verdict as JSON."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from django.template.loader import render_to_string

from ops.ordeal.history import RunHistory
from ops.ordeal.judge.verdict import RULES, OrdealVerdict
from ops.ordeal.machine_load import describe_load, read_load
from ops.ordeal.report.chart import count_in_flight, draw_run
from ops.ordeal.report.lines import to_document
from ops.ordeal.report.timeline import describe_turn, list_faults, list_neighbourhood
from ops.testbed.plots import plot_steps
from ops.testbed.report_files import write_report

TEMPLATE = "ops/ordeal_report.html"
MOST_SHOWN = 100
"""Violations on the page; the JSON file has all of them."""


def render_page(history: RunHistory, verdict: OrdealVerdict, *, at: datetime, repeat: str) -> str:
    """One HTML file. `repeat` is the command that runs the same again."""
    first = verdict.violations[0] if verdict.violations else None
    broken = Counter(one.rule for one in verdict.violations)
    ceiling = int(history.limits.get("ceiling", 0))
    return render_to_string(
        TEMPLATE,
        {
            "at": at,
            "verdict": verdict,
            "repeat": repeat,
            "checks": sum(verdict.checked.values()),
            "rules": [(rule, verdict.checked[rule.name], broken[rule.name]) for rule in RULES],
            "first": first,
            "near": list_neighbourhood(history, first) if first else [],
            "row": describe_turn(history, first.turn) if first and first.turn is not None else [],
            "shown": verdict.violations[:MOST_SHOWN],
            "chart": draw_run(history, verdict.violations),
            "plot": plot_steps(
                "Calls in flight at the providers",
                count_in_flight(history),
                limit=ceiling,
                limit_label=f"ceiling {ceiling}",
            ),
            "timeline": list_faults(history),
            "ends": _count_ends(history),
            "machine": describe_load(read_load(history)),
        },
    )


def _count_ends(history: RunHistory) -> Sequence[tuple[str, int]]:
    ends = Counter(f"{row['state']} {row.get('reason') or ''}".strip() for row in history.rows("turns"))
    return ends.most_common()


def write(
    history: RunHistory, verdict: OrdealVerdict, folder: Path, *, repeat: str, at: datetime | None = None
) -> Path:
    """Write page and JSON into a folder. Returns the path of the page."""
    at = at or datetime.now(UTC)
    page = render_page(history, verdict, at=at, repeat=repeat)
    return write_report(folder, "ordeal", at=at, page=page, document=to_document(verdict))
