"""The one place where what others raise becomes one of our own errors. Their texts may quote rows: none is kept."""

import re
import shutil
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from ops.backups.run.errors import (
    CouldNotRun,
    DrillStopped,
    Interrupted,
    SourceDamaged,
    SourceLost,
    Unreadable,
    Unsettled,
)
from ops.stack.errors import NO_SPACE, is_disk_full


def stop_for(error: BaseException) -> DrillStopped:
    """Our error for anything at all that ends a run."""
    match error:
        case DrillStopped():
            return error
        case KeyboardInterrupt():
            return Interrupted("A signal ended the run.", mend="Run it again.")
        case psycopg.Error():
            return told(error)
        case OSError():
            return told_by_system(error)
        case _:
            return told_by_a_fault(error)


def told(error: psycopg.Error, *, table: str = "") -> DrillStopped:
    """Our error for one of psycopg's. `table`: the one that was being read, as SQL."""
    code = f"SQLSTATE {error.sqlstate}" if error.sqlstate else type(error).__name__
    match error:
        case (
            psycopg.errors.LockNotAvailable()
            | psycopg.errors.UndefinedTable()
            | psycopg.errors.UndefinedColumn()
        ):
            return Unsettled(
                f"{f'Table {table}' if table else 'A table'} was locked or changed by somebody else meanwhile, "
                "by a migration perhaps.",
                mend="Run this again once it has ended.",
            )
        case (
            psycopg.errors.DataCorrupted()
            | psycopg.errors.IndexCorrupted()
            | psycopg.errors.IoError()
            | psycopg.errors.UndefinedFile()
        ):
            return Unreadable(_place_on_disk(error, table))
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
            return CouldNotRun("Somebody ended a statement of the drill.", mend="Run it again.")
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return SourceLost(f"A connection to PostgreSQL broke midway ({code}).", mend="Run it again.")
        case _:
            at = f" while it read table {table}" if table else ""
            return CouldNotRun(f"PostgreSQL refused a statement of the drill{at} ({code}).")


@contextmanager
def reading_the_source() -> Iterator[None]:
    """What cannot be read in here is the database in use, and not a copy of it. Raises SourceDamaged."""
    try:
        yield
    except Unreadable as error:
        raise SourceDamaged(error.where) from None
    except psycopg.Error as error:
        if isinstance(stop := told(error), Unreadable):
            raise SourceDamaged(stop.where) from None
        raise


def _place_on_disk(error: psycopg.Error, table: str) -> str:
    """Table, block and file, from a message of which the rest may quote anything."""
    said = str(error)
    block = re.search(r"\bblocks? (\d+)", said)
    file = re.search(r"\b((?:base|global|pg_tblspc)/[\w./]+)", said)
    return (
        f"{f'Block {block[1]}' if block else 'A page'} of {f'table {table}' if table else 'a table'}"
        f"{f' (file {file[1]})' if file else ''}"
    )


def told_by_system(error: OSError) -> DrillStopped:
    """Our error for what the system refused."""
    # Copying many files ends in one error that holds the others as texts.
    is_full = is_disk_full(error) or (isinstance(error, shutil.Error) and NO_SPACE in str(error))
    at = f" of {error.filename}" if error.filename else ""
    if is_full:
        return CouldNotRun(f"The disk{at} is full.", mend="Make room, or name a folder on a larger disk.")
    what = reason_of(error)
    return CouldNotRun(f"The system refused something: {what}{f' ({error.filename})' if at else ''}.")


def reason_of(error: OSError) -> str:
    """What the system said, or the name of the error where it said nothing."""
    return error.strerror or type(error).__name__


def told_by_a_fault(error: BaseException) -> DrillStopped:
    """Our error for a fault of our own: its class and its place, for whoever mends it. Never a bare exit code 1."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return CouldNotRun(
        f"The drill has a fault of its own: {type(error).__name__} in {Path(last.filename).name}, line {last.lineno}."
    )
