"""The machines of sites: which one a browser is, new cookie values, copies that are noticed, names, withdrawal.

Uses Django's connection. All times are the database's.
"""

import hmac
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.http import HttpRequest

from companion.machines.tokens import MachineToken, make_token, read_machine_token
from companion.notifications import NOTIFY, MachinesChanged, notify_parameters

log = logging.getLogger(__name__)

SIBLINGS_S = 10
"""Requests that two tabs send at once carry the same value: within this time the earlier one is no sign of a loss."""

MACHINE_COLUMNS = "m.id, m.site_id, m.name, s.language"
"""The fields of a `KnownMachine`, of machine `m` and its site `s`."""
FIND = f"""
SELECT m.token_hash, m.former_hash, m.withdrawn_at IS NOT NULL, m.copied_at IS NOT NULL,
       coalesce(extract(epoch FROM clock_timestamp() - m.rotated_at), 0), {MACHINE_COLUMNS}
FROM companion_machine m JOIN companion_site s ON s.id = m.site_id WHERE m.id = %s
"""
LOCK = f"{FIND} FOR NO KEY UPDATE OF m"
# Visits that open at once on one machine do not wait for one another.
HOLD = f"{FIND} FOR SHARE OF m"
# Names the value that it replaces: of two answers at once one counts.
ROTATE = """
UPDATE companion_machine SET former_hash = %(former)s, token_hash = %(new)s, rotated_at = clock_timestamp(),
       seen_at = clock_timestamp()
WHERE id = %(machine)s AND token_hash = %(current)s
"""
# From now on its pairing code is spent.
MARK_FIRST_SEEN = """
UPDATE companion_machine SET seen_at = clock_timestamp() WHERE id = %s AND seen_at IS NULL
"""
MARK_COPIED = """
UPDATE companion_machine SET copied_at = clock_timestamp(), token_hash = '', former_hash = ''
WHERE id = %(machine)s AND copied_at IS NULL
"""
NEWEST_OFFER = """
SELECT n.id FROM companion_visitoffer n WHERE n.machine_id = %(machine)s ORDER BY n.machine_id, n.id DESC LIMIT 1
"""
"""Of the offers of a machine only the newest can be open."""
END_OFFERS = f"""
UPDATE companion_visitoffer SET answered_at = clock_timestamp(), answer = %(answer)s
WHERE answered_at IS NULL AND id = ({NEWEST_OFFER})
"""


class MachineState(StrEnum):
    """What a browser is, by its cookie."""

    UNKNOWN = "unknown"
    """No machine: it may be paired."""
    READY = "ready"
    COPIED = "copied"
    """Its cookie stands in two browsers: it has to be paired again."""
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownMachine:
    """A machine of a site."""

    id: UUID
    site: int
    name: str
    language: str
    """Of the site."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Contact:
    """A contact of a browser. `cookie` is its new value, or empty; `is_news`: the copy was noticed now."""

    state: MachineState
    machine: KnownMachine | None = None
    cookie: str = ""
    is_news: bool = False


UNKNOWN = Contact(state=MachineState.UNKNOWN)


def recognise(request: HttpRequest) -> KnownMachine | None:
    """Return the machine that may open visits in this browser; None if there is none. Changes nothing."""
    return _find_ready(request, FIND)


def hold_machine(request: HttpRequest) -> KnownMachine | None:
    """The same, and hold its row until the transaction ends: a withdrawal meanwhile ends the visit that is opened.

    Hold it before the rows of offers and visits, as a withdrawal does.
    """
    return _find_ready(request, HOLD)


def _find_ready(request: HttpRequest, statement: str) -> KnownMachine | None:
    token = read_machine_token(request)
    row = _find(token.machine, statement) if token else None
    if token is None or row is None or judge(row, token) is not MachineState.READY:
        return None
    return build_machine(row)


def find_machine(machine: UUID) -> KnownMachine | None:
    """Return the machine with this id, whatever its state."""
    row = _find(machine)
    return build_machine(row) if row else None


def _find(machine: UUID, statement: str = FIND) -> tuple[Any, ...] | None:
    with connection.cursor() as cursor:
        cursor.execute(statement, [machine])
        row: tuple[Any, ...] | None = cursor.fetchone()
    return row


@transaction.atomic
def make_contact(token: MachineToken | None) -> Contact:
    """Say what this browser is, and change the value of its cookie.

    The value before is good as well: the answer with the newest one may have been lost, or a computer that lost its
    power may have stored it too late. Then the newest value is replaced, so a browser that holds it is noticed as soon
    as it calls.
    """
    if token is None:
        return UNKNOWN
    with connection.cursor() as cursor:
        cursor.execute(LOCK, [token.machine])
        row = cursor.fetchone()
        if row is None:
            return UNKNOWN
        current, former, _, _, age_s, *_ = row
        machine, state = build_machine(row), judge(row, token)
        if state is not MachineState.READY:
            return Contact(state=state, machine=machine, is_news=_mark_copied(cursor, machine.id, state))
        cursor.execute(MARK_FIRST_SEEN, [machine.id])
        if 0 <= age_s < SIBLINGS_S:
            return Contact(state=state, machine=machine)
        value, stored = make_token(machine.id)
        is_newest = hmac.compare_digest(token.hash, current)
        facts = {"machine": machine.id, "current": current, "new": stored}
        cursor.execute(ROTATE, {**facts, "former": current if is_newest else former})
        # Open pages of a value that is no longer good connect again, and show what they hold by then.
        notify_machine_changed(cursor, machine.id)
    return Contact(state=state, machine=machine, cookie=value)


def end_offers(machine: UUID) -> None:
    """End what the machine asks, because its browser is no longer the one that was asked, and tell its pages."""
    with connection.cursor() as cursor:
        cursor.execute(END_OFFERS, {"machine": machine, "answer": "gone"})
        notify_machine_changed(cursor, machine)


def notify_machine_changed(cursor: Any, machine: UUID) -> None:
    """Tell the waiting pages of a machine, and the desk, when this transaction commits."""
    cursor.execute(NOTIFY, notify_parameters(MachinesChanged(machines=(machine,))))


def judge(row: Collection[Any], token: MachineToken) -> MachineState:
    """What a cookie with our signature is: `row` begins with token_hash, former_hash, is_withdrawn, is_copied."""
    current, former, is_withdrawn, is_copied, *_ = row
    if is_withdrawn:
        return MachineState.WITHDRAWN
    if is_copied or not current:
        return MachineState.COPIED if is_copied else MachineState.UNKNOWN
    is_good = [hmac.compare_digest(token.hash, stored) for stored in (current, former)]
    return MachineState.READY if any(is_good) else MachineState.COPIED


def _mark_copied(cursor: Any, machine: UUID, state: MachineState) -> bool:
    if state is not MachineState.COPIED:
        return False
    cursor.execute(MARK_COPIED, {"machine": machine})
    if not cursor.rowcount:
        return False
    end_offers(machine)
    log.warning("machine.copied machine=%s", machine)
    return True


def build_machine(row: Sequence[Any]) -> KnownMachine:
    """The machine of a row that ends with `MACHINE_COLUMNS`."""
    *_, machine, site, name, language = row
    return KnownMachine(id=machine, site=site, name=name, language=language)
