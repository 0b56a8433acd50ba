"""Access of participants: opens, finds and ends visits. No other module decides who may act for a participant.

Views use Django's connection. Sockets use the process's own pool, so that a slow page cannot delay a socket.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core import signing
from django.db import connection, transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from psycopg_pool import AsyncConnectionPool

from companion import cards
from companion.batch import Batch
from companion.cards import Card
from companion.languages import OF_PERSON
from companion.machines.registry import KnownMachine, recognise
from companion.machines.tokens import read_machine_token
from companion.models import Conversation, Participant, Site, Visit, VisitWay
from companion.sessions import SessionStore, hash_session_key
from companion.visits import ends, idle
from companion.visits.conditions import IS_LIVE, IS_LOCKED, IS_OPEN
from companion.visits.ends import EndReason

log = logging.getLogger(__name__)

VISIT_KEY = "visit"
_TICKETS = "companion.leaving"

SESSIONS = """
SELECT session_key, session_data FROM django_session
WHERE session_key = ANY(%s) AND expire_date > clock_timestamp()
"""

# Every condition of access in one statement: an ended visit, a withdrawn card and a closed site all count at once.
FIND_VISITS = f"""
SELECT v.id, p.id, p.name, s.name, c.id, s.exit_address, {idle.IDLE_S}, {idle.IDLE_LEFT_S}, v.has_moved, {OF_PERSON}
FROM companion_visit v
JOIN companion_participant p ON p.id = v.participant_id AND p.is_active
JOIN companion_site s ON s.id = p.site_id AND s.is_open
JOIN companion_conversation c ON c.participant_id = p.id
WHERE v.id = ANY(%s)
"""
LIVE_VISITS = f"{FIND_VISITS} AND {IS_LIVE}"
LOCKED_VISITS = f"{FIND_VISITS} AND {IS_LOCKED}"

WHY_OVER = f"""
SELECT v.id, CASE WHEN v.end_reason <> '' THEN v.end_reason WHEN {IS_LOCKED} THEN '{EndReason.IDLE}'
            WHEN v.expires_at <= clock_timestamp() THEN '{EndReason.EXPIRED}' ELSE '' END
FROM companion_visit v WHERE v.id = ANY(%s)
"""

FIND_EXIT = """
SELECT s.exit_address FROM companion_visit v
JOIN companion_participant p ON p.id = v.participant_id JOIN companion_site s ON s.id = p.site_id
WHERE v.id = %s
"""

VISITS_OF = f"SELECT v.id FROM companion_visit v WHERE v.participant_id = ANY(%s) AND {IS_OPEN}"

VISITS_ON_MACHINE = f"SELECT v.id FROM companion_visit v WHERE v.machine_id = %s AND {IS_OPEN}"

MAX_LINK_MISSES = 3
"""Wrong choices of pictures after which a link opens nothing until the code is typed or a new card is issued."""
LINK_MISS_WINDOW = timedelta(days=7)
"""Counted from the last miss. A right choice does not reset the count: it would give a stranger new ones each day."""

OWNS = "SELECT 1 FROM companion_turn WHERE id = %s AND conversation_id = %s"


class SiteClosed(Exception):
    """The card is valid, but its site is not open."""


class NotHere(Exception):
    """The card is valid, but opens nothing in this browser.

    `needs_machine`: its site lets cards work on its own machines alone. Otherwise this is a machine of another site.
    """

    def __init__(self, *, needs_machine: bool) -> None:
        super().__init__("only on machines of the site" if needs_machine else "on a machine of another site")
        self.needs_machine = needs_machine


class WrongPictures(Exception):
    """The link is valid, but the chosen pictures are not the ones on the card."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveVisit:
    """A live visit with its participant, site and conversation."""

    visit: UUID
    participant: int
    participant_name: str
    site_name: str
    conversation: int
    exit_address: str
    """Where the quick exit of its site leads; empty: to our own plain page."""
    idle_s: int
    """Seconds without a sign of life after which its page locks."""
    idle_left_s: float | None
    """Seconds that are left of them; None: it does not lock."""
    has_moved: bool
    """Whether it ended a visit of the same participant elsewhere."""
    language: str = ""
    """Of the participant."""


def open_visit_by_code(request: HttpRequest, typed: str) -> Visit | None:
    """Sign in with a card's code and end the session's earlier visit. None: no such card.

    The holder of the card whose visit is locked in this session comes back to it. Raises SiteClosed and NotHere.
    """
    with transaction.atomic():
        person = _find_holder_by_code(typed)
        if person is None:
            return None
        visit = _come_back(request, person) or _open_visit(request, person, way=VisitWay.CODE)
        if person.link_misses:
            _store_misses(person, 0)
    return visit


