"""The drills that were run, from where their reports are kept: what the ops page and status.json show (D6)."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from ops.backups.reporting.report import age_said, duration
from ops.backups.reporting.verdict import Verdict
from ops.backups.run.clock import is_of_the_future

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
    as_of: datetime | None = None
    """The moment whose data were drilled, never later than the drill; None where that is unknown."""
    in_use_doubt: str = ""
    source_is_damaged: bool = False

    @property
    def is_proof(self) -> bool:
        """Whether it proved something about the service's own database."""
        return self.verdict == Verdict.PROVED and self.as_of is not None and not self.in_use_doubt

    @property
    def verdict_said(self) -> str:
        """The verdict, and whether it counts."""
        return f"{self.verdict}, not in use" if self.in_use_doubt else self.verdict

    @property
    def age_said(self) -> str:
        """How old the data were, for people."""
        return age_said(self.at - self.as_of).removesuffix(" old") if self.as_of else NOTHING

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
    """When the next proof is due: a quarter after the newest data that were proved. None: now, none ever were."""
    proof = best_proof(state_dir)
    return proof.as_of + QUARTER if proof and proof.as_of else None


def best_proof(state_dir: Path) -> Record | None:
    """The proof of the newest data. A proof is worth the age of its backup, not that of the drill."""
    best: Record | None = None
    for record in all_of(state_dir):
        # No data are newer than their drill, so no earlier drill can be worth more.
        if best is not None and best.as_of is not None and record.at <= best.as_of:
            break
        if record.is_proof and record.as_of and (not best or not best.as_of or record.as_of > best.as_of):
            best = record
    return best


def is_overdue(state_dir: Path, now: datetime) -> bool:
    """Whether a quarter has passed without a backup that somebody has restored."""
    due = due_at(state_dir)
    return due is None or due < now


def unproved(state_dir: Path, now: datetime) -> str | None:
    """Why operators must be told, or None while a proof is fresh and nothing newer contradicts it."""
    if against := contradiction(state_dir):
        return against
    proof = best_proof(state_dir)
    if proof is None or proof.as_of is None:
        return _no_proof(latest(state_dir))
    if proof.as_of + QUARTER >= now:
        return None
    return f"the newest backup that was proved is of {proof.as_of:%Y-%m-%d}, drilled on {proof.at:%Y-%m-%d}"


def _no_proof(last: Record | None) -> str:
    if last is not None and last.verdict == Verdict.PROVED and last.in_use_doubt:
        return f"the drill of {last.at:%Y-%m-%d} was not of the database in use, and no other has proved it"
    return "no drill has proved it yet"


def contradiction(state_dir: Path) -> str | None:
    """The drill that says otherwise, later than the last proof or of newer data, or None."""
    # One that could not run says nothing, so it takes nothing back: only a later proof does.
    proved: datetime | None = None
    for record in all_of(state_dir):
        if proved is not None and record.at <= proved:
            break
        if record.is_proof and record.as_of:
            proved = max(proved or record.as_of, record.as_of)
        elif record.verdict == Verdict.DIFFERENT:
            # That an older backup restores says nothing about the newer one that does not.
            if proved is None or proved < (record.as_of or record.at):
                return _against(record)
        elif record.verdict in {Verdict.LEFT_SOMETHING_BEHIND, UNREADABLE} and proved is None:
            return _against(record)
    return None


def _against(record: Record) -> str:
    if record.source_is_damaged:
        return (
            f"the drill of {record.at:%Y-%m-%d} found the database in use damaged: part of it cannot be read, "
            "and no drill since has proved it"
        )
    return f"the drill of {record.at:%Y-%m-%d} says {record.verdict}, and none since has proved it"


def for_status(state_dir: Path) -> dict[str, str | None]:
    """The `drill` part of /ops/status.json: last_at, verdict, proved_at, proved_as_of, due_at."""
    last, proof = latest(state_dir), best_proof(state_dir)
    as_of = proof.as_of if proof else None
    return {
        "last_at": last.at.isoformat() if last else None,
        "verdict": last.verdict if last else None,
        "proved_at": proof.at.isoformat() if proof else None,
        "proved_as_of": as_of.isoformat() if as_of else None,
        "due_at": (as_of + QUARTER).isoformat() if as_of else None,
    }


def page_context(state_dir: Path, now: datetime, *, shown: int = 8) -> dict[str, Any]:
    """What templates/ops/_drills.html needs."""
    proof = best_proof(state_dir)
    return {
        "drills": list(islice(all_of(state_dir), shown)),
        "drill_due_at": due_at(state_dir),
        "drill_proof": proof,
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


def _known(as_of: str, at: datetime) -> datetime | None:
    found = datetime.fromisoformat(as_of) if as_of else None
    return None if found is None or is_of_the_future(found, at) else min(at, found)


def _record(facts: dict[str, Any]) -> Record:
    at = datetime.fromisoformat(facts["ended_at"])
    # A report of an earlier release does not say how old its data were.
    as_of = facts.get("as_of", facts["ended_at"])
    return Record(
        run=str(facts["run"]),
        at=at,
        as_of=_known(as_of, at),
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
