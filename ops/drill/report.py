"""The report of one run: the same facts as JSON, as text for a terminal and as a page for people. Never a value."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.template.loader import render_to_string

from ops.drill.verdict import Level, Verdict
from ops.stack.state import write_private

VERSION = 1
SHOWN = 40
TEMPLATE = "ops/drill_report.html"


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """Everything a run found out."""

    run: str
    started_at: str
    """ISO 8601, UTC."""
    ended_at: str
    verdict: Verdict
    level: Level
    where: str
    source: str
    server: str
    tools: str
    rows: int
    tables: Mapping[str, Mapping[str, Any]]
    """Table to rows, bytes, equal."""
    objects: Mapping[str, int]
    """Catalogue kind to how many were compared."""
    differences: tuple[str, ...]
    remarks: tuple[str, ...]
    settled: int
    stopped: str
    left_behind: tuple[str, ...]
    cleaned: tuple[str, ...]
    left_alone: tuple[str, ...]
    not_proved: tuple[str, ...]
    seconds: Mapping[str, float]
    source_bytes: int
    archive_bytes: int
    restore_s: float
    """Restore and ANALYZE: from an empty database to one that can serve."""
    kept_dump: str = ""
    report: int = VERSION

    @property
    def expected(self) -> list[tuple[str, float]]:
        """(size, seconds): the restore time to expect as the data grow, in proportion to what was measured."""
        if not self.restore_s or not self.source_bytes:
            return []
        return [(f"{times} x this size", round(self.restore_s * times, 1)) for times in (1, 2, 10)]

    @property
    def _expectation(self) -> str:
        return "; ".join(f"about {seconds:.0f} s at {size}" for size, seconds in self.expected)

    def as_json(self) -> str:
        """The machine's form."""
        return json.dumps({**asdict(self), "expected_restore_s": dict(self.expected)}, indent=1)

    def as_text(self) -> str:
        """The terminal's form."""
        return "\n".join(
            [
                *_section("Left by earlier runs and cleaned", self.cleaned),
                *_section("Looks like ours and was left alone", self.left_alone),
                f"Source   {self.source}, PostgreSQL {self.server}, {_mb(self.source_bytes)}",
                f"Where    {self.where}, tools {self.tools}; evidence level {self.level}",
                f"Content  {self.rows:,} rows in {len(self.tables)} tables, {sum(self.objects.values()):,} objects; "
                f"archive {_mb(self.archive_bytes)}",
                "Seconds  " + ", ".join(f"{name} {s:.1f}" for name, s in self.seconds.items()),
                *([f"Restore  {self._expectation}"] if self.expected else []),
                *_section("Remarks", self.remarks),
                *_section("DIFFERENT", self.differences),
                *_section("NOT PROVED", self.not_proved),
                *_section("LEFT BEHIND", self.left_behind),
                *([f"Stopped  {self.stopped}"] if self.stopped else []),
                *([f"Dump     kept in {self.kept_dump}"] if self.kept_dump else []),
                f"Verdict  {self.verdict}",
            ]
        )

    def as_page(self) -> str:
        """A page that needs nothing beside itself: no script, no other file."""
        return render_to_string(TEMPLATE, {"report": self, "objects": sum(self.objects.values())})


def write(report: Report, folder: Path) -> Path:
    """Write both files privately under `folder`; returns the page's path."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(folder / f"{report.run}.json", report.as_json())
    page = folder / f"{report.run}.html"
    write_private(page, report.as_page())
    return page


def _section(title: str, lines: tuple[str, ...]) -> list[str]:
    if not lines:
        return []
    more = [f"  … and {len(lines) - SHOWN} more, in the report"] if len(lines) > SHOWN else []
    return [f"{title}:", *[f"  - {line}" for line in lines[:SHOWN]], *more]


def _mb(size: int) -> str:
    return f"{size / 1_000_000:,.1f} MB"
