"""The drills on record, read from their reports, for the ops page and status.json (D6)."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from django.utils.translation import gettext, ngettext

from ops.backups.reporting.report import format_duration
from ops.backups.reporting.verdict import DrillVerdict
from ops.backups.run.clock import is_in_the_future
from ops.catalogue_marks import gettext_noop

REPORTS_FOLDER = "drills"
QUARTER = timedelta(days=91)
UNREADABLE = "UNREADABLE"
NO_VALUE = "–"
EVIDENCE = {"A": gettext_noop("fresh dump"), "B": gettext_noop("backup"), "C": gettext_noop("file alone")}

VERDICTS = {
    DrillVerdict.PROVED: gettext_noop("PROVED"),
    DrillVerdict.PROCEDURE_ONLY: gettext_noop("PROCEDURE ONLY"),
    DrillVerdict.DIFFERENT: gettext_noop("DIFFERENT"),
    DrillVerdict.COULD_NOT_RUN: gettext_noop("COULD NOT RUN"),
    DrillVerdict.INCONCLUSIVE: gettext_noop("INCONCLUSIVE"),
    DrillVerdict.LEFT_SOMETHING_BEHIND: gettext_noop("LEFT SOMETHING BEHIND"),
    UNREADABLE: gettext_noop("UNREADABLE"),
}
"""The words of each verdict, on the page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DrillRecord:
    """One drill, as a row of the ops page."""

    run: str
    at: datetime
    verdict: str
    level: str
    where: str
    rows: int
    source_bytes: int
    restore_s: float
    differences: int
    as_of: datetime | None = None
    """Time of the drilled data, not later than the drill; None if unknown."""
    in_use_doubt: str = ""
    source_is_damaged: bool = False

    @property
    def is_proof(self) -> bool:
        """Whether it proved that the service's own database restores."""
        return self.verdict == DrillVerdict.PROVED and self.as_of is not None and not self.in_use_doubt

    @property
    def verdict_text(self) -> str:
        """The verdict, with a note if it does not count."""
        verdict = gettext(VERDICTS.get(self.verdict, self.verdict))
        return gettext("{verdict}, not in use").format(verdict=verdict) if self.in_use_doubt else verdict

    @property
    def age_text(self) -> str:
        return format_data_age(self.at - self.as_of) if self.as_of else NO_VALUE

    @property
    def evidence(self) -> str:
        """What was drilled, as text."""
        return gettext(EVIDENCE.get(self.level, NO_VALUE))

    @property
    def rows_text(self) -> str:
        return f"{self.rows:,}" if self.rows else NO_VALUE

    @property
    def restore_text(self) -> str:
        return format_duration(self.restore_s) if self.restore_s else NO_VALUE

    @property
    def tenfold_text(self) -> str:
        """Expected duration for ten times the data, as text."""
        if not self.restore_s:
            return NO_VALUE
        return gettext("about {duration}").format(duration=format_duration(10 * self.restore_s))


def format_data_age(age: timedelta) -> str:
    """How old the drilled data were."""
    hours = max(0.0, age.total_seconds() / 3600)
    if hours < 1:
        return gettext("under 1 hour")
    if hours < 48:
        return ngettext("{count} hour", "{count} hours", round(hours)).format(count=round(hours))
    return gettext("{count} days").format(count=round(hours / 24))


def read_all(state_dir: Path) -> Iterator[DrillRecord]:
    """Read the drills on record lazily, the latest first. An unreadable report yields verdict UNREADABLE."""
    # Names of runs begin with their time.
    return map(_read, sorted((state_dir / REPORTS_FOLDER).glob("*.json"), reverse=True))


def find_latest(state_dir: Path) -> DrillRecord | None:
    """Return the latest drill with any verdict."""
    return next(read_all(state_dir), None)


def compute_due_at(state_dir: Path) -> datetime | None:
    """Return when the next proof is due: a quarter after the newest proved data. None: no data were proved yet."""
    proof = find_best_proof(state_dir)
    return proof.as_of + QUARTER if proof and proof.as_of else None


def find_best_proof(state_dir: Path) -> DrillRecord | None:
    """Return the proof of the newest data. The age of a proof is that of its backup, not that of the drill."""
    best: DrillRecord | None = None
    for record in read_all(state_dir):
        # Data are never newer than their drill, so no earlier drill can prove newer data.
        if best is not None and best.as_of is not None and record.at <= best.as_of:
            break
        if record.is_proof and record.as_of and (not best or not best.as_of or record.as_of > best.as_of):
            best = record
    return best