def open_visit_by_link(request: HttpRequest, link: str, chosen: Sequence[str]) -> Visit | None:
    """Sign in with a card's link and the chosen pictures. None: the link is invalid or locked.

    Raises SiteClosed and NotHere, and WrongPictures, which counts as a miss: `MAX_LINK_MISSES` of them lock the link.
    """
    with transaction.atomic():
        person = _find_holder(link)
        if person is None:
            return None
        pictures = cards.find_pictures(link, person.card_handle, person.card_issue)
        if pictures is None:
            return None
        misses = _count_recent_misses(person)
        if misses >= MAX_LINK_MISSES:
            log.warning("card.link_rests participant=%d", person.pk)
            return None
        if cards.pictures_match(chosen, pictures):
            return _open_visit(request, person, way=VisitWay.LINK)
        _store_misses(person, misses + 1)
    # Outside the transaction, which would otherwise take the miss back.
    raise WrongPictures


def open_visit_on_machine(
    request: HttpRequest, participant: int, machine: KnownMachine, *, opened_by: str
) -> Visit | None:
    """Open the visit that staff have offered on a machine of the participant's site, or unlock theirs in this session.

    None: the participant's card was withdrawn, or is of another site. Raises SiteClosed.
    """
    with transaction.atomic():
        person = _lock_people().filter(pk=participant, site=machine.site, is_active=True).first()
        if person is None:
            return None
        return _come_back(request, person) or _open_visit(
            request, person, way=VisitWay.STAFF, opened_by=opened_by
        )


def _find_holder(token: str) -> Participant | None:
    handle = cards.parse_handle(token)
    return None if handle is None else _lock_people().filter(card_handle=handle, is_active=True).first()


def _find_holder_by_code(typed: str) -> Participant | None:
    # A look-alike letter may stand for one of the handle, so several handles are looked up, by index.
    for found in Participant.objects.filter(card_handle__in=cards.list_handles(typed), is_active=True):
        if cards.is_code(typed, found.card_handle, found.card_issue):
            person = _lock_people().filter(pk=found.pk, is_active=True).first()
            # Looked at again under the lock: the card may have been renewed a moment ago.
            if person and cards.is_code(typed, person.card_handle, person.card_issue):
                return person
    return None


def _lock_people() -> QuerySet[Participant]:
    # Locked until the visit is stored: a concurrent withdrawal of the card either prevents the visit or ends it, and
    # of two visits that open at once the second ends the first.
    return Participant.objects.select_for_update(of=("self",), no_key=True).select_related("site")


def _open_visit(request: HttpRequest, person: Participant, *, way: VisitWay, opened_by: str = "") -> Visit:
    if not person.site.is_open:
        raise SiteClosed
    machine = recognise(read_machine_token(request))
    _check_place(person.site, machine)
    own = session_visit_id(request)
    with connection.cursor() as cursor:
        cursor.execute(VISITS_OF, [[person.pk]])
        earlier = [row[0] for row in cursor.fetchall()]
        visit = Visit.objects.create(
            participant=person,
            expires_at=timezone.now() + _get_absolute_age(person.site),
            machine_id=machine.id if machine else None,
            way=way,
            opened_by=opened_by,
            has_moved=any(other != own for other in earlier),
        )
        # A person has one live visit: coming in elsewhere moves it, with the replies that are under way.
        ends.end_visits(cursor, earlier, EndReason.MOVED, moved_to=visit.id)
    # A device may be shared: the visit of the person before ends with this one.
    end_visit(request, reason=EndReason.IDLE if find_locked_visit(request) else EndReason.REPLACED)
    note_active(visit.id)
    request.session[VISIT_KEY] = str(visit.id)
    log.info("visit.opened visit=%s participant=%d way=%s moved=%d", visit.id, person.pk, way, len(earlier))
    return visit


def _check_place(site: Site, machine: KnownMachine | None) -> None:
    if machine is None and site.cards_only_on_machines:
        raise NotHere(needs_machine=True)
    if machine is not None and machine.site != site.pk:
        raise NotHere(needs_machine=False)


def _get_absolute_age(site: Site) -> timedelta:
    # A session lives for COMPANION_VISIT_S, so a site can shorten it only.
    longest = timedelta(seconds=settings.COMPANION_VISIT_S)
    return longest if site.visit_hours is None else min(longest, timedelta(hours=site.visit_hours))


def note_active(visit: UUID) -> None:
    """Its participant has given a sign of life on a page without a socket."""
    with connection.cursor() as cursor:
        cursor.execute(idle.NOTE_ACTIVE, {"visits": [visit]})


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


