"""Sends the rings of escalated flags by e-mail and webhook, until each recipient has it or the flag is accepted.

The transports are those of alerts. A letter holds the tier, the site and a link: no name, and no word of anyone.
A row is claimed before it is sent, so two processes do not send the same one.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ops.alerts.kinds import AlertKind
from ops.alerts.rows import AlertView, close_alert, raise_alert
from ops.alerts.transports import AlertTransport, EmailTransport, SendFailed, build_transports
from ops.database import execute, fetch_all, fetch_one
from ops.people.cards import get_public_url
from ops.supervision.escalation import ON_CALL, SITE_STAFF

log = logging.getLogger(__name__)

RUNBOOK = "ops/runbooks/a-flag-rings.md"
BATCH_SIZE = 5
CLAIM_S = 120
"""A process that has claimed a ring has this time to send it to every recipient."""
ALERT_AFTER_TRIES = 2
MAX_ADDRESSES = 100
KEEP_DAYS = 30
ROWS_AT_ONCE = 500

CLAIM = f"""
UPDATE ops_flagring SET sendings = sendings + 1, send_at = clock_timestamp() + interval '{CLAIM_S} seconds'
WHERE id IN (SELECT id FROM ops_flagring WHERE done_at IS NULL AND send_at <= clock_timestamp()
             AND (stage < {ON_CALL} OR %(has_on_call)s)
             ORDER BY send_at LIMIT {BATCH_SIZE} FOR UPDATE SKIP LOCKED)
RETURNING id, flag, stage, sendings, sent_by, at
"""
READ_FLAG = """
SELECT f.tier, f.state, f.site_id, s.name, f.opened_at, f.last_at, f.count,
       extract(epoch FROM clock_timestamp() - f.opened_at)::int
FROM companion_flag f JOIN companion_site s ON s.id = f.site_id WHERE f.id = %s
"""
LIST_ADDRESSES = """
SELECT DISTINCT u.email FROM ops_supervised v JOIN auth_user u ON u.id = v.user_id
WHERE v.site_id = %s AND u.is_active AND u.is_staff AND u.email <> '' ORDER BY 1 LIMIT %s
"""
MARK_SENT = """
UPDATE ops_flagring SET sent_by = array_append(sent_by, %(name)s)
WHERE id = %(ring)s AND NOT sent_by @> ARRAY[%(name)s]::varchar[]
"""
FINISH = "UPDATE ops_flagring SET done_at = clock_timestamp() WHERE id = %s"
# Tried again after 15 seconds at first, every five minutes in the end.
RETRY = """
UPDATE ops_flagring
SET send_at = clock_timestamp() + least(interval '5 minutes', interval '15 seconds' * power(2, least(sendings, 6)) / 2)
WHERE id = %s
"""
# The oldest rows by their ids, and only then a look at their age.
DELETE_OLD = f"""
DELETE FROM ops_flagring WHERE id IN (
    SELECT oldest.id FROM (SELECT id, at FROM ops_flagring ORDER BY id LIMIT {ROWS_AT_ONCE}) oldest
    WHERE oldest.at < clock_timestamp() - interval '{KEEP_DAYS} days')
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Ring:
    id: int
    flag: int
    stage: int
    sendings: int
    sent_by: tuple[str, ...]
    at: datetime


def send_due_rings() -> int:
    """Send what is due by the transports of the settings; returns how many went out. Uses Django's connection."""
    desk_url = f"{get_public_url()}/ops/people/"
    return send_rings(build_transports(desk_url), desk_url=desk_url)


def send_rings(on_call: Sequence[AlertTransport], *, desk_url: str) -> int:
    """Send what is due; returns how many letters and posts went out. Uses Django's connection.

    `on_call` are the transports of the last stage. The staff of a site are written to at the addresses of their
    accounts.
    """
    # A process without transports leaves the ring to one that has some.
    claimed = fetch_all(CLAIM, {"has_on_call": bool(on_call)})
    rings = [
        _Ring(id=ring, flag=flag, stage=stage, sendings=sendings, sent_by=tuple(sent_by), at=at)
        for ring, flag, stage, sendings, sent_by, at in claimed
    ]
    return sum(_send_ring(ring, on_call, desk_url=desk_url) for ring in rings)


def delete_old_rings() -> int:
    """Delete rings of long ago, sent or not; returns how many."""
    deleted = 0
    while batch := execute(DELETE_OLD):
        deleted += batch
    return deleted


def _send_ring(ring: _Ring, on_call: Sequence[AlertTransport], *, desk_url: str) -> int:
    facts = fetch_one(READ_FLAG, [ring.flag])
    # Accepted, closed, or deleted by age: there is nothing to ring for.
    if facts is None or facts[1] != "open":
        execute(FINISH, [ring.id])
        return 0
    transports = on_call if ring.stage == ON_CALL else _site_transports(facts[2], desk_url)
    view = _build_view(ring, facts)
    pending = [one for one in transports if one.name not in ring.sent_by]
    sent = sum(_try_send(ring, view, one) for one in pending)
    execute(FINISH if sent == len(pending) else RETRY, [ring.id])
    return sent


def _site_transports(site: int, desk_url: str) -> list[AlertTransport]:
    return [
        EmailTransport(address, label=f"e-mail to the staff of site {site}", page_url=desk_url)
        for (address,) in fetch_all(LIST_ADDRESSES, [site, MAX_ADDRESSES])
    ]


def _build_view(ring: _Ring, facts: tuple[Any, ...]) -> AlertView:
    tier, _, _, site_name, opened_at, last_at, count, age_s = facts
    whom = "all staff of the site were asked" if ring.stage == SITE_STAFF else "on-call is asked"
    return AlertView(
        id=ring.flag,
        kind="flag",
        says=f"A {tier} flag at {site_name} has waited for {age_s} seconds and is not accepted; {whom}.",
        do="Open the desk and accept it by name, or call the site.",
        runbook=RUNBOOK,
        first_at=opened_at,
        last_at=last_at,
        count=count,
    )


def _try_send(ring: _Ring, view: AlertView, transport: AlertTransport) -> bool:
    try:
        transport.send(view)
    except Exception as failure:
        # A failure of one recipient must not stop the others. Texts of library errors hold addresses.
        cause = failure if isinstance(failure, SendFailed) else type(failure).__name__
        log.warning("ringing.not_sent ring=%d way=%s cause=%s", ring.id, transport.label, cause)
        if ring.sendings >= ALERT_AFTER_TRIES:
            raise_alert(AlertKind.NOT_SENT, transport.label)
        return False
    execute(MARK_SENT, {"ring": ring.id, "name": transport.name})
    close_alert(AlertKind.NOT_SENT, transport.label)
    log.info("ringing.sent flag=%d stage=%d way=%s", ring.flag, ring.stage, transport.label)
    return True
