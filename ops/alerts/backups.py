"""Reports backups to operators: a row keeps when the last one was made, and a failed one raises an alert."""

import logging

from django.db import DatabaseError, connection

from ops.alerts.kinds import AlertKind
from ops.alerts.rows import close_alert, raise_alert
from ops.alerts.statements import BACKUP_JOB, RECORD_ROUND

log = logging.getLogger(__name__)

_UNDEFINED_TABLE = "42P01"


def record_backup() -> None:
    """Record that a backup of the database in use was made now. Uses Django's connection; a failure is logged."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(RECORD_ROUND, {"job": BACKUP_JOB})
        close_alert(AlertKind.BACKUP_FAILED)
    except DatabaseError as failure:
        _log(failure)


def report_failure(why: str) -> None:
    """Raise an alert. While the database is away, the age of the last backup raises one later."""
    try:
        raise_alert(AlertKind.BACKUP_FAILED, why)
    except DatabaseError as failure:
        _log(failure)


def _log(failure: DatabaseError) -> None:
    # A database without alerts, such as one that is only drilled, is not a failure.
    if getattr(failure.__cause__, "sqlstate", None) != _UNDEFINED_TABLE:
        log.warning("backups.unnoted cause=%s", type(failure).__name__)
