"""Why a drill or a backup stops, in a sentence an operator can act on.

DrillStopped          the one to catch; its text never quotes a row, a password or a connection string
  CouldNotRun         something must be mended first; nothing was proved and nothing is known to be wrong
    Pooler            the connection is not a direct one, or the database asked for was ignored
    Interrupted       a signal ended the run
    SourceLost        a connection broke midway
  ArchiveDamaged      the backup file itself is not what it should be
  Unsettled           the source changed in a way that makes a comparison meaningless
"""


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


class ArchiveDamaged(DrillStopped):
    """The backup file itself is not what it should be."""


class Unsettled(DrillStopped):
    """The source changed in a way that makes a comparison meaningless."""
