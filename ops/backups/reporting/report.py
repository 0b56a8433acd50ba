"""The report of a run as JSON, as text for a terminal and as an HTML page. It contains no stored value."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.template.loader import render_to_string

from ops.backups.reporting.verdict import DrillVerdict, Level
from ops.backups.run.run_folder import make_private_folder
from ops.stack.state import write_private

VERSION = 1
MAX_LISTED = 40
TEMPLATE = "ops/drill_report.html"
EVIDENCE: Mapping[Level, str] = {
    "A": "a fresh dump and the source, at one snapshot",
    "B": "a backup and the manifest made with it",
    "C": "a file alone, with nothing to compare it with",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """Everything worth keeping of a run."""

    run: str
    started_at: str
    """ISO 8601, UTC."""
    ended_at: str
    verdict: DrillVerdict
    level: Level
    where: str
    """The kind of server that took the copy."""
    restored_on: str
    """That server as text; for a target its address."""
    source: str
    server: str
    tools: str
    rows: int
    tables: Mapping[str, Mapping[str, Any]]
    """{table: {rows, bytes, equal}}."""
    objects: Mapping[str, int]
    """{catalogue kind: objects compared}."""
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
    """Seconds of restore and ANALYZE. 0 if they did not complete."""
    kept_dump: str = ""
    as_of: str = ""
    """Time of the drilled data, ISO 8601, which is the age of a proof. Empty if unknown."""
    in_use_doubt: str = ""
    """Why the source may not be the database in use; empty if it is, or if a file was drilled."""
    source_is_damaged: bool = False
    """Whether part of the database in use cannot be read."""
    report: int = VERSION

    @property
    def means(self) -> str:
        """What the verdict means on this evidence."""
        return self.verdict.explain(self.level, source_is_damaged=self.source_is_damaged)

    @property
    def was_restored(self) -> bool:
        """Whether a restore completed; without one there is no evidence."""
        return self.restore_s > 0

    @property
    def age(self) -> str:
        """Time and age of the drilled data, as text."""
        if not self.as_of:
            return "unknown: the file has no time, or one in the future"
        at, started = datetime.fromisoformat(self.as_of), datetime.fromisoformat(self.started_at)
        return f"of {at:%Y-%m-%d %H:%M} UTC, {format_age(started - at)} when it was drilled"

    @property
    def evidence(self) -> str:
        """What the copy was compared with, as text."""
        return EVIDENCE[self.level]

    @property
    def expected(self) -> list[tuple[str, float]]:
        """[(size, seconds)]: expected restore times for more data, in proportion to this one."""
        if not self.was_restored or not self.source_bytes:
            return []
        return [(f"{times} x this size", round(self.restore_s * times, 1)) for times in (1, 2, 10)]

    @property
    def expectations(self) -> list[tuple[str, str]]:
        """`expected` with times as text."""
        return [(size, f"about {format_duration(seconds)}") for size, seconds in self.expected]

    def to_json(self) -> str:
        return json.dumps(
            {**asdict(self), "means": self.means, "expected_restore_s": dict(self.expected)}, indent=1
        )

    def to_text(self) -> str:
        return "\n".join(
            [
                *_format_section("Left by earlier runs and cleaned", self.cleaned),
                *_format_section("Looks like ours and was left alone", self.left_alone),
                f"Source   {self.source}"
                + (f", PostgreSQL {self.server}, {_format_mb(self.source_bytes)}" if self.server else ""),
                *([f"Data     {self.age}"] if self.was_restored else []),
                self._format_where(),
                *self._format_content(),
                "Seconds  " + ", ".join(f"{name} {s:.1f}" for name, s in self.seconds.items()),
                *self._format_expected(),
                *_format_section("Remarks", self.remarks),
                *_format_section("DIFFERENT", self.differences),
                *_format_section("NOT PROVED", self.not_proved),
                *_format_section("LEFT BEHIND", self.left_behind),
                *([f"Stopped  {self.stopped}"] if self.stopped else []),
                *([f"Dump     kept in {self.kept_dump}"] if self.kept_dump else []),
                f"Verdict  {self.verdict}",
                f"         {self.means}",
            ]
        )

    def _format_where(self) -> str:
        if not self.was_restored:
            return f"Where    {self.restored_on}; nothing was restored"
        return f"Where    {self.restored_on}, tools {self.tools}; evidence level {self.level}: {EVIDENCE[self.level]}"

    def _format_expected(self) -> list[str]:
        said = [f"{time} at {size}" for size, time in self.expectations]
        return [f"Restore  {'; '.join(said)}"] if said else []

    def _format_content(self) -> list[str]:
        if not self.tables:
            return []
        return [
            f"Content  {self.rows:,} rows in {len(self.tables)} tables, {sum(self.objects.values()):,} objects"
            f"{', compared with nothing' if self.level == 'C' else ''}; archive {_format_mb(self.archive_bytes)}"
        ]

    def to_page(self) -> str:
        """Return an HTML page without scripts or links to other files."""
        context = {
            "report": self,
            "started": datetime.fromisoformat(self.started_at),
            "rows": f"{self.rows:,}",
            "objects": f"{sum(self.objects.values()):,}",
            "seconds": [(name, f"{spent:.1f}") for name, spent in self.seconds.items()],
            "tables": [
                (name, f"{table['rows']:,}", f"{table['bytes']:,}", table["equal"])
                for name, table in self.tables.items()
            ],
        }
        return render_to_string(TEMPLATE, context)


def format_age(age: timedelta) -> str:
    """PURE: format an age."""
    hours = max(0.0, age.total_seconds() / 3600)
    if hours < 1:
        return "under 1 hour old"
    if hours < 48:
        return f"{hours:.0f} hour{'' if round(hours) == 1 else 's'} old"
    return f"{hours / 24:.0f} days old"


def format_duration(seconds: float) -> str:
    """PURE: format a duration, rounded to what is meaningful."""
    if seconds < 120:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def write(report: Report, folder: Path) -> Path:
    """Write page and JSON privately to `folder`; return the page's path. The JSON is the record, so it is last."""
    make_private_folder(folder)
    page = folder / f"{report.run}.html"
    write_private(page, report.to_page())
    write_private(folder / f"{report.run}.json", report.to_json())
    return page


def _format_section(title: str, lines: tuple[str, ...]) -> list[str]:
    if not lines:
        return []
    more = [f"  … and {len(lines) - MAX_LISTED} more, in the report"] if len(lines) > MAX_LISTED else []
    return [f"{title}:", *[f"  - {line}" for line in lines[:MAX_LISTED]], *more]


def _format_mb(size: int) -> str:
    return f"{size / 1_000_000:,.1f} MB"
