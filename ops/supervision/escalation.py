"""Escalates flags that no person has accepted: to all staff of the site, then to the programme's on-call.

Web processes and the worker all run this. Times are counted from `opened_at` by the database's clock. A stage is a
compare-and-set with a step and a ring in the same transaction, so that of several processes one escalates.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from django.db import DatabaseError, connection, transaction

from companion.notifications import NOTIFY, FlagsChanged, notify_parameters
from companion.supervision.states import FlagState, FlagStepKind, FlagTier
from ops.alerts.kinds import AlertKind
from ops.alerts.statements import CLOSED_BY_SERVICE, raise_while
from ops.database import execute, fetch_all

log = logging.getLogger(__name__)

SITE_STAFF, ON_CALL = 1, 2
"""The stages. Stage 0 is the screens of the site."""
AGAIN_MIN = 15
"""On-call is rung again for a red flag after so many minutes, until it is accepted."""
MAX_DUE = 50
INTERVAL_S = 2.0
UNSEEN_S = 10
"""Seconds after which a red flag that is on no screen of its site raises an alert."""

# In the order of the indexes of open flags and of open alerts, so that neither reads what is closed.
IS_ANY_OPEN = f"""
SELECT coalesce(
    (SELECT true FROM companion_flag WHERE state = '{FlagState.OPEN}' ORDER BY next_stage_at LIMIT 1),
    (SELECT true FROM ops_alert WHERE kind = '{AlertKind.FLAG_UNSEEN}' AND acknowledged_at IS NULL
     ORDER BY kind, about LIMIT 1),
    false)
"""

# The index `flag_to_escalate` holds open flags only. A circle without an address is passed over: it would ring no one.
ESCALATE = f"""
WITH due AS (
    SELECT f.id, s.second_ring_s,
           CASE WHEN f.about_staff OR f.stage >= {SITE_STAFF} OR NOT EXISTS (
               SELECT 1 FROM ops_supervised v JOIN auth_user u ON u.id = v.user_id
               WHERE v.site_id = f.site_id AND u.is_active AND u.is_staff AND u.email <> '')
           THEN {ON_CALL} ELSE {SITE_STAFF} END AS stage
    FROM companion_flag f JOIN companion_site s ON s.id = f.site_id
    WHERE f.state = '{FlagState.OPEN}' AND f.next_stage_at <= clock_timestamp()
    ORDER BY f.next_stage_at LIMIT {MAX_DUE} FOR NO KEY UPDATE OF f SKIP LOCKED
),
escalated AS (
    UPDATE companion_flag f
    SET stage = due.stage,
        next_stage_at = CASE
            WHEN due.stage = {SITE_STAFF} THEN f.opened_at + make_interval(secs => due.second_ring_s)
            WHEN f.tier = '{FlagTier.RED}' THEN clock_timestamp() + interval '{AGAIN_MIN} minutes' END
    FROM due WHERE f.id = due.id
    RETURNING f.id, f.site_id, f.stage
),
steps AS (
    INSERT INTO companion_flagstep (flag_id, what, note)
    SELECT id, '{FlagStepKind.ESCALATED}',
           CASE WHEN stage = {SITE_STAFF} THEN 'to all staff of the site' ELSE 'to on-call' END
    FROM escalated
),
rings AS (
    INSERT INTO ops_flagring (flag, stage) SELECT id, stage FROM escalated
)
SELECT id, site_id, stage FROM escalated
"""

# By number and site: an alert is about no person.
RAISE_UNSEEN = raise_while(f"""
SELECT 'flag ' || f.id || ' at ' || s.slug AS about
FROM companion_flag f JOIN companion_site s ON s.id = f.site_id
WHERE f.state = '{FlagState.OPEN}' AND f.tier = '{FlagTier.RED}' AND f.seen_at IS NULL
  AND f.opened_at < clock_timestamp() - interval '{UNSEEN_S} seconds'
""")


def is_any_open() -> bool:
    """Whether a flag is open, or an alert about one. Uses Django's connection."""
    return fetch_all(IS_ANY_OPEN) == [(True,)]


def escalate_due() -> list[tuple[int, int]]:
    """Escalate the flags whose time has come, and raise alerts about red ones on no screen. Returns (flag, stage).

    Uses Django's connection.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(ESCALATE)
        rows: list[tuple[int, int, int]] = cursor.fetchall()
        if rows:
            changed = FlagsChanged(flags=tuple((flag, site) for flag, site, _ in rows))
            cursor.execute(NOTIFY, notify_parameters(changed))
    for flag, _, stage in rows:
        log.warning("escalation.rings flag=%d stage=%d", flag, stage)
    raise_unseen()
    return [(flag, stage) for flag, _, stage in rows]


def raise_unseen() -> None:
    """Raise an alert for each red flag that no screen of its site shows, and close those that are shown."""
    kind = AlertKind.FLAG_UNSEEN
    facts = {
        "kind": kind.value,
        "closed_by_service": CLOSED_BY_SERVICE,
        "resend_after": kind.resend_after,
    }
    execute(RAISE_UNSEEN, facts)


class EscalationLoops:
    """Escalates and sends in a web process, each in a thread of its own: a slow mail server delays no escalation.

    `before` is called before each round of escalation. While no flag is open there is no round.
    """

    def __init__(
        self,
        send_rings: Callable[[], Any],
        *,
        before: Callable[[], Any] = lambda: None,
        every_s: float = INTERVAL_S,
    ) -> None:
        self._send_rings = send_rings
        self._before = before
        self._every_s = every_s

    async def escalate(self) -> None:
        """Escalate until cancelled."""
        await self._repeat(self._escalate_due)

    async def send(self) -> None:
        """Send rings until cancelled."""
        await self._repeat(self._send_rings)

    def _escalate_due(self) -> None:
        # Nearly always none is, and the other statements cost ten times as much to parse and plan.
        if is_any_open():
            self._before()
            escalate_due()

    async def _repeat(self, call: Callable[[], Any]) -> None:
        while True:
            try:
                await asyncio.to_thread(_call_and_release, call)
            except DatabaseError as failure:
                log.warning("escalation.missed cause=%s", type(failure).__name__)
            await asyncio.sleep(self._every_s)


def _call_and_release(call: Callable[[], Any]) -> None:
    try:
        call()
    finally:
        connection.close()
