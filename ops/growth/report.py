"""The report of one growth run: lines for a terminal, JSON for programs, an HTML page with plots."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.template.loader import render_to_string

from ops.growth.churn import ChurnPoint
from ops.growth.figures import FLAT_RATIO, OperationCost, OperationGrowth
from ops.growth.plans import MAX_BLOCKS_IN_SEQUENCE, MAX_READ_FOR_EACH_RETURNED, MAX_ROWS_READ
from ops.growth.run import GrowthResult
from ops.testbed.plots import Plot, plot_sizes
from ops.testbed.report_files import write_report

TEMPLATE = "ops/growth_report.html"
STATEMENT_CHARS = 160


def format_lines(result: GrowthResult) -> Iterator[str]:
    """The table, and what does not hold."""
    yield (
        "Rows read and blocks of 8 kB touched are of one operation; ratios are to the smallest size, for each row "
        "returned where more is returned. Times are medians, told beside them."
    )
    for growing, growths in group_by_growing(result).items():
        yield ""
        first = growths[0]
        sizes = " → ".join(f"{size:,}" for size in first.costs)
        yield f"{growing}: {sizes}"
        yield f"  {'':38}{'rows read':>24}{'ratio':>7}{'blocks':>24}{'ratio':>7}{'ms':>26}"
        for growth in growths:
            yield _format_growth(growth)
    yield ""
    yield from format_faults(result)
    yield f"The database had {result.database_bytes / 1e9:.1f} GB. Load average of the machine: {format_load(result)}."


def format_faults(result: GrowthResult) -> Iterator[str]:
    """What grew or was planned badly; one line if nothing was."""
    for growth in result.broken:
        if growth.verdict == "GROWS":
            yield (
                f"GROWS  {growth.growing}, {growth.title}: rows ×{growth.rows_ratio:.1f}, blocks "
                f"×{growth.blocks_ratio:.1f}; at most ×{growth.bound:.1f} is flat or logarithmic."
            )
        for statement, fault in growth.faults:
            yield f"PLAN   {growth.growing}, {growth.title}: {fault}: {statement[:STATEMENT_CHARS]}"
    if not result.broken:
        yield "Nothing grew beyond its bound, and no plan read much more than it returned."


def format_load(result: GrowthResult) -> str:
    before, after = result.load_average
    return f"{before:.1f} before, {after:.1f} after"


def format_churn(points: Sequence[ChurnPoint]) -> Iterator[str]:
    """What turns left behind on the way, as a table."""
    yield f"  {'turns':>12}{'gate, blocks':>14}{'its indexes, MB':>17}  table: dead rows, vacuums, MB, MB of indexes"
    for point in points:
        tables = "; ".join(
            f"{name.partition('_')[2]} {one.dead_rows:,}, {one.vacuums}, {one.table_bytes / 1e6:.1f}, "
            f"{one.index_bytes / 1e6:.1f}"
            for name, one in sorted(point.tables.items())
        )
        yield f"  {point.turns:>12,}{point.gate_blocks:>14,}{point.gate_index_bytes / 1e6:>17.2f}  {tables}"


def group_by_growing(result: GrowthResult) -> dict[str, list[OperationGrowth]]:
    """What was measured, by the title of what grew."""
    return {
        growing.title: [growth for growth in result.growths if growth.growing == growing.name]
        for growing in result.plan.growing
    }


def to_document(result: GrowthResult, *, at: datetime) -> dict[str, Any]:
    """The report as JSON values. Statements have no values in them."""
    return {
        "report": 1,
        "at": at.isoformat(),
        "passed": not result.broken,
        "plan": asdict(result.plan),
        "bounds": {
            "flat_ratio": FLAT_RATIO,
            "rows_read": MAX_ROWS_READ,
            "read_for_each_returned": MAX_READ_FOR_EACH_RETURNED,
            "blocks_in_sequence": MAX_BLOCKS_IN_SEQUENCE,
        },
        "database_bytes": result.database_bytes,
        "load_average": list(result.load_average),
        "growths": [
            {
                "growing": growth.growing,
                "operation": growth.operation,
                "title": growth.title,
                "rows_ratio": round(growth.rows_ratio, 3),
                "blocks_ratio": round(growth.blocks_ratio, 3),
                "time_ratio": growth.time_ratio and round(growth.time_ratio, 3),
                "bound": round(growth.bound, 3),
                "verdict": growth.verdict,
                "faults": [{"statement": text, "fault": fault} for text, fault in growth.faults],
                "costs": {str(size): _describe(cost) for size, cost in growth.costs.items()},
            }
            for growth in result.growths
        ],
    }


def render_page(result: GrowthResult, *, at: datetime) -> str:
    """One HTML file without scripts and without requests."""
    groups = group_by_growing(result)
    context = {
        "result": result,
        "at": at,
        "groups": groups,
        "faults": list(format_faults(result)),
        "plots": [plot for growths in groups.values() for growth in growths if (plot := _plot(growth))],
        "load": format_load(result),
        "gigabytes": result.database_bytes / 1e9,
    }
    return render_to_string(TEMPLATE, context)


def write(result: GrowthResult, folder: Path, *, at: datetime | None = None) -> Path:
    """Write page and JSON into a folder. Returns the path of the page."""
    at = at or datetime.now(UTC)
    return write_report(
        folder, "growth", at=at, page=render_page(result, at=at), document=to_document(result, at=at)
    )


def _format_growth(growth: OperationGrowth) -> str:
    costs = list(growth.costs.values())
    rows = " → ".join(_format_count(cost.rows_read) for cost in costs)
    blocks = " → ".join(_format_count(cost.blocks) for cost in costs)
    times = " → ".join("–" if cost.time_ms is None else f"{cost.time_ms:.2f}" for cost in costs)
    verdict = "" if growth.holds else "  ← PLAN" if growth.verdict != "GROWS" else "  ← GROWS"
    return (
        f"  {growth.title:38}{rows:>24}{growth.rows_ratio:>7.2f}{blocks:>24}{growth.blocks_ratio:>7.2f}"
        f"{times:>26}  {growth.verdict}{verdict}"
    )


def _format_count(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:.2g}"


def _describe(cost: OperationCost) -> Mapping[str, Any]:
    return {
        "rows_read": round(cost.rows_read, 3),
        "rows_returned": round(cost.rows_returned, 3),
        "blocks": round(cost.blocks, 3),
        "times_ms": {what: round(ms, 3) for what, ms in cost.times_ms.items()},
        "units": cost.units,
        "statements": [
            {
                "times": one.times,
                "rows_read": one.plan.rows_read,
                "rows_returned": one.plan.rows_returned,
                "blocks": one.plan.blocks,
                "text": one.plan.text[: 4 * STATEMENT_CHARS],
            }
            for one in sorted(cost.statements, key=lambda one: -one.times * one.plan.blocks)[:20]
        ],
    }


def _plot(growth: OperationGrowth) -> Plot | None:
    values = [(size, cost.blocks) for size, cost in growth.costs.items()]
    return plot_sizes(
        f"{growth.title[:1].upper()}{growth.title[1:]}, by {growth.growing}",
        values,
        unit="blocks",
        described=f"From {values[0][1]:,.0f} to {values[-1][1]:,.0f} blocks: {growth.verdict.lower()}.",
    )
