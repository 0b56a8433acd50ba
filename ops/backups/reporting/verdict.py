"""PURE: what a run has shown, in one of six words, and the exit code that says it to a scheduler."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from ops.backups.run.errors import ArchiveDamaged, DoesNotRestore, DrillStopped, SourceDamaged, Unsettled
from ops.backups.run.facts import Difference

Level = Literal["A", "B", "C"]
"""A: a fresh dump on a shared snapshot. B: a file with its manifest. C: a file alone."""


class Verdict(StrEnum):
    """The outcome. `exit_code` is what the command ends with."""

    PROVED = "PROVED"
    PROCEDURE_ONLY = "PROCEDURE ONLY"
    DIFFERENT = "DIFFERENT"
    COULD_NOT_RUN = "COULD NOT RUN"
    INCONCLUSIVE = "INCONCLUSIVE"
    LEFT_SOMETHING_BEHIND = "LEFT SOMETHING BEHIND"

    @property
    def exit_code(self) -> int:
        """0 to 4."""
        return EXIT_CODES[self]

    def means(self, level: Level, *, source_is_damaged: bool = False) -> str:
        """What that says on this evidence, what is safe, and what to do next."""
        if source_is_damaged:
            return SOURCE_DAMAGED
        if self is Verdict.PROCEDURE_ONLY and level == "C":
            return FILE_ALONE
        return MEANINGS[self]


EXIT_CODES = {
    Verdict.PROVED: 0,
    Verdict.PROCEDURE_ONLY: 0,
    Verdict.DIFFERENT: 1,
    Verdict.COULD_NOT_RUN: 2,
    Verdict.INCONCLUSIVE: 3,
    Verdict.LEFT_SOMETHING_BEHIND: 4,
}
MEANINGS = {
    Verdict.PROVED: "Every row and every object of the copy is as it was. Read what was not proved.",
    Verdict.PROCEDURE_ONLY: "It restores and compares equal, and that is all: this database holds no conversation "
    "yet, so there was next to nothing to compare.",
    Verdict.DIFFERENT: "What was backed up is not what comes back. The database in use was only read and goes on. "
    "Remove no backup, and go on with “DIFFERENT” in ops/runbooks/restore-drill.md.",
    Verdict.COULD_NOT_RUN: "Nothing was proved, and nothing is known to be wrong. The database in use was not "
    "changed. Mend what is named, and run it again.",
    Verdict.INCONCLUSIVE: "Tables were changed meanwhile. The database in use was only read. Run it again.",
    Verdict.LEFT_SOMETHING_BEHIND: "What is named may hold a copy of what people wrote. End what holds it, and run "
    "the drill again: it clears its own leftovers.",
}
SOURCE_DAMAGED = (
    "Part of the database in use can no longer be read, so no new backup of it is whole. Remove no backup, and go on "
    "with “A damaged page” in ops/runbooks/restore-drill.md."
)
FILE_ALONE = (
    "It restores, and that is all: the file came without a manifest, so nothing says what ought to be in it. "
    "Drill the whole folder that manage.py backup made."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """What a verdict rests on."""

    level: Level
    differences: Sequence[Difference] = ()
    rows_of_people: int = 0
    """Rows beyond what migrations write by themselves."""
    changed_meanwhile: bool = False
    stopped: DrillStopped | None = None
    left_behind: Sequence[str] = ()


def decide(facts: Facts) -> Verdict:
    """A copy that differs outweighs a leftover; a leftover outweighs everything else that went well or not at all."""
    shown = _shown(facts)
    if facts.left_behind and shown is not Verdict.DIFFERENT:
        return Verdict.LEFT_SOMETHING_BEHIND
    return shown


def _shown(facts: Facts) -> Verdict:
    match facts.stopped:
        case ArchiveDamaged() | DoesNotRestore() | SourceDamaged():
            return Verdict.DIFFERENT
        case Unsettled():
            return Verdict.INCONCLUSIVE
        case DrillStopped():
            return Verdict.COULD_NOT_RUN
    if facts.differences:
        return Verdict.INCONCLUSIVE if facts.changed_meanwhile else Verdict.DIFFERENT
    if facts.level == "C" or facts.rows_of_people == 0:
        return Verdict.PROCEDURE_ONLY
    return Verdict.PROVED
