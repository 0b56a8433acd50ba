"""PURE: decides the verdict of a run and its exit code."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from ops.backups.run.errors import ArchiveDamaged, DoesNotRestore, DrillStopped, SourceChanged, SourceDamaged
from ops.backups.run.facts import Difference

Level = Literal["A", "B", "C"]
"""Evidence: A a fresh dump on a shared snapshot, B a file with its manifest, C a file alone."""


class DrillVerdict(StrEnum):
    """What a run has shown."""

    PROVED = "PROVED"
    PROCEDURE_ONLY = "PROCEDURE ONLY"
    DIFFERENT = "DIFFERENT"
    COULD_NOT_RUN = "COULD NOT RUN"
    INCONCLUSIVE = "INCONCLUSIVE"
    LEFT_SOMETHING_BEHIND = "LEFT SOMETHING BEHIND"

    @property
    def exit_code(self) -> int:
        """Exit code of the command, 0 to 4."""
        return EXIT_CODES[self]

    def explain(self, level: Level, *, source_is_damaged: bool = False) -> str:
        """Return what the verdict means on this evidence, what is safe, and what to do next."""
        if source_is_damaged:
            return SOURCE_DAMAGED
        if self is DrillVerdict.PROCEDURE_ONLY and level == "C":
            return FILE_ALONE
        return MEANINGS[self]


EXIT_CODES = {
    DrillVerdict.PROVED: 0,
    DrillVerdict.PROCEDURE_ONLY: 0,
    DrillVerdict.DIFFERENT: 1,
    DrillVerdict.COULD_NOT_RUN: 2,
    DrillVerdict.INCONCLUSIVE: 3,
    DrillVerdict.LEFT_SOMETHING_BEHIND: 4,
}
MEANINGS = {
    DrillVerdict.PROVED: "Every row and every object of the copy is as it was. Read what was not proved.",
    DrillVerdict.PROCEDURE_ONLY: "It restores and compares equal, which proves little: this database holds no "
    "conversation yet, so there was almost nothing to compare.",
    DrillVerdict.DIFFERENT: "The restored copy differs from what was backed up. The database in use was only read. "
    "Remove no backup, and continue with “DIFFERENT” in ops/runbooks/restore-drill.md.",
    DrillVerdict.COULD_NOT_RUN: "Nothing was proved, and nothing is known to be wrong. The database in use was not "
    "changed. Correct what is named, and run it again.",
    DrillVerdict.INCONCLUSIVE: "Tables were changed during the run. The database in use was only read. Run it again.",
    DrillVerdict.LEFT_SOMETHING_BEHIND: "What is named may hold a copy of what people wrote. End what holds it, and "
    "run the drill again: it clears its own leftovers.",
}
SOURCE_DAMAGED = (
    "Part of the database in use can no longer be read, so no new backup of it is whole. Remove no backup, and "
    "continue with “A damaged page” in ops/runbooks/restore-drill.md."
)
FILE_ALONE = (
    "It restores, which proves little: the file came without a manifest, so its content could not be compared. "
    "Drill the whole folder that manage.py backup made."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class VerdictFacts:
    """The facts from which a verdict is decided."""

    level: Level
    differences: Sequence[Difference] = ()
    rows_of_people: int = 0
    """Rows other than those that migrations write."""
    changed_meanwhile: bool = False
    stopped: DrillStopped | None = None
    left_behind: Sequence[str] = ()


def decide(facts: VerdictFacts) -> DrillVerdict:
    """Decide the verdict. A difference outweighs a leftover, which outweighs everything else."""
    shown = _judge_evidence(facts)
    if facts.left_behind and shown is not DrillVerdict.DIFFERENT:
        return DrillVerdict.LEFT_SOMETHING_BEHIND
    return shown


def _judge_evidence(facts: VerdictFacts) -> DrillVerdict:
    match facts.stopped:
        case ArchiveDamaged() | DoesNotRestore() | SourceDamaged():
            return DrillVerdict.DIFFERENT
        case SourceChanged():
            return DrillVerdict.INCONCLUSIVE
        case DrillStopped():
            return DrillVerdict.COULD_NOT_RUN
    if facts.differences:
        return DrillVerdict.INCONCLUSIVE if facts.changed_meanwhile else DrillVerdict.DIFFERENT
    if facts.level == "C" or facts.rows_of_people == 0:
        return DrillVerdict.PROCEDURE_ONLY
    return DrillVerdict.PROVED
