"""Celery tasks: each calls one function and may run twice without harm."""

import logging
from datetime import timedelta
from io import StringIO

from celery import shared_task
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection, transaction
from django.db.models import Max
from django.utils.timezone import now

from companion import drafts
from companion.sessions import SessionStore
from companion.turn_conditions import is_live
from ops.alerts.kinds import AlertKind
from ops.alerts.rows import close_alert, raise_alert
from ops.alerts.sending import send_due
from ops.alerts.statements import RAISE_LONG_PIN, RAISE_OVERDUE_DRILL, RECORD_ROUND, SEND_JOB, watch_params
from ops.alerts.transports import build_transports
from ops.backups.reporting import records
from ops.database import execute
from ops.minutes import DELETE_OLD as DELETE_OLD_MINUTES
from ops.minutes import get_last_hour
from ops.models import LaneProbe
from ops.people.cards import get_public_url
from ops.personal_data.retention import apply_retention
from ops.selections import pins, rows
from ops.status.usage import DELETE_OLD as DELETE_OLD_USAGE
from ops.supervision.escalation import escalate_due
from ops.supervision.ringing import delete_old_rings, send_due_rings
from routing import selection
from routing.lanes import NORMAL

log = logging.getLogger(__name__)

DRILL_EVERY = timedelta(hours=6)
"""Four times in the time after which a lane counts as one that has not answered lately."""

CHECK_AT_MOST_S = 180.0
"""The worker ends a job after 200 s (`ops/schedule.py`)."""

FORGET = f"""
DELETE FROM companion_process p
WHERE p.beat_at < clock_timestamp() - interval '10 minutes'
  AND NOT EXISTS (SELECT 1 FROM companion_turn t WHERE t.owner = p.id AND {is_live("t")})
"""


@shared_task(name="ops.forget_processes")
def forget_processes() -> None:
    """Drop the heartbeat rows of processes that died long ago and own nothing any more."""
    if forgotten := execute(FORGET):
        log.info("jobs.processes_forgotten count=%d", forgotten)


@shared_task(name="ops.count_minutes")
def count_minutes() -> None:
    """Keep the figures of the minutes that are over, so that no page has to compute them; drop those of yesterday."""
    get_last_hour()
    execute(DELETE_OLD_MINUTES)
    execute(DELETE_OLD_USAGE)


@shared_task(name="ops.ask_for_restore_drill")
def ask_for_restore_drill() -> None:
    """Alert operators when a quarter has passed without a proof that a backup restores, or the last drill failed."""
    if reason := records.explain_missing_proof(settings.COMPANION_STATE_DIR, now()):
        raise_alert(AlertKind.RESTORE_UNPROVED, reason)
        log.warning("jobs.restore_unproved")


@shared_task(name="ops.close_alerts")
def close_alerts() -> None:
    """Close alerts whose cause is over: a backup has been proved, another chain is no longer in force."""
    close_alert(
        AlertKind.RESTORE_UNPROVED,
        but=records.explain_missing_proof(settings.COMPANION_STATE_DIR, now()) or "",
    )
    newest = rows.read_newest()
    if selection.effective_preset(newest, now()) == NORMAL:
        close_alert(AlertKind.PIN_LONG)


@shared_task(name="ops.clear_sessions")
def clear_sessions() -> None:
    """Drop expired sessions."""
    SessionStore.clear_expired()
    log.info("jobs.sessions_cleared retention_s=%d", settings.SESSION_COOKIE_AGE)


@shared_task(name="ops.clear_drafts")
def clear_drafts() -> None:
    """Drop typed words whose writer did not come back."""
    if dropped := drafts.delete_old():
        log.info("jobs.drafts_cleared count=%d", dropped)


@shared_task(name="ops.apply_retention")
def delete_by_age() -> None:
    """Delete what each site no longer keeps."""
    apply_retention()


@shared_task(name="ops.revert_ended_pins")
def revert_ended_pins() -> None:
    """Go back to normal where a selection's time is up. Web processes do the same if the worker is away (R7)."""
    with transaction.atomic(), connection.cursor() as cursor:
        if version := pins.revert_expired(cursor):
            log.warning("jobs.pin_reverted version=%d", version)


@shared_task(name="ops.fallback_drill")
def fallback_drill() -> None:
    """Ask every lane, and the chain with its head unplugged. A failure is kept, and told of by an alert (R10).

    Asked for often and done every few hours: a worker that was away at its hour does it as soon as it is back.
    """
    last = LaneProbe.objects.filter(how="drill").aggregate(last=Max("at"))["last"]
    if last is not None and now() - last < DRILL_EVERY:
        return
    try:
        call_command("fallback_drill", stdout=StringIO())
    except CommandError as failure:
        log.error("jobs.fallback_drill_failed code=%d", failure.returncode)


@shared_task(name="ops.check_lanes")
def check_lanes() -> None:
    """Compare the lanes of `normal` once a day, and after a change of the routing file (R11).

    Asked for often and done when it is due. Scripted replies are not checked.
    """
    try:
        call_command("check_lanes", if_due=True, at_most=CHECK_AT_MOST_S, stdout=StringIO())
    except CommandError as failure:
        log.error("jobs.check_lanes_failed code=%d", failure.returncode)


@shared_task(name="ops.watch_lanes")
def watch_lanes() -> None:
    """Tell operators of a selection that lasts, and of a drill that did not take place."""
    for statement in (RAISE_LONG_PIN, RAISE_OVERDUE_DRILL):
        execute(statement, watch_params())


@shared_task(name="ops.send_alerts")
def send_alerts() -> None:
    """Send what operators have not been sent yet, by every way that is set up."""
    # Web processes raise this alert. That the job runs shows that it is over.
    close_alert(AlertKind.WORKER_AWAY)
    send_due(build_transports(f"{get_public_url()}/ops/"))
    # After the sending: a worker that hangs in it must count as away.
    execute(RECORD_ROUND, {"job": SEND_JOB})


@shared_task(name="ops.escalate_flags")
def escalate_flags() -> None:
    """Escalate flags that were not accepted in time, and send their rings. Web processes do the same (S2)."""
    escalate_due()
    send_due_rings()


@shared_task(name="ops.delete_old_rings")
def delete_rings() -> None:
    """Delete rings that are a month old."""
    if deleted := delete_old_rings():
        log.info("jobs.rings_deleted count=%d", deleted)
