"""The report of one load test: lines for a terminal, JSON for programs, an HTML page with plots."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.template.loader import render_to_string

from ops.load.figures import Distribution, LoadFigures
from ops.load.run import LoadResult
from ops.testbed.plots import Plot, plot_percentiles, plot_steps
from ops.testbed.report_files import write_report

TEMPLATE = "ops/load_report.html"


def list_distributions(figures: LoadFigures) -> list[tuple[str, str, Distribution]]:
    """(what, unit, distribution) of every distribution."""
    return [
        ("session start: socket opened to hello", "ms", figures.session_start),
        ("wait, of those who waited", "ms", figures.wait),
        ("Send to the first word, waits included", "ms", figures.first_word),
        ("a freed slot is taken after", "ms", figures.slot_taken),
        ("words a second", "", figures.words_per_s),
    ]


def format_lines(result: LoadResult) -> Iterator[str]:
    figures = result.figures
    yield f"{result.plan.title}; {len(result.service.webs)} web processes, ceiling {result.service.ceiling}"
    yield f"  {'':42}{'count':>8}{'p50':>10}{'p95':>10}{'p99':>10}{'most':>10}"
    for what, unit, values in list_distributions(figures):
        if values.count:
            cells = "".join(f"{value:>10,.1f}" for value in (values.p50, values.p95, values.p99, values.most))
            yield f"  {f'{what}, {unit}' if unit else what:42}{values.count:>8}{cells}"
    if figures.gaps["p99"]:
        yield _gaps("between words, ms", figures.gaps)
        yield _gaps("between words as sent, ms", figures.sent_gaps)
    ends = ", ".join(f"{count} {how}" for how, count in figures.ends.items()) or "no questions"
    yield f"  Turns: {ends}. {figures.waited} waited. Pages that had to reconnect: {figures.returned}."
    for process, peak in result.memory.items():
        yield f"  Web process {process} used at most {peak / 1_000_000:.0f} MB; {figures.open_at_once} sockets."
    if result.cpu.by_part:
        yield f"  CPU over {result.cpu.took_s:.0f} s: {', '.join(describe_cpu(result))}."
    yield "  Load average of the machine at the start and the end: {:.1f}, {:.1f}.".format(
        *result.load_average
    )
    yield ""
    for check in result.checks:
        yield f"  {'held    ' if check.held else 'NOT HELD'}  {check.what}: {check.found}"
    for target in result.targets:
        limit = f"{'at least' if target.at_least else 'at most'} {target.limit:g}"
        measured = f"{target.measured:,.1f} {target.unit}".rstrip()
        yield f"  {'met     ' if target.met else 'not met '}  {target.what}: {measured} ({limit})"


def describe_cpu(result: LoadResult) -> Iterator[str]:
    """What each part used, as one clause each."""
    replies = sum(result.figures.ends.values())
    for part, used_s in result.cpu.by_part.items():
        each = f", {used_s * 1000 / replies:.1f} ms a reply" if replies else ""
        yield f"{part} {used_s:.1f} s ({used_s / result.cpu.total_s:.0%}{each})"


def to_document(result: LoadResult, *, at: datetime) -> dict[str, Any]:
    """The report as JSON values."""
    return {
        "report": 1,
        "at": at.isoformat(),
        "passed": result.passed,
        "plan": asdict(result.plan),
        "processes": len(result.service.webs),
        "ceiling": result.service.ceiling,
        "wait_ceiling_s": result.service.wait_ceiling_s,
        "figures": asdict(result.figures),
        "checks": [asdict(check) for check in result.checks],
        "targets": [asdict(target) | {"met": target.met} for target in result.targets],
        "errors": result.errors,
        "memory": result.memory,
        "cpu": asdict(result.cpu),
        "load_average": result.load_average,
    }


def render_page(result: LoadResult, *, at: datetime) -> str:
    """One HTML file without scripts and without requests."""
    return render_to_string(
        TEMPLATE,
        {
            "result": result,
            "at": at,
            "rows": [row for row in list_distributions(result.figures) if row[2].count],
            "cpu": list(describe_cpu(result)),
            "plots": _plots(result),
        },
    )


def write(result: LoadResult, folder: Path, *, at: datetime | None = None) -> Path:
    """Write page and JSON into a folder. Returns the path of the page."""
    at = at or datetime.now(UTC)
    return write_report(
        folder, "load", at=at, page=render_page(result, at=at), document=to_document(result, at=at)
    )


def _gaps(what: str, gaps: Mapping[str, float]) -> str:
    return f"  {what:50}" + "".join(f"{gaps[name]:>10,.1f}" for name in ("p50", "p95", "p99"))


def _plots(result: LoadResult) -> list[Plot]:
    figures = result.figures
    plots = [
        plot_steps(
            "Answers in flight at the provider",
            result.in_flight,
            limit=result.service.ceiling,
            limit_label=f"ceiling {result.service.ceiling}",
        ),
        *(
            plot_percentiles(
                what[0].upper() + what[1:],
                values.curve,
                unit=unit,
                described=f"Half of all at most {values.p50:,.0f} {unit}, 95 of 100 at most {values.p95:,.0f} {unit}.",
            )
            for what, unit, values in list_distributions(figures)
        ),
    ]
    return [plot for plot in plots if plot is not None]
