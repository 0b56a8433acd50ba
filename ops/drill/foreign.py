"""The one place where what psycopg raises becomes one of our own errors. Its texts may quote rows: none is kept."""

import psycopg

from ops.drill.errors import CouldNotRun, DrillStopped, SourceLost, Unsettled


def told(error: psycopg.Error) -> DrillStopped:
    """Our error for one of psycopg's."""
    code = f"SQLSTATE {error.sqlstate}" if error.sqlstate else type(error).__name__
    match error:
        case (
            psycopg.errors.LockNotAvailable()
            | psycopg.errors.UndefinedTable()
            | psycopg.errors.UndefinedColumn()
        ):
            return Unsettled(
                "A table was locked or changed by somebody else meanwhile, by a migration perhaps.",
                mend="Run this again once it has ended.",
            )
        case psycopg.errors.DiskFull():
            return CouldNotRun("A server's disk is full.", mend="Make room.")
        case psycopg.errors.InsufficientPrivilege():
            return CouldNotRun(
                "The role lacks a right that is needed.",
                mend="GRANT pg_read_all_data TO the role that drills.",
            )
        case psycopg.errors.QueryCanceled():
            return CouldNotRun("Somebody ended a statement of the drill.", mend="Run it again.")
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return SourceLost(f"A connection to PostgreSQL broke midway ({code}).", mend="Run it again.")
        case _:
            return CouldNotRun(f"PostgreSQL refused a statement of the drill ({code}).")
