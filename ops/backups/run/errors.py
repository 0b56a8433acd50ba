"""The errors that end a drill or a backup. Each text tells an operator what happened and what to do.

DrillStopped          base class; its text never quotes a row, a password or a connection string
  CouldNotRun         something must be corrected first; nothing was proved or disproved
    Pooler            a connection pooler answers, or another database than the requested one
    DrillInterrupted  a signal ended the run
    ConnectionLost    a connection to a server broke during the run
    DataUnreadable    a server cannot read one of its own pages or data files
  ArchiveDamaged      the backup's own files are damaged or incomplete
  DoesNotRestore      the backup is readable, but a server rejects its content
  SourceDamaged       part of the database to back up cannot be read
  SourceChanged       the source changed during the run, so a comparison would mean nothing
"""

from ops.backups.run.facts import Difference


class DrillStopped(Exception):
    """Ends a run. `what` is the cause; `mend` is what to do or to type, and may be empty."""

    def __init__(self, what: str, *, mend: str = "") -> None:
        super().__init__(f"{what} {mend}".strip())
        self.what = what
        self.mend = mend


class CouldNotRun(DrillStopped):
    """Something must be corrected first. Nothing was proved or disproved."""


class Pooler(CouldNotRun):
    """A connection pooler answers, or another database than the requested one."""


class DrillInterrupted(CouldNotRun):
    """A signal ended the run."""


class ConnectionLost(CouldNotRun):
    """A connection to a server broke during the run."""


class DataUnreadable(CouldNotRun):
    """A server cannot read one of its own pages or data files. `where` names table and block."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"{where} cannot be read.", mend="Check that server's disk and log: the disk may be failing."
        )
        self.where = where


class ArchiveDamaged(DrillStopped):
    """The backup's own files are damaged or incomplete."""


class DoesNotRestore(DrillStopped):
    """The backup is readable, but a server rejects its content. `difference` names the object, never a value."""

    def __init__(self, difference: Difference, *, mend: str = "") -> None:
        super().__init__(f"The dump does not restore: {difference}.", mend=mend)
        self.difference = difference


class SourceDamaged(DrillStopped):
    """Part of the database to back up cannot be read. `where` names table and block."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"The database in use is damaged: {where} cannot be read.",
            mend="Keep every backup, and continue with “A damaged page” in ops/runbooks/restore-drill.md.",
        )
        self.where = where


class SourceChanged(DrillStopped):
    """The source changed during the run, so a comparison would mean nothing."""
