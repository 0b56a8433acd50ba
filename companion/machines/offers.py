"""Offers of a visit: staff name a person on a machine, and its page asks whether it is they. Uses Django's connection.

Each change compares and sets under the lock of the machine's row. The caller checks the rights and hands in the sites.
"""

import logging
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from companion.machines.asking import PERSON_COLUMNS, PERSON_JOINS, AskedPerson, read_asked
from companion.machines.models import OfferAnswer
from companion.machines.registry import (
    MACHINE_COLUMNS,
    NEWEST_OFFER,
    KnownMachine,
    build_machine,
    notify_machine_changed,
)
from companion.supervision.staff import Staff
from companion.visits.conditions import IS_LIVE

log = logging.getLogger(__name__)

OFFER_S = 300
"""How long a machine asks. After that its page waits again, so that no name stays on it."""
NEWS_S = 900
"""How long the desk shows what became of an offer."""

LOCK_MACHINE = f"""
SELECT s.is_open, m.copied_at IS NULL AND m.token_hash <> '', {MACHINE_COLUMNS}
FROM companion_machine m JOIN companion_site s ON s.id = m.site_id
WHERE m.id = %(machine)s AND m.site_id = ANY(%(sites)s) AND m.withdrawn_at IS NULL
FOR NO KEY UPDATE OF m
"""
FIND_PARTICIPANT = """
SELECT id, name FROM companion_participant WHERE id = %(participant)s AND site_id = %(site)s AND is_active
"""
LIVE_ON_MACHINE = f"""
SELECT v.participant_id, p.name FROM companion_visit v JOIN companion_participant p ON p.id = v.participant_id
WHERE v.machine_id = %(machine)s AND {IS_LIVE}
ORDER BY v.opened_at DESC LIMIT 1
"""
# An offer of what is the future after the clock was set back does not count.
OFFER_IS_OPEN = (
    "o.answered_at IS NULL AND o.offered_at <= clock_timestamp() AND o.expires_at > clock_timestamp()"
)
SAME_OFFER = f"""
SELECT o.id FROM companion_visitoffer o
WHERE o.id = ({NEWEST_OFFER}) AND o.participant_id = %(participant)s AND {OFFER_IS_OPEN}
"""
END_EARLIER = f"""
UPDATE companion_visitoffer SET answered_at = clock_timestamp(),
       answer = CASE WHEN expires_at > clock_timestamp() THEN 'taken_back' ELSE 'expired' END
WHERE id = ({NEWEST_OFFER}) AND answered_at IS NULL
"""
INSERT = """
INSERT INTO companion_visitoffer (machine_id, participant_id, by, by_name, offered_at, expires_at)
VALUES (%(machine)s, %(participant)s, %(by)s, %(by_name)s, clock_timestamp(),
        clock_timestamp() + make_interval(secs => %(offer_s)s))
RETURNING id
"""
TAKE_BACK = """
UPDATE companion_visitoffer o SET answered_at = clock_timestamp(), answer = 'taken_back'
FROM companion_machine m
WHERE o.id = %(offer)s AND m.id = o.machine_id AND m.site_id = ANY(%(sites)s) AND o.answered_at IS NULL
RETURNING o.machine_id, o.participant_id
"""
LOCK_OFFER = f"""
SELECT o.id, o.participant_id, o.by_name, ({OFFER_IS_OPEN}), o.answer
FROM companion_visitoffer o WHERE o.id = %(offer)s AND o.machine_id = %(machine)s FOR UPDATE
"""
ANSWER = """
UPDATE companion_visitoffer SET answered_at = clock_timestamp(), answer = %(answer)s
WHERE id = %(offer)s AND answered_at IS NULL
"""
FIND_OPEN = f"""
SELECT o.id, {PERSON_COLUMNS} FROM companion_visitoffer o {PERSON_JOINS}
WHERE o.id = ({NEWEST_OFFER}) AND {OFFER_IS_OPEN}
"""
# The newest offers of each machine, by index; the desk shows those of the last minutes.
LIST_NEWS = f"""
SELECT o.id, o.machine_id, m.name, m.site_id, p.id, p.name, c.id, o.by_name, o.offered_at,
       CASE WHEN o.answer <> '' THEN o.answer WHEN {OFFER_IS_OPEN} THEN 'open' ELSE 'expired' END
FROM companion_machine m
CROSS JOIN LATERAL (
    SELECT * FROM companion_visitoffer WHERE machine_id = m.id ORDER BY machine_id, id DESC LIMIT 3
) o
JOIN companion_participant p ON p.id = o.participant_id
JOIN companion_conversation c ON c.participant_id = p.id
WHERE m.site_id = ANY(%(sites)s) AND m.withdrawn_at IS NULL
  AND coalesce(o.answered_at, o.expires_at) > clock_timestamp() - make_interval(secs => %(news_s)s)
ORDER BY o.id DESC LIMIT 200
"""


class OfferRefusal(StrEnum):
    """Why no offer was made."""

    NO_MACHINE = "no_machine"
    NOT_PAIRED = "not_paired"
    NO_PERSON = "no_person"
    """No such person at the site of the machine, or the card is withdrawn."""
    SITE_CLOSED = "site_closed"
    BUSY = "busy"
    """Another person is on the machine. One whose visit there is locked makes room."""
    HERE_ALREADY = "here_already"


