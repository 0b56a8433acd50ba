"""The drills that were run, from where their reports are kept: what the ops page and status.json show (D6)."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from ops.drill.report import duration
from ops.drill.verdict import Verdict

FOLDER = "drills"
QUARTER = timedelta(days=91)
UNREADABLE = "UNREADABLE"
NOTHING = "–"
EVIDENCE = {"A": "fresh dump", "B": "backup", "C": "file alone"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """One drill, in the few words a page has room for."""

    run: str
    at: datetime
    verdict: str
    level: str
    where: str
    rows: int
    source_bytes: int
    restore_s: float
    differences: int

    @property
    def evidence(self) -> str:
        """What was drilled, in words."""
        return EVIDENCE.get(self.level, NOTHING)

    @property
    def rows_said(self) -> str:
        """How many rows, for people."""
        return f"{self.rows:,}" if self.rows else NOTHING

    @property
    def restore_said(self) -> str:
        """How long the restore took, for people."""
        return duration(self.restore_s) if self.restore_s else NOTHING

    @property
    def tenfold_said(self) -> str:
        """How long it may take when the data have grown tenfold, for people."""
        return f"about {duration(10 * self.restore_s)}" if self.restore_s else NOTHING


def all_of(state_dir: Path) -> Iterator[Record]:
    """Every drill on record, the latest first, each read when it is asked for. A damaged one is shown as such."""
    # The names of runs begin with their time.
    return map(_read, sorted((state_dir / FOLDER).glob("*.json"), reverse=True))


def latest(state_dir: Path) -> Record | None:
    """The last drill, whatever came of it."""
    return next(all_of(state_dir), None)


def due_at(state_dir: Path) -> datetime | None:
    """When the next drill is due: a quarter after the last one that PROVED something. None: now, none ever did."""
    proved = proved_at(state_dir)
    return proved + QUARTER if proved else None


def proved_at(state_dir: Path) -> datetime | None:
    """When a drill last PROVED something."""
    return next((record.at for record in all_of(state_dir) if record.verdict == Verdict.PROVED), None)


def is_overdue(state_dir: Path, now: datetime) -> bool:
    """Whether a quarter has passed without a backup that somebody has restored."""
    due = due_at(state_dir)
    return due is None or due < now


def unproved(state_dir: Path, now: datetime) -> str | None:
    """Why operators must be told, or None while a proof is fresh and nothing newer contradicts it."""
    due = due_at(state_dir)
    if against := contradiction(state_dir):
        return against
    if due is None:
        return "no drill has proved it yet"
    return f"the last proof is of {due - QUARTER:%Y-%m-%d}" if due < now else None


def contradiction(state_dir: Path) -> str | None:
    """The drill that says otherwise, later than the last proof, or None."""
    # One that could not run says nothing, so it takes nothing back: only a later proof does.
    since = takewhile(lambda record: record.verdict != Verdict.PROVED, all_of(state_dir))
    for record in since:
        if record.verdict in {Verdict.DIFFERENT, Verdict.LEFT_SOMETHING_BEHIND, UNREADABLE}:
            return f"the drill of {record.at:%Y-%m-%d} says {record.verdict}, and none since has proved it"
    return None


def for_status(state_dir: Path) -> dict[str, str | None]:
    """The `drill` part of /ops/status.json: last_at, verdict, proved_at, due_at."""
    last, proved, due = latest(state_dir), proved_at(state_dir), due_at(state_dir)
    return {
        "last_at": last.at.isoformat() if last else None,
        "verdict": last.verdict if last else None,
        "proved_at": proved.isoformat() if proved else None,
        "due_at": due.isoformat() if due else None,
    }


def page_context(state_dir: Path, now: datetime, *, shown: int = 8) -> dict[str, Any]:
    """What templates/ops/_drills.html needs."""
    return {
        "drills": list(islice(all_of(state_dir), shown)),
        "drill_due_at": due_at(state_dir),
        "drill_proved_at": proved_at(state_dir),
        "drill_is_overdue": is_overdue(state_dir, now),
        "drill_contradicts": contradiction(state_dir),
    }


def _read(path: Path) -> Record:
    try:
        return _record(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Record(
            run=path.stem,
            at=datetime.fromtimestamp(path.stat().st_mtime, UTC),
            verdict=UNREADABLE,
            level="",
            where="",
            rows=0,
            source_bytes=0,
            restore_s=0,
            differences=0,
        )


def _record(facts: dict[str, Any]) -> Record:
    return Record(
        run=str(facts["run"]),
        at=datetime.fromisoformat(facts["ended_at"]),
        verdict=str(facts["verdict"]),
        level=str(facts["level"]),
        where=str(facts["where"]),
        rows=int(facts["rows"]),
        source_bytes=int(facts["source_bytes"]),
        restore_s=float(facts["restore_s"]),
        differences=len(facts["differences"]),
    )
