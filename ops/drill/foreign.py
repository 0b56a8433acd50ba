"""The one place where what others raise becomes one of our own errors. Their texts may quote rows: none is kept."""

import traceback
from pathlib import Path

import psycopg

from ops.drill.errors import CouldNotRun, DrillStopped, SourceLost, Unsettled
from ops.stack.errors import out_of_room


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


def told_by_system(error: OSError) -> DrillStopped:
    """Our error for what the system refused."""
    if out_of_room(error):
        return CouldNotRun("The disk is full.", mend="Make room, or name a folder on a larger disk.")
    return CouldNotRun(f"The system refused something: {error.strerror or type(error).__name__}.")


def told_by_a_fault(error: Exception) -> DrillStopped:
    """Our error for a fault of our own: its class and its place, for whoever mends it. Never a bare exit code 1."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return CouldNotRun(
        f"The drill has a fault of its own: {type(error).__name__} in {Path(last.filename).name}, line {last.lineno}."
    )
