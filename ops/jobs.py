"""Celery tasks: each calls one function and may run twice without harm."""

import logging

from celery import shared_task
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.db import connection
from django.utils.timezone import now

from ops.alerts.kinds import Kind
from ops.alerts.rows import raise_alert
from ops.drill import records

log = logging.getLogger(__name__)

FORGET = """
DELETE FROM companion_process p
WHERE p.beat_at < clock_timestamp() - interval '10 minutes'
  AND NOT EXISTS (SELECT 1 FROM companion_turn t WHERE t.owner = p.id AND t.state IN ('waiting', 'speaking'))
"""


@shared_task(name="ops.forget_processes")
def forget_processes() -> None:
    """Drop the heartbeat rows of processes that died long ago and own nothing any more."""
    with connection.cursor() as cursor:
        cursor.execute(FORGET)
        if cursor.rowcount:
            log.info("jobs.processes_forgotten count=%d", cursor.rowcount)


@shared_task(name="ops.ask_for_restore_drill")
def ask_for_restore_drill() -> None:
    """Alert operators when a quarter has passed without a proof that a backup restores, or the last drill failed."""
    if reason := records.unproved(settings.COMPANION_STATE_DIR, now()):
        raise_alert(Kind.RESTORE_UNPROVED, reason)
        log.warning("jobs.restore_unproved")


@shared_task(name="ops.clear_sessions")
def clear_sessions() -> None:
    """Drop expired sessions."""
    SessionStore.clear_expired()
    log.info("jobs.sessions_cleared retention_s=%d", settings.SESSION_COOKIE_AGE)