def _come_back(request: HttpRequest, person: Participant) -> Visit | None:
    """Unlock the session's visit if it is this participant's and is locked."""
    locked = find_locked_visit(request)
    if locked is None or locked.participant != person.pk:
        return None
    with connection.cursor() as cursor:
        cursor.execute(idle.UNLOCK, {"visit": locked.visit})
        if cursor.fetchone() is None:
            return None
    # Another key: a browser keeps no page that was loaded with the cookie of before.
    request.session.cycle_key()
    log.info("visit.unlocked visit=%s", locked.visit)
    return Visit.objects.get(id=locked.visit)


def takes_pictures(locked: LiveVisit) -> bool:
    """Whether the locked page may still be opened with the card's pictures, and not with its code alone."""
    return Visit.objects.filter(id=locked.visit, unlock_misses__lt=idle.MAX_UNLOCK_MISSES).exists()


def come_back_by_pictures(request: HttpRequest, chosen: Sequence[str]) -> bool:
    """Unlock the session's visit with the pictures of its participant's card. False: it is not locked any more.

    Raises WrongPictures, which counts as a miss: after `MAX_UNLOCK_MISSES` of them the page takes the code alone.
    """
    locked = find_locked_visit(request)
    if locked is None:
        return False
    with transaction.atomic():
        person = Participant.objects.select_for_update(no_key=True).get(pk=locked.participant)
        with connection.cursor() as cursor:
            # Counted before it is looked at: parallel tries cannot exceed the limit.
            cursor.execute(idle.COUNT_MISS, {"visit": locked.visit})
            [misses] = cursor.fetchone() or [0]
            if misses <= idle.MAX_UNLOCK_MISSES and cards.are_pictures(
                chosen, person.card_handle, person.card_issue
            ):
                cursor.execute(idle.FORGIVE_MISS, {"visit": locked.visit})
                return _come_back(request, person) is not None
    log.warning("visit.wrong_pictures visit=%s misses=%d", locked.visit, misses)
    raise WrongPictures


def _count_recent_misses(person: Participant) -> int:
    at = person.link_missed_at
    return person.link_misses if at and timezone.now() - at < LINK_MISS_WINDOW else 0


def _store_misses(person: Participant, misses: int) -> None:
    Participant.objects.filter(pk=person.pk).update(link_misses=misses, link_missed_at=timezone.now())


def session_visit_id(request: HttpRequest) -> UUID | None:
    """Return the visit that the session names, live or not."""
    return _parse_uuid(request.session.get(VISIT_KEY))


def find_visit(request: HttpRequest) -> LiveVisit | None:
    """Return the live visit of the session."""
    return _find_visit(request, LIVE_VISITS)


def find_locked_visit(request: HttpRequest) -> LiveVisit | None:
    """Return the visit of the session if it is locked: it shows no words, and its participant may come back."""
    return _find_visit(request, LOCKED_VISITS)


def _find_visit(request: HttpRequest, query: str) -> LiveVisit | None:
    visit = session_visit_id(request)
    if visit is None:
        return None
    with connection.cursor() as cursor:
        cursor.execute(query, [[visit]])
        row = cursor.fetchone()
    return _make_live_visit(row) if row else None


def find_end_reason(request: HttpRequest) -> str:
    """Return why the session's visit shows nothing: an `EndReason`, `idle` for a locked one; empty: not known."""
    visit = session_visit_id(request)
    if visit is None:
        return ""
    with connection.cursor() as cursor:
        cursor.execute(WHY_OVER, [[visit]])
        row = cursor.fetchone()
    return str(row[1]) if row else ""


def find_exit_address(request: HttpRequest, ticket: str = "") -> str:
    """Return the https address that the quick exit of this visit leads to; empty: to our own plain page."""
    visit = _parse_ticket(ticket) or session_visit_id(request)
    if visit is None:
        return ""
    with connection.cursor() as cursor:
        cursor.execute(FIND_EXIT, [visit])
        row = cursor.fetchone()
    return str(row[0]) if row else ""


def sign_leaving_ticket(visit: UUID) -> str:
    """Sign a ticket that ends this visit even if the browser has lost its cookie or has another participant's."""
    return signing.dumps(str(visit), salt=_TICKETS)


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


def _parse_ticket(ticket: str) -> UUID | None:
    try:
        return _parse_uuid(signing.loads(ticket, salt=_TICKETS)) if ticket else None
    except signing.BadSignature:
        return None


def end_visits(people: Iterable[int], *, reason: EndReason = EndReason.WITHDRAWN) -> int:
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


def find_participants(name: str, *, site: str | None = None, number: int | None = None) -> list[Participant]:
    """Return the participants of this name, in any case of letters, by id; also those whose card was withdrawn.

    `site` is a site's slug, `number` a participant's id.
    """
    people = Participant.objects.select_related("site").filter(name__iexact=name)
    if site is not None:
        people = people.filter(site__slug=site)
    if number is not None:
        people = people.filter(id=number)
    return list(people.order_by("id"))