@dataclass(frozen=True, kw_only=True, slots=True)
class OfferMade:
    """The machine asks. `is_new`: not asked before."""

    offer: int
    machine: KnownMachine
    name: str
    is_new: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class OfferRefused:
    """Nothing was changed. `name` is that of the machine, `person` of who is on it."""

    code: OfferRefusal
    name: str = ""
    person: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class OfferView:
    """An offer as the desk shows it. `state`: open, or an `OfferAnswer`."""

    id: int
    machine: UUID
    machine_name: str
    site: int
    participant: int
    name: str
    conversation: int
    by_name: str
    offered_at: datetime
    state: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LockedOffer:
    """An offer that is being answered. `state`: open, or how it ended."""

    offer: int
    participant: int
    by_name: str
    state: str


def offer_visit(
    machine: UUID, participant: int, staff: Staff, *, sites: Collection[int]
) -> OfferMade | OfferRefused:
    """Ask on the machine whether this is the person. An open offer of another person there is taken back."""
    facts: dict[str, Any] = {"machine": machine, "participant": participant, "sites": sorted(sites)}
    facts |= {"by": staff.user, "by_name": staff.name, "offer_s": OFFER_S}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(LOCK_MACHINE, facts)
        row = cursor.fetchone()
        if row is None:
            return OfferRefused(code=OfferRefusal.NO_MACHINE)
        known, (is_open, is_paired, *_) = build_machine(row), row
        cursor.execute(FIND_PARTICIPANT, {**facts, "site": known.site})
        person = cursor.fetchone()
        cursor.execute(LIVE_ON_MACHINE, facts)
        there = cursor.fetchone()
        if refusal := _refuse(is_open, is_paired, person, there):
            return OfferRefused(code=refusal, name=known.name, person=there[1] if there else "")
        cursor.execute(SAME_OFFER, facts)
        if same := cursor.fetchone():
            return OfferMade(offer=same[0], machine=known, name=person[1], is_new=False)
        cursor.execute(END_EARLIER, facts)
        cursor.execute(INSERT, facts)
        [offer] = cursor.fetchone()
        notify_machine_changed(cursor, machine)
    log.info("offer.made offer=%d machine=%s participant=%d", offer, machine, participant)
    return OfferMade(offer=offer, machine=known, name=person[1])


def is_in_use(machine: UUID) -> bool:
    """Whether a person has a live visit on the machine."""
    with connection.cursor() as cursor:
        cursor.execute(LIVE_ON_MACHINE, {"machine": machine})
        return cursor.fetchone() is not None


def take_back(offer: int, *, sites: Collection[int]) -> int | None:
    """Ask no longer. Returns the participant; None: the offer has ended, or is of another site."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(TAKE_BACK, {"offer": offer, "sites": sorted(sites)})
        row = cursor.fetchone()
        if row is None:
            return None
        notify_machine_changed(cursor, row[0])
    return int(row[1])


def find_open_offer(machine: UUID) -> AskedPerson | None:
    """Return what the machine asks now."""
    with connection.cursor() as cursor:
        cursor.execute(FIND_OPEN, {"machine": machine})
        row = cursor.fetchone()
    return read_asked(row) if row else None


def lock_offer(offer: int, machine: UUID) -> LockedOffer | None:
    """Lock an offer of this machine until the transaction ends; None: there is none."""
    with connection.cursor() as cursor:
        cursor.execute(LOCK_OFFER, {"offer": offer, "machine": machine})
        row = cursor.fetchone()
    if row is None:
        return None
    number, participant, by_name, is_open, answer = row
    state = answer or ("open" if is_open else OfferAnswer.EXPIRED)
    return LockedOffer(offer=number, participant=participant, by_name=by_name, state=state)


def store_answer(offer: int, machine: UUID, answer: OfferAnswer) -> bool:
    """Store how an offer ended, and tell the desk and the machine's pages. False: it had ended."""
    with connection.cursor() as cursor:
        cursor.execute(ANSWER, {"offer": offer, "answer": answer})
        if cursor.rowcount != 1:
            return False
        notify_machine_changed(cursor, machine)
    log.info("offer.answered offer=%d answer=%s", offer, answer)
    return True


def news_parameters(sites: Collection[int]) -> dict[str, Any]:
    """The parameters of `LIST_NEWS`."""
    return {"sites": sorted(sites), "news_s": NEWS_S}


def build_offer_view(row: tuple[Any, ...]) -> OfferView:
    """The offer in a row of `LIST_NEWS`."""
    names = OfferView.__dataclass_fields__
    return OfferView(**dict(zip(names, row, strict=True)))


def _refuse(
    is_open: bool, is_paired: bool, person: tuple[int, str] | None, there: tuple[int, str] | None
) -> OfferRefusal | None:
    if not is_paired:
        return OfferRefusal.NOT_PAIRED
    if person is None:
        return OfferRefusal.NO_PERSON
    if not is_open:
        return OfferRefusal.SITE_CLOSED
    if there is not None:
        return OfferRefusal.HERE_ALREADY if there[0] == person[0] else OfferRefusal.BUSY
    return None
