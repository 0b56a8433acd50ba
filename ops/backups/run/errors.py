"""Why a drill or a backup stops, in a sentence an operator can act on.

DrillStopped          the one to catch; its text never quotes a row, a password or a connection string
  CouldNotRun         something must be mended first; nothing was proved and nothing is known to be wrong
    Pooler            the connection is not a direct one, or the database asked for was ignored
    Interrupted       a signal ended the run
    SourceLost        a connection broke midway
    Unreadable        a page or a file of a server's own data cannot be read
  ArchiveDamaged      the backup file itself is not what it should be
  DoesNotRestore      the backup can be read, and a server refuses what is in it
  SourceDamaged       the database that was to be backed up cannot be read in whole
  Unsettled           the source changed in a way that makes a comparison meaningless
"""

from ops.backups.run.facts import Difference


class DrillStopped(Exception):
    """A run cannot go on. `mend` is what to do or to type, and may be empty."""

    def __init__(self, what: str, *, mend: str = "") -> None:
        super().__init__(f"{what} {mend}".strip())
        self.what = what
        self.mend = mend


class CouldNotRun(DrillStopped):
    """Something must be mended first."""


class Pooler(CouldNotRun):
    """The connection is not a direct one, or the database asked for was ignored."""


class Interrupted(CouldNotRun):
    """A signal ended the run."""


class SourceLost(CouldNotRun):
    """A connection broke midway."""


class Unreadable(CouldNotRun):
    """A page or a file of a server's own data cannot be read. `where` names table and block."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"{where} cannot be read.", mend="Look at that server's disk and at its log; it may be damaged."
        )
        self.where = where


class ArchiveDamaged(DrillStopped):
    """The backup file itself is not what it should be."""


class DoesNotRestore(DrillStopped):
    """The backup can be read, and a server refuses what is in it. `difference` names the object, never a value."""

    def __init__(self, difference: Difference, *, mend: str = "") -> None:
        super().__init__(f"The dump does not restore: {difference}.", mend=mend)
        self.difference = difference


class SourceDamaged(DrillStopped):
    """The database that was to be backed up cannot be read in whole. `where` names table and block."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"The database in use is damaged: {where} cannot be read.",
            mend="Keep every backup you have, and go on with “A damaged page” in ops/runbooks/restore-drill.md.",
        )
        self.where = where


class Unsettled(DrillStopped):
    """The source changed in a way that makes a comparison meaningless."""