def find_active_participant(name: str, *, site: str) -> Participant | None:
    """Return the participant of this name at this site whose card opens; None if there is none, or more than one."""
    active = [person for person in find_participants(name, site=site) if person.is_active]
    return active[0] if len(active) == 1 else None


@transaction.atomic
def add_participant(name: str, *, site: Site) -> Participant:
    """Create a participant with a card and a conversation."""
    person = Participant.objects.create(name=name, site=site, card_handle=cards.make_handle())
    Conversation.objects.create(participant=person)
    return person


def create_session(person: Participant) -> str:
    """Sign a participant in with their own card, as the page does, and return the value of the session cookie."""
    request = HttpRequest()
    request.session = SessionStore()
    # By the card and not around it: what checks a sign-in checks this too.
    if open_visit_by_code(request, get_card(person).code) is None:
        raise RuntimeError("The participant's own card does not open a visit.")
    request.session.save()
    return request.session.session_key or ""


def get_card(person: Participant) -> Card:
    """Return what is printed on a participant's card."""
    return cards.derive_card(person.card_handle, person.card_issue)


class VisitAccess:
    """Finds visits for sockets, on the process's own pool."""

    def __init__(self, pool: AsyncConnectionPool[Any]) -> None:
        self._pool = pool
        self._visits: Batch[str, LiveVisit | None] = Batch(self._find_visits)

    async def find_visit(self, session_key: str | None) -> LiveVisit | None:
        """Return the live visit of a session cookie. Concurrent lookups share a query."""
        # Reject malformed keys: lookups are batched.
        is_well_formed = session_key is not None and session_key.isascii() and session_key.isalnum()
        return await self._visits.submit(session_key) if session_key and is_well_formed else None

    async def _find_visits(self, session_keys: Sequence[str]) -> list[LiveVisit | None]:
        async with self._pool.connection() as native, native.cursor() as cursor:
            await cursor.execute(SESSIONS, ([hash_session_key(key) for key in session_keys],))
            # decode() checks the signature under the current and the older secret keys.
            named = {
                stored: _parse_uuid(SessionStore().decode(data).get(VISIT_KEY))
                for stored, data in await cursor.fetchall()
            }
            await cursor.execute(LIVE_VISITS, ([visit for visit in named.values() if visit],))
            live = {row[0]: _make_live_visit(row) for row in await cursor.fetchall()}
        return [
            live.get(visit) if (visit := named.get(hash_session_key(key))) else None for key in session_keys
        ]

    async def find_end_reason(self, session_key: str | None) -> str:
        """Return why the visit of a session cookie is not live; empty: not known. Malformed keys are not looked up."""
        if not (session_key and session_key.isascii() and session_key.isalnum()):
            return ""
        async with self._pool.connection() as native, native.cursor() as cursor:
            await cursor.execute(SESSIONS, ([hash_session_key(session_key)],))
            row = await cursor.fetchone()
            visit = _parse_uuid(SessionStore().decode(row[1]).get(VISIT_KEY)) if row else None
            await cursor.execute(WHY_OVER, ([visit],))
            row = await cursor.fetchone()
        return str(row[1]) if row else ""

    async def find_over(self, visits: Iterable[UUID]) -> dict[UUID, str]:
        """Return those of the visits that are not live, each with an `EndReason`, or `idle` for a locked one."""
        known = list(visits)
        async with self._pool.connection() as native, native.cursor() as cursor:
            await cursor.execute(LIVE_VISITS, (known,))
            live = {row[0] for row in await cursor.fetchall()}
            over = dict.fromkeys((visit for visit in known if visit not in live), "")
            if over:
                await cursor.execute(WHY_OVER, (list(over),))
                over |= {row[0]: str(row[1]) for row in await cursor.fetchall()}
        return over

    async def owns_turn(self, conversation: int, turn: int) -> bool:
        async with self._pool.connection() as native, native.cursor() as cursor:
            await cursor.execute(OWNS, (turn, conversation))
            return await cursor.fetchone() is not None


def _parse_uuid(text: object) -> UUID | None:
    try:
        return UUID(str(text))
    except ValueError:
        return None


def _make_live_visit(row: tuple[Any, ...]) -> LiveVisit:
    visit, participant, participant_name, site_name, conversation, exit_address, *limits, language = row
    idle_s, idle_left_s, has_moved = limits
    return LiveVisit(
        visit=visit,
        participant=participant,
        participant_name=participant_name,
        site_name=site_name,
        conversation=conversation,
        exit_address=exit_address if exit_address.startswith("https://") else "",
        idle_s=idle_s,
        idle_left_s=None if idle_left_s is None else max(0.0, float(idle_left_s)),
        has_moved=has_moved,
        language=language,
    )
