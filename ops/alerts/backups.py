"""Backups as operators are told of them: when the last one was made is a row, and a failed one is an alert."""

import logging

from django.db import DatabaseError, connection

from ops.alerts.kinds import Kind
from ops.alerts.rows import close, raise_alert
from ops.alerts.statements import BACKUP, WENT_ROUND

log = logging.getLogger(__name__)

_UNDEFINED_TABLE = "42P01"


def made() -> None:
    """Keep that a backup of the database in use was made now. Uses Django's connection; a failure is logged."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(WENT_ROUND, {"job": BACKUP})
        close(Kind.BACKUP_FAILED)
    except DatabaseError as failure:
        _log(failure)


def failed(why: str) -> None:
    """Tell operators. Where the database is away, the age of the last backup tells them later."""
    try:
        raise_alert(Kind.BACKUP_FAILED, why)
    except DatabaseError as failure:
        _log(failure)


def _log(failure: DatabaseError) -> None:
    # A database without alerts, such as one that is only drilled, is no failure.
    if getattr(failure.__cause__, "sqlstate", None) != _UNDEFINED_TABLE:
        log.warning("backups.unnoted cause=%s", type(failure).__name__)
