"""What a run knows so far, whole at every moment, and the report that follows from it."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ops.backups.programs.tools import Tools
from ops.backups.reporting import not_proved, verdict
from ops.backups.reporting.report import Report
from ops.backups.restoring.leftovers import Cleaned
from ops.backups.restoring.order import Order
from ops.backups.restoring.restore_spec import Wanted
from ops.backups.run.clock import is_of_the_future
from ops.backups.run.errors import DrillStopped, SourceDamaged
from ops.backups.run.facts import Difference, Picture

WORDS = "public.companion_turn"
"""Where the service keeps what people said. A database of the service without a row here is not used yet."""
BOOKKEEPING = {
    "public.django_migrations",
    "public.django_content_type",
    "public.auth_permission",
    "large objects",
}
"""What `migrate` fills by itself: in another database, rows here do not make it one that is used."""


@dataclass(kw_only=True)
class Findings:
    """A run may end at any moment, so each of these is filled as soon as it is known."""

    asked: verdict.Level = "A"
    """The evidence there would be, until more is known."""
    wanted: Wanted | None = None
    tools: Tools | None = None
    copy: Picture | None = None
    differences: list[Difference] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    settled: int = 0
    archive_bytes: int = 0
    changed_meanwhile: bool = False
    stopped: DrillStopped | None = None
    cleaned: Cleaned = field(default_factory=Cleaned)
    left_behind: list[str] = field(default_factory=list)
    kept_dump: str = ""
    in_use_doubt: str = ""
    """Why a source that was drilled may not be the database in use."""

    @property
    def level(self) -> verdict.Level:
        """The evidence there is."""
        return self.wanted.level if self.wanted else self.asked

    @property
    def seen(self) -> Picture | None:
        """What was to be shown; of a file alone, what came out of it."""
        return self.wanted.picture if self.wanted and self.wanted.picture else self.copy


def report_of(
    found: Findings, order: Order, *, run: str, started_at: str, ended_at: str, seconds: dict[str, float]
) -> Report:
    """PURE: everything worth keeping of a run."""
    seen = found.seen
    level = found.level
    facts = verdict.Facts(
        level=level,
        differences=found.differences,
        rows_of_people=_rows_of_people(seen),
        changed_meanwhile=found.changed_meanwhile,
        stopped=found.stopped,
        left_behind=found.left_behind,
    )
    size = found.wanted.identity.bytes if found.wanted else 0
    shown = not_proved.Run(
        level=level,
        where=order.where,
        no_owner=order.no_owner or level == "C",
        source=seen,
        bytes=size,
        compared=found.copy is not None and found.stopped is None,
        in_use_doubt=found.in_use_doubt,
        is_signed=found.wanted is None or found.wanted.is_signed,
        age_days=_age_days(found, started_at),
    )
    return Report(
        run=run,
        started_at=started_at,
        ended_at=ended_at,
        verdict=verdict.decide(facts),
        level=level,
        where=order.where,
        restored_on=order.target.label if order.target else order.where,
        source=_source_label(found, order),
        server=found.wanted.identity.server if found.wanted else "",
        tools=found.tools.version if found.tools else "not chosen",
        rows=seen.rows if seen else 0,
        tables=_tables(found),
        objects={kind: len(of) for kind, of in (seen.catalogue.items() if seen else ()) if of},
        differences=tuple(map(str, found.differences)),
        remarks=tuple(found.remarks),
        settled=found.settled,
        stopped=str(found.stopped or ""),
        left_behind=tuple(found.left_behind),
        cleaned=found.cleaned.dropped,
        left_alone=found.cleaned.left,
        not_proved=tuple(not_proved.not_proved(shown)),
        seconds=dict(seconds),
        source_bytes=size,
        archive_bytes=found.archive_bytes,
        restore_s=_restore_s(seconds),
        kept_dump=found.kept_dump,
        as_of=_as_of(found, started_at),
        in_use_doubt=found.in_use_doubt,
        source_is_damaged=isinstance(found.stopped, SourceDamaged),
    )


def _as_of(found: Findings, started_at: str) -> str:
    """The moment whose data were drilled, ISO 8601, never later than the drill.

    Empty for a file that does not say it, and for a backup that was dated by a clock which was wrong.
    """
    if found.level == "A":
        return started_at
    started = datetime.fromisoformat(started_at)
    made_at = found.wanted.made_at if found.wanted else None
    if made_at is None or is_of_the_future(made_at, started):
        return ""
    return min(made_at, started).isoformat(timespec="seconds")


def _age_days(found: Findings, started_at: str) -> int | None:
    as_of = _as_of(found, started_at)
    return (datetime.fromisoformat(started_at) - datetime.fromisoformat(as_of)).days if as_of else None


def _restore_s(seconds: dict[str, float]) -> float:
    # A restore that broke off took some time too, and says nothing of how long one takes.
    if "row sums of the copy" not in seconds:
        return 0.0
    return round(seconds["restore"] + seconds["analyze"], 3)


def _rows_of_people(seen: Picture | None) -> int:
    tables = seen.tables if seen else {}
    if WORDS in tables:
        # A new or a demonstration's database has processes, staff and participants, and nothing anybody wrote.
        return tables[WORDS].rows
    return sum(table.rows for name, table in tables.items() if name not in BOOKKEEPING)


def _source_label(found: Findings, order: Order) -> str:
    if found.wanted:
        return found.wanted.label
    return str(order.archive or (order.source.label if order.source else "none"))


def _tables(found: Findings) -> dict[str, dict[str, Any]]:
    seen = found.seen
    there = found.copy.tables if found.copy and seen is not found.copy else {}
    return {
        name: {
            "rows": table.rows,
            "bytes": table.bytes,
            "equal": there.get(name) == table if there else None,
        }
        for name, table in (seen.tables.items() if seen else ())
    }
