"""The report of one run: the same facts as JSON, as text for a terminal and as a page for people. Never a value."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.template.loader import render_to_string

from ops.backups.reporting.verdict import Level, Verdict
from ops.backups.run.run_folder import make_private
from ops.stack.state import write_private

VERSION = 1
SHOWN = 40
TEMPLATE = "ops/drill_report.html"
EVIDENCE: Mapping[Level, str] = {
    "A": "a fresh dump and the source, at one snapshot",
    "B": "a backup and the manifest made with it",
    "C": "a file alone, which nothing was there to compare with",
}


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
    """The kind of place."""
    restored_on: str
    """The place in words: for a target, which."""
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
    """Restore and ANALYZE: from an empty database to one that can serve. 0 where it did not come to that."""
    kept_dump: str = ""
    as_of: str = ""
    """The moment whose data were drilled, ISO 8601: a proof is worth no more. Empty where that is unknown."""
    in_use_doubt: str = ""
    """Why the source may not be the database in use; empty where it is, or where a file was drilled."""
    source_is_damaged: bool = False
    """Whether part of the database in use cannot be read."""
    report: int = VERSION

    @property
    def means(self) -> str:
        """What the verdict says on this evidence."""
        return self.verdict.means(self.level, source_is_damaged=self.source_is_damaged)

    @property
    def was_restored(self) -> bool:
        """Whether a restore went through; only then is there evidence of anything."""
        return self.restore_s > 0

    @property
    def age(self) -> str:
        """How old the data were that were drilled, for people."""
        if not self.as_of:
            return "unknown: the file does not say when it was made, or names a time to come"
        at, started = datetime.fromisoformat(self.as_of), datetime.fromisoformat(self.started_at)
        return f"of {at:%Y-%m-%d %H:%M} UTC, {age_said(started - at)} when it was drilled"

    @property
    def evidence(self) -> str:
        """What the copy was held against, in words."""
        return EVIDENCE[self.level]

    @property
    def expected(self) -> list[tuple[str, float]]:
        """(size, seconds): the restore time to expect as the data grow, in proportion to what was measured."""
        if not self.was_restored or not self.source_bytes:
            return []
        return [(f"{times} x this size", round(self.restore_s * times, 1)) for times in (1, 2, 10)]

    @property
    def expectations(self) -> list[tuple[str, str]]:
        """(size, time) for people."""
        return [(size, f"about {duration(seconds)}") for size, seconds in self.expected]

    def as_json(self) -> str:
        """The machine's form."""
        return json.dumps(
            {**asdict(self), "means": self.means, "expected_restore_s": dict(self.expected)}, indent=1
        )

    def as_text(self) -> str:
        """The terminal's form."""
        return "\n".join(
            [
                *_section("Left by earlier runs and cleaned", self.cleaned),
                *_section("Looks like ours and was left alone", self.left_alone),
                f"Source   {self.source}"
                + (f", PostgreSQL {self.server}, {_mb(self.source_bytes)}" if self.server else ""),
                *([f"Data     {self.age}"] if self.was_restored else []),
                self._where(),
                *self._content(),
                "Seconds  " + ", ".join(f"{name} {s:.1f}" for name, s in self.seconds.items()),
                *self._expected(),
                *_section("Remarks", self.remarks),
                *_section("DIFFERENT", self.differences),
                *_section("NOT PROVED", self.not_proved),
                *_section("LEFT BEHIND", self.left_behind),
                *([f"Stopped  {self.stopped}"] if self.stopped else []),
                *([f"Dump     kept in {self.kept_dump}"] if self.kept_dump else []),
                f"Verdict  {self.verdict}",
                f"         {self.means}",
            ]
        )

    def _where(self) -> str:
        if not self.was_restored:
            return f"Where    {self.restored_on}; nothing was restored"
        return f"Where    {self.restored_on}, tools {self.tools}; evidence level {self.level}: {EVIDENCE[self.level]}"

    def _expected(self) -> list[str]:
        said = [f"{time} at {size}" for size, time in self.expectations]
        return [f"Restore  {'; '.join(said)}"] if said else []

    def _content(self) -> list[str]:
        if not self.tables:
            return []
        return [
            f"Content  {self.rows:,} rows in {len(self.tables)} tables, {sum(self.objects.values()):,} objects"
            f"{', compared with nothing' if self.level == 'C' else ''}; archive {_mb(self.archive_bytes)}"
        ]

    def as_page(self) -> str:
        """A page that needs nothing beside itself: no script, no other file."""
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


def age_said(age: timedelta) -> str:
    """PURE: how old something is, for people."""
    hours = max(0.0, age.total_seconds() / 3600)
    if hours < 1:
        return "under 1 hour old"
    if hours < 48:
        return f"{hours:.0f} hour{'' if round(hours) == 1 else 's'} old"
    return f"{hours / 24:.0f} days old"


def duration(seconds: float) -> str:
    """PURE: a time for people, no finer than it is known."""
    if seconds < 120:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def write(report: Report, folder: Path) -> Path:
    """Write both files privately under `folder`; returns the page's path. The JSON is the record, so it comes last."""
    make_private(folder)
    page = folder / f"{report.run}.html"
    write_private(page, report.as_page())
    write_private(folder / f"{report.run}.json", report.as_json())
    return page


def _section(title: str, lines: tuple[str, ...]) -> list[str]:
    if not lines:
        return []
    more = [f"  … and {len(lines) - SHOWN} more, in the report"] if len(lines) > SHOWN else []
    return [f"{title}:", *[f"  - {line}" for line in lines[:SHOWN]], *more]


def _mb(size: int) -> str:
    return f"{size / 1_000_000:,.1f} MB"
