"""The report of one load test: lines for a terminal, JSON for programs, a page with drawings for people."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.template.loader import render_to_string

from ops.load.figures import Figures, Spread
from ops.load.plots import Plot, curve, steps
from ops.load.run import Outcome
from ops.stack.state import write_private

TEMPLATE = "ops/load_report.html"


def rows(figures: Figures) -> list[tuple[str, str, Spread]]:
    """(what, unit, spread) of everything that is spread."""
    return [
        ("session start: socket opened to hello", "ms", figures.session_start),
        ("wait, of those who waited", "ms", figures.wait),
        ("Send to the first word, waits included", "ms", figures.first_word),
        ("a freed slot is taken after", "ms", figures.slot_taken),
        ("words a second", "", figures.words_per_s),
    ]


def lines(outcome: Outcome) -> Iterator[str]:
    """For a terminal."""
    figures = outcome.figures
    yield f"{outcome.plan.title}; {len(outcome.service.webs)} web processes, ceiling {outcome.service.ceiling}"
    yield f"  {'':42}{'count':>8}{'p50':>10}{'p95':>10}{'p99':>10}{'most':>10}"
    for what, unit, spread in rows(figures):
        if spread.count:
            cells = "".join(f"{value:>10,.1f}" for value in (spread.p50, spread.p95, spread.p99, spread.most))
            yield f"  {f'{what}, {unit}' if unit else what:42}{spread.count:>8}{cells}"
    if figures.gaps["p99"]:
        yield _gaps("between words, ms", figures.gaps)
        yield _gaps("between words as sent, ms", figures.sent_gaps)
    ends = ", ".join(f"{count} {how}" for how, count in figures.ends.items()) or "no questions"
    yield f"  Turns: {ends}. {figures.waited} waited. Pages that had to come back: {figures.returned}."
    for process, held in outcome.memory.items():
        yield f"  Web process {process} held {held / 1_000_000:.0f} MB at its fullest; {figures.open_at_once} sockets."
    yield ""
    for check in outcome.checks:
        yield f"  {'held    ' if check.held else 'NOT HELD'}  {check.what}: {check.found}"
    for target in outcome.targets:
        limit = f"{'at least' if target.at_least else 'at most'} {target.limit:g}"
        measured = f"{target.measured:,.1f} {target.unit}".rstrip()
        yield f"  {'met     ' if target.met else 'not met '}  {target.what}: {measured} ({limit})"


def document(outcome: Outcome, *, at: datetime) -> dict[str, Any]:
    """For programs."""
    return {
        "report": 1,
        "at": at.isoformat(),
        "passed": outcome.passed,
        "plan": asdict(outcome.plan),
        "processes": len(outcome.service.webs),
        "ceiling": outcome.service.ceiling,
        "wait_ceiling_s": outcome.service.wait_ceiling_s,
        "figures": asdict(outcome.figures),
        "checks": [asdict(check) for check in outcome.checks],
        "targets": [asdict(target) | {"met": target.met} for target in outcome.targets],
        "errors": outcome.errors,
        "memory": outcome.memory,
    }


def page(outcome: Outcome, *, at: datetime) -> str:
    """For people: one file, no script, nothing from elsewhere."""
    return render_to_string(
        TEMPLATE,
        {
            "outcome": outcome,
            "at": at,
            "rows": [row for row in rows(outcome.figures) if row[2].count],
            "plots": _plots(outcome),
        },
    )


def write(outcome: Outcome, folder: Path, *, at: datetime | None = None) -> Path:
    """Write page and JSON into a folder; returns where the page is."""
    at = at or datetime.now(UTC)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"load-{at:%Y%m%dT%H%M%SZ}.html"
    write_private(path.with_suffix(".json"), json.dumps(document(outcome, at=at), indent=1))
    write_private(path, page(outcome, at=at))
    return path


def _gaps(what: str, gaps: Mapping[str, float]) -> str:
    return f"  {what:50}" + "".join(f"{gaps[name]:>10,.1f}" for name in ("p50", "p95", "p99"))


def _plots(outcome: Outcome) -> list[Plot]:
    figures = outcome.figures
    drawn = [
        steps(
            "Answers that run at the provider",
            outcome.in_flight,
            limit=outcome.service.ceiling,
            limit_named=f"ceiling {outcome.service.ceiling}",
        ),
        *(
            curve(
                what[0].upper() + what[1:],
                spread.curve,
                unit=unit,
                described=f"Half of all at most {spread.p50:,.0f} {unit}, 95 of 100 at most {spread.p95:,.0f} {unit}.",
            )
            for what, unit, spread in rows(figures)
        ),
    ]
    return [plot for plot in drawn if plot is not None]