def is_overdue(state_dir: Path, now: datetime) -> bool:
    """Return whether the newest proof is older than a quarter."""
    due = compute_due_at(state_dir)
    return due is None or due < now


def explain_missing_proof(state_dir: Path, now: datetime) -> str | None:
    """Return why operators need an alert; None while a proof is fresh and no later drill contradicts it."""
    if against := find_contradiction(state_dir):
        return against
    proof = find_best_proof(state_dir)
    if proof is None or proof.as_of is None:
        return _explain_no_proof(find_latest(state_dir))
    if proof.as_of + QUARTER >= now:
        return None
    return f"the newest backup that was proved is of {proof.as_of:%Y-%m-%d}, drilled on {proof.at:%Y-%m-%d}"


def _explain_no_proof(last: DrillRecord | None) -> str:
    if last is not None and last.verdict == DrillVerdict.PROVED and last.in_use_doubt:
        return f"the drill of {last.at:%Y-%m-%d} was not of the database in use, and no other has proved it"
    return "no drill has proved it yet"


def find_contradiction(state_dir: Path) -> str | None:
    """The drill that says otherwise, later than the last proof or of newer data, or None."""
    # One that could not run says nothing, so it takes nothing back: only a later proof does.
    proved: datetime | None = None
    for record in read_all(state_dir):
        if proved is not None and record.at <= proved:
            break
        if record.is_proof and record.as_of:
            proved = max(proved or record.as_of, record.as_of)
        elif record.verdict == DrillVerdict.DIFFERENT:
            # A proof of older data does not contradict a newer backup that fails.
            if proved is None or proved < (record.as_of or record.at):
                return _explain_contradiction(record)
        elif record.verdict in {DrillVerdict.LEFT_SOMETHING_BEHIND, UNREADABLE} and proved is None:
            return _explain_contradiction(record)
    return None


def _explain_contradiction(record: DrillRecord) -> str:
    if record.source_is_damaged:
        sentence = gettext(
            "the drill of {day} found the database in use damaged: part of it cannot be read, "
            "and no drill since has proved it"
        )
    else:
        sentence = gettext("the drill of {day} says {verdict}, and none since has proved it")
    return sentence.format(
        day=f"{record.at:%Y-%m-%d}", verdict=gettext(VERDICTS.get(record.verdict, record.verdict))
    )


def make_status(state_dir: Path) -> dict[str, str | None]:
    """Return the `drill` part of /ops/status.json: last_at, verdict, proved_at, proved_as_of, due_at."""
    last, proof = find_latest(state_dir), find_best_proof(state_dir)
    as_of = proof.as_of if proof else None
    return {
        "last_at": last.at.isoformat() if last else None,
        "verdict": last.verdict if last else None,
        "proved_at": proof.at.isoformat() if proof else None,
        "proved_as_of": as_of.isoformat() if as_of else None,
        "due_at": (as_of + QUARTER).isoformat() if as_of else None,
    }


def make_page_context(state_dir: Path, now: datetime, *, shown: int = 8) -> dict[str, Any]:
    """Return the context of templates/ops/_drills.html."""
    proof = find_best_proof(state_dir)
    return {
        "drills": list(islice(read_all(state_dir), shown)),
        "drill_due_at": compute_due_at(state_dir),
        "drill_proof": proof,
        "drill_is_overdue": is_overdue(state_dir, now),
        "drill_contradicts": find_contradiction(state_dir),
    }


def _read(path: Path) -> DrillRecord:
    try:
        return _parse_record(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return DrillRecord(
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


def _parse_as_of(as_of: str, at: datetime) -> datetime | None:
    found = datetime.fromisoformat(as_of) if as_of else None
    return None if found is None or is_in_the_future(found, at) else min(at, found)


def _parse_record(facts: dict[str, Any]) -> DrillRecord:
    at = datetime.fromisoformat(facts["ended_at"])
    # Reports of earlier releases have no as_of.
    as_of = facts.get("as_of", facts["ended_at"])
    return DrillRecord(
        run=str(facts["run"]),
        at=at,
        as_of=_parse_as_of(as_of, at),
        in_use_doubt=str(facts.get("in_use_doubt", "")),
        source_is_damaged=bool(facts.get("source_is_damaged", False)),
        verdict=str(facts["verdict"]),
        level=str(facts["level"]),
        where=str(facts["where"]),
        rows=int(facts["rows"]),
        source_bytes=int(facts["source_bytes"]),
        restore_s=float(facts["restore_s"]),
        differences=len(facts["differences"]),
    )
