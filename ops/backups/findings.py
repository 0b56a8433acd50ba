"""What a drill has found so far, and the report made of it."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ops.backups.programs.tools import Tools
from ops.backups.reporting import not_proved, verdict
from ops.backups.reporting.report import Report
from ops.backups.restoring.leftovers import CleaningResult
from ops.backups.restoring.order import DrillOrder
from ops.backups.restoring.restore_spec import RestoreSpec
from ops.backups.run.clock import is_in_the_future
from ops.backups.run.errors import DrillStopped, SourceDamaged
from ops.backups.run.facts import Difference, Fingerprint

TURNS_TABLE = "public.companion_turn"
"""The table of what people said. A database of the service without a row in it is not in use yet."""
MIGRATION_TABLES = {
    "public.django_migrations",
    "public.django_content_type",
    "public.auth_permission",
    "large objects",
}
"""Tables that `migrate` fills: their rows do not show that a database is in use."""


@dataclass(kw_only=True)
class DrillFindings:
    """Each field is set as soon as it is known, because a run may end at any time."""

    expected_level: verdict.Level = "A"
    """The level of evidence to expect until `spec` is known."""
    spec: RestoreSpec | None = None
    is_encrypted: bool = False
    """Whether the backup is stored encrypted, and was decrypted for this run."""
    tools: Tools | None = None
    copy: Fingerprint | None = None
    differences: list[Difference] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    settled: int = 0
    archive_bytes: int = 0
    changed_meanwhile: bool = False
    stopped: DrillStopped | None = None
    cleaned: CleaningResult = field(default_factory=CleaningResult)
    left_behind: list[str] = field(default_factory=list)
    kept_dump: str = ""
    in_use_doubt: str = ""
    """Why the source may not be the database in use."""

    @property
    def level(self) -> verdict.Level:
        return self.spec.level if self.spec else self.expected_level

    @property
    def fingerprint(self) -> Fingerprint | None:
        """The fingerprint to report: that of the source or manifest; that of the copy for a file alone."""
        return self.spec.fingerprint if self.spec and self.spec.fingerprint else self.copy


def make_report(
    found: DrillFindings,
    order: DrillOrder,
    *,
    run: str,
    started_at: str,
    ended_at: str,
    seconds: dict[str, float],
) -> Report:
    """PURE: make the report of a run."""
    fingerprint = found.fingerprint
    return Report(
        run=run,
        started_at=started_at,
        ended_at=ended_at,
        verdict=verdict.decide(_collect_verdict_facts(found)),
        level=found.level,
        where=order.where,
        restored_on=order.target.label if order.target else order.where,
        source=_label_source(found, order),
        server=found.spec.identity.server if found.spec else "",
        tools=found.tools.version if found.tools else "not chosen",
        rows=fingerprint.rows if fingerprint else 0,
        tables=_summarise_tables(found),
        objects={kind: len(of) for kind, of in (fingerprint.catalogue.items() if fingerprint else ()) if of},
        differences=tuple(map(str, found.differences)),
        remarks=tuple(found.remarks),
        settled=found.settled,
        stopped=str(found.stopped or ""),
        left_behind=tuple(found.left_behind),
        cleaned=found.cleaned.dropped,
        left_alone=found.cleaned.left,
        not_proved=tuple(not_proved.list_not_proved(_summarise_run(found, order, started_at))),
        seconds=dict(seconds),
        source_bytes=_read_source_bytes(found),
        archive_bytes=found.archive_bytes,
        restore_s=_compute_restore_s(seconds),
        kept_dump=found.kept_dump,
        as_of=_format_as_of(found, started_at),
        in_use_doubt=found.in_use_doubt,
        source_is_damaged=isinstance(found.stopped, SourceDamaged),
    )


def _collect_verdict_facts(found: DrillFindings) -> verdict.VerdictFacts:
    return verdict.VerdictFacts(
        level=found.level,
        differences=found.differences,
        rows_of_people=_count_rows_of_people(found.fingerprint),
        changed_meanwhile=found.changed_meanwhile,
        stopped=found.stopped,
        left_behind=found.left_behind,
    )


def _summarise_run(found: DrillFindings, order: DrillOrder, started_at: str) -> not_proved.RunSummary:
    return not_proved.RunSummary(
        level=found.level,
        where=order.where,
        # A file alone does not list the roles it needs, so its owners were not restored.
        no_owner=order.no_owner or found.level == "C",
        source=found.fingerprint,
        bytes=_read_source_bytes(found),
        compared=found.copy is not None and found.stopped is None,
        in_use_doubt=found.in_use_doubt,
        is_signed=found.spec is None or found.spec.is_signed,
        is_encrypted=found.is_encrypted,
        age_days=_compute_age_days(found, started_at),
    )


def _read_source_bytes(found: DrillFindings) -> int:
    return found.spec.identity.bytes if found.spec else 0


def _format_as_of(found: DrillFindings, started_at: str) -> str:
    """Format the time of the drilled data as ISO 8601, not later than the drill; empty if it is unknown."""
    if found.level == "A":
        return started_at
    started = datetime.fromisoformat(started_at)
    made_at = found.spec.made_at if found.spec else None
    if made_at is None or is_in_the_future(made_at, started):
        return ""
    return min(made_at, started).isoformat(timespec="seconds")


def _compute_age_days(found: DrillFindings, started_at: str) -> int | None:
    as_of = _format_as_of(found, started_at)
    return (datetime.fromisoformat(started_at) - datetime.fromisoformat(as_of)).days if as_of else None


def _compute_restore_s(seconds: dict[str, float]) -> float:
    # An incomplete restore does not tell how long a restore takes.
    if "row sums of the copy" not in seconds:
        return 0.0
    return round(seconds["restore"] + seconds["analyze"], 3)


def _count_rows_of_people(fingerprint: Fingerprint | None) -> int:
    tables = fingerprint.tables if fingerprint else {}
    if TURNS_TABLE in tables:
        # A new database or one for demonstrations has processes, staff and participants, but no turns.
        return tables[TURNS_TABLE].rows
    return sum(table.rows for name, table in tables.items() if name not in MIGRATION_TABLES)


def _label_source(found: DrillFindings, order: DrillOrder) -> str:
    if found.spec:
        return f"{found.spec.label}, encrypted" if found.is_encrypted else found.spec.label
    return str(order.archive or (order.source.label if order.source else "none"))


def _summarise_tables(found: DrillFindings) -> dict[str, dict[str, Any]]:
    fingerprint = found.fingerprint
    there = found.copy.tables if found.copy and fingerprint is not found.copy else {}
    return {
        name: {
            "rows": table.rows,
            "bytes": table.bytes,
            "equal": there.get(name) == table if there else None,
        }
        for name, table in (fingerprint.tables.items() if fingerprint else ())
    }
