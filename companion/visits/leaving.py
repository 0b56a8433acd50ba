"""Leaving a visit: it is locked or ended, by its participant, or together with others."""

import logging
from collections.abc import Iterable
from uuid import UUID

from django.core import signing
from django.db import connection, transaction
from django.http import HttpRequest

from companion.access import check_exit_address, session_visit_id
from companion.visits import ends, idle
from companion.visits.conditions import IS_OPEN
from companion.visits.ends import EndReason

log = logging.getLogger(__name__)

_TICKETS = "companion.leaving"

FIND_EXIT = """
SELECT s.exit_address FROM companion_visit v
JOIN companion_participant p ON p.id = v.participant_id JOIN companion_site s ON s.id = p.site_id
WHERE v.id = %s
"""

VISITS_OF = f"SELECT v.id FROM companion_visit v WHERE v.participant_id = ANY(%s) AND {IS_OPEN}"

VISITS_ON_MACHINE = f"SELECT v.id FROM companion_visit v WHERE v.machine_id = %s AND {IS_OPEN}"


def sign_leaving_ticket(visit: UUID) -> str:
    """Sign a ticket that ends this visit even if the browser has lost its cookie or has another participant's."""
    return signing.dumps(str(visit), salt=_TICKETS)


def find_exit_address(request: HttpRequest, ticket: str = "") -> str:
    """Return the https address that the quick exit of this visit leads to; empty: to our own plain page."""
    visit = _parse_ticket(ticket) or session_visit_id(request)
    if visit is None:
        return ""
    with connection.cursor() as cursor:
        cursor.execute(FIND_EXIT, [visit])
        row = cursor.fetchone()
    return check_exit_address(row[0]) if row else ""


def lock_visit(request: HttpRequest, ticket: str = "") -> UUID | None:
    """Lock the visit of this ticket, or else the session's own, and return it; None: it is not known which."""
    visit = _parse_ticket(ticket) or session_visit_id(request)
    if visit is None:
        return None
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(idle.LOCK, {"visits": [visit]})
        if cursor.fetchall():
            log.info("visit.locked visit=%s", visit)
    return visit


def end_visit(request: HttpRequest, ticket: str = "", *, reason: EndReason) -> UUID | None:
    """End the visit of this ticket, or else the session's own. A session of the ended visit is flushed.

    Returns the visit when its end is stored. Another participant's visit in the same browser continues.
    """
    of_session = session_visit_id(request)
    visit = _parse_ticket(ticket) or of_session
    # One transaction: a session flushed without the visit's end could not end it later.
    with transaction.atomic(), connection.cursor() as cursor:
        # To flush a session that has ended already would take the cookie of the next person in this browser.
        if visit == of_session and not request.session.is_empty():
            request.session.flush()
        if visit is None:
            return None
        has_ended_now = bool(ends.end_visits(cursor, [visit], reason))
    if has_ended_now:
        log.info("visit.ended visit=%s reason=%s", visit, reason)
    return visit


def end_visits_of(people: Iterable[int], *, reason: EndReason = EndReason.WITHDRAWN) -> int:
    """End every visit of these participants, close their sockets, and return how many visits there were."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(VISITS_OF, [list(people)])
        ended = ends.end_visits(cursor, [row[0] for row in cursor.fetchall()], reason)
    log.info("visit.ended_together visits=%d reason=%s", len(ended), reason)
    return len(ended)


def end_visits_on_machine(machine: UUID) -> int:
    """End every visit on a machine that was withdrawn, and return how many there were."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(VISITS_ON_MACHINE, [machine])
        ended = ends.end_visits(cursor, [row[0] for row in cursor.fetchall()], EndReason.WITHDRAWN)
    log.info("visit.ended_on_machine machine=%s visits=%d", machine, len(ended))
    return len(ended)


def _parse_ticket(ticket: str) -> UUID | None:
    try:
        return UUID(signing.loads(ticket, salt=_TICKETS)) if ticket else None
    except signing.BadSignature:
        return None
