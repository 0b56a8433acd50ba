"""Maps errors of psycopg and the system to DrillStopped. Their texts may quote rows, so none is passed on."""

import re
import shutil
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from ops.backups.run.errors import (
    ConnectionLost,
    CouldNotRun,
    DataUnreadable,
    DrillInterrupted,
    DrillStopped,
    SourceChanged,
    SourceDamaged,
)
from ops.stack.errors import NO_SPACE, is_disk_full


def map_error(error: BaseException) -> DrillStopped:
    """Return the DrillStopped for any exception that ends a run."""
    match error:
        case DrillStopped():
            return error
        case KeyboardInterrupt():
            return DrillInterrupted("A signal ended the run.", mend="Run it again.")
        case psycopg.Error():
            return map_database_error(error)
        case OSError():
            return map_system_error(error)
        case _:
            return map_own_fault(error)


def map_database_error(error: psycopg.Error, *, table: str = "") -> DrillStopped:
    """Return the DrillStopped for a psycopg error. `table` is the table being read, as quoted SQL."""
    code = f"SQLSTATE {error.sqlstate}" if error.sqlstate else type(error).__name__
    match error:
        case (
            psycopg.errors.LockNotAvailable()
            | psycopg.errors.UndefinedTable()
            | psycopg.errors.UndefinedColumn()
        ):
            return SourceChanged(
                f"{f'Table {table}' if table else 'A table'} was locked or changed by another session during the run, "
                "perhaps by a migration.",
                mend="Run this again when it has finished.",
            )
        case (
            psycopg.errors.DataCorrupted()
            | psycopg.errors.IndexCorrupted()
            | psycopg.errors.IoError()
            | psycopg.errors.UndefinedFile()
        ):
            return DataUnreadable(_describe_damaged_place(error, table))
        case psycopg.errors.DiskFull():
            return CouldNotRun("A server's disk is full.", mend="Make room.")
        case psycopg.errors.InsufficientPrivilege() if "row-level security" in str(error):
            return CouldNotRun(
                f"Row security hides rows{f' of {table}' if table else ''} from the role that drills.",
                mend="Give that role BYPASSRLS.",
            )
        case psycopg.errors.InsufficientPrivilege():
            return CouldNotRun(
                f"The role may not read table {table}."
                if table
                else "The role lacks a right that is needed.",
                mend="It must be able to read every table (pg_read_all_data), and on the server that takes the copy to "
                "create databases (CREATEDB).",
            )
        case psycopg.errors.QueryCanceled():
            return CouldNotRun("A statement of the drill was cancelled from outside.", mend="Run it again.")
        # After its subclasses above: in psycopg LockNotAvailable, DiskFull and QueryCanceled are OperationalErrors.
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return ConnectionLost(
                f"A connection to PostgreSQL broke during the run ({code}).", mend="Run it again."
            )
        case _:
            at = f" while it read table {table}" if table else ""
            return CouldNotRun(f"PostgreSQL refused a statement of the drill{at} ({code}).")


@contextmanager
def blame_source() -> Iterator[None]:
    """Raise SourceDamaged, not DataUnreadable, for unreadable pages: the block reads the database in use."""
    try:
        yield
    except DataUnreadable as error:
        raise SourceDamaged(error.where) from None
    except psycopg.Error as error:
        if isinstance(stop := map_database_error(error), DataUnreadable):
            raise SourceDamaged(stop.where) from None
        raise


def _describe_damaged_place(error: psycopg.Error, table: str) -> str:
    """Extract table, block and file. The rest of the message may quote rows."""
    said = str(error)
    block = re.search(r"\bblocks? (\d+)", said)
    file = re.search(r"\b((?:base|global|pg_tblspc)/[\w./]+)", said)
    return (
        f"{f'Block {block[1]}' if block else 'A page'} of {f'table {table}' if table else 'a table'}"
        f"{f' (file {file[1]})' if file else ''}"
    )


def map_system_error(error: OSError) -> DrillStopped:
    """Return the DrillStopped for an OSError."""
    # shutil.copytree raises one error that holds the others as texts.
    is_full = is_disk_full(error) or (isinstance(error, shutil.Error) and NO_SPACE in str(error))
    at = f" of {error.filename}" if error.filename else ""
    if is_full:
        return CouldNotRun(f"The disk{at} is full.", mend="Make room, or name a folder on a larger disk.")
    what = describe_os_error(error)
    return CouldNotRun(
        f"The operating system refused an operation: {what}{f' ({error.filename})' if at else ''}."
    )


def describe_os_error(error: OSError) -> str:
    """Return the system's message, or the class name of an error without one."""
    return error.strerror or type(error).__name__


def map_own_fault(error: BaseException) -> DrillStopped:
    """Return the DrillStopped for a bug of our own: class, file and line.

    Without it the process would end with exit code 1, which schedulers read as DIFFERENT.
    """
    # Place and class only: the text of the exception may quote a row.
    last = traceback.extract_tb(error.__traceback__)[-1]
    return CouldNotRun(
        f"The drill has a bug: {type(error).__name__} in {Path(last.filename).name}, line {last.lineno}."
    )
