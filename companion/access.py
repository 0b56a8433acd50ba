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
from django.http import HttpRequest
from django.utils import timezone
from psycopg_pool import AsyncConnectionPool

from companion import cards
from companion.batch import Batch
from companion.cards import Card
from companion.models import Conversation, Participant, Site, Visit
from companion.notifications import NOTIFY, VisitsEnded, notify_parameters, split_visits
from companion.sessions import SessionStore, hash_session_key

log = logging.getLogger(__name__)

VISIT_KEY = "visit"
_TICKETS = "companion.leaving"

SESSIONS = """
SELECT session_key, session_data FROM django_session
WHERE session_key = ANY(%s) AND expire_date > clock_timestamp()
"""

# Every condition of access in one statement: an ended visit, a withdrawn card and a closed site all count at once.
LIVE_VISITS = """
SELECT v.id, p.id, p.name, s.name, c.id
FROM companion_visit v
JOIN companion_participant p ON p.id = v.participant_id AND p.is_active
JOIN companion_site s ON s.id = p.site_id AND s.is_open
JOIN companion_conversation c ON c.participant_id = p.id
WHERE v.id = ANY(%s) AND v.ended_at IS NULL AND v.expires_at > clock_timestamp()
"""

END_VISITS = """
UPDATE companion_visit SET ended_at = clock_timestamp()
WHERE participant_id = ANY(%s) AND ended_at IS NULL AND expires_at > clock_timestamp() RETURNING id
"""

MAX_LIVE_VISITS = 10
"""Live visits of one participant. A further visit ends the oldest one, which limits the use of a copied card."""

END_OLDEST_VISITS = """
UPDATE companion_visit SET ended_at = clock_timestamp()
WHERE id IN (
    SELECT id FROM companion_visit
    WHERE participant_id = %s AND ended_at IS NULL AND expires_at > clock_timestamp()
    ORDER BY expires_at DESC, opened_at DESC OFFSET %s
) RETURNING id
"""

MAX_LINK_MISSES = 3
"""Wrong choices of pictures after which a link opens nothing until the code is typed or a new card is issued."""
LINK_MISS_WINDOW = timedelta(days=7)
"""Counted from the last miss. A right choice does not reset the count: it would give a stranger new ones each day."""

OWNS = "SELECT 1 FROM companion_turn WHERE id = %s AND conversation_id = %s"


class SiteClosed(Exception):
    """The card is valid, but its site is not open."""


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


def open_visit_by_code(request: HttpRequest, typed: str) -> Visit | None:
    """Sign in with a card's code and end the session's earlier visit. None: no such card. Raises SiteClosed."""
    with transaction.atomic():
        person = _find_holder(typed)
        if person is None or not cards.is_code(typed, person.card_handle, person.card_issue):
            return None
        visit = _open_visit(request, person)
        if person.link_misses:
            _store_misses(person, 0)
    return visit


def open_visit_by_link(request: HttpRequest, link: str, chosen: Sequence[str]) -> Visit | None:
    """Sign in with a card's link and the chosen pictures. None: the link is invalid or locked.

    Raises SiteClosed, and WrongPictures, which counts as a miss: `MAX_LINK_MISSES` of them lock the link.
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
            return _open_visit(request, person)
        _store_misses(person, misses + 1)
    # Outside the transaction, which would otherwise take the miss back.
    raise WrongPictures


def _find_holder(token: str) -> Participant | None:
    handle = cards.parse_handle(token)
    if handle is None:
        return None
    # Locked until the visit is stored: a concurrent withdrawal of the card either prevents the visit or ends it.
    people = Participant.objects.select_for_update(of=("self",), no_key=True).select_related("site")
    return people.filter(card_handle=handle, is_active=True).first()


def _open_visit(request: HttpRequest, person: Participant) -> Visit:
    if not person.site.is_open:
        raise SiteClosed
    # A device may be shared: the visit of the person before ends with this one.
    end_visit(request)
    expires_at = timezone.now() + timedelta(seconds=settings.COMPANION_VISIT_S)
    visit = Visit.objects.create(participant=person, expires_at=expires_at)
    request.session[VISIT_KEY] = str(visit.id)
    _end_oldest_visits(person)
    log.info("visit.opened visit=%s participant=%d", visit.id, person.pk)
    return visit


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
    visit = session_visit_id(request)
    if visit is None:
        return None
    with connection.cursor() as cursor:
        cursor.execute(LIVE_VISITS, [[visit]])
        row = cursor.fetchone()
    return _make_live_visit(row) if row else None


def sign_leaving_ticket(visit: UUID) -> str:
    """Sign a ticket that ends this visit even if the browser has lost its cookie or has another participant's."""
    return signing.dumps(str(visit), salt=_TICKETS)


def end_visit(request: HttpRequest, ticket: str = "") -> UUID | None:
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
        Visit.objects.filter(id=visit, ended_at=None).update(ended_at=timezone.now())
        # A socket does not see that its session ended: the notification makes each process close it.
        cursor.execute(NOTIFY, notify_parameters(VisitsEnded(visits=(visit,))))
    log.info("visit.ended visit=%s", visit)
    return visit


def _parse_ticket(ticket: str) -> UUID | None:
    try:
        return _parse_uuid(signing.loads(ticket, salt=_TICKETS)) if ticket else None
    except signing.BadSignature:
        return None


def end_visits(people: Iterable[int]) -> int:
    """End every visit of these participants, close their sockets, and return how many visits there were."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(END_VISITS, [list(people)])
        ended = _notify_ended(cursor)
    log.info("visit.ended_together visits=%d", ended)
    return ended


def _end_oldest_visits(person: Participant) -> None:
    with connection.cursor() as cursor:
        cursor.execute(END_OLDEST_VISITS, [person.pk, MAX_LIVE_VISITS])
        if ended := _notify_ended(cursor):
            log.info("visit.too_many participant=%d ended=%d", person.pk, ended)


def _notify_ended(cursor: Any) -> int:
    """Notify every process of the visits whose ids are in `cursor`, and return how many there are."""
    ended = [row[0] for row in cursor.fetchall()]
    for notification in split_visits(ended):
        cursor.execute(NOTIFY, notify_parameters(notification))
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

    async def filter_live(self, visits: Iterable[UUID]) -> set[UUID]:
        """Return those of the visits that are live."""
        async with self._pool.connection() as native, native.cursor() as cursor:
            await cursor.execute(LIVE_VISITS, (list(visits),))
            return {row[0] for row in await cursor.fetchall()}

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
    visit, participant, participant_name, site_name, conversation = row
    return LiveVisit(
        visit=visit,
        participant=participant,
        participant_name=participant_name,
        site_name=site_name,
        conversation=conversation,
    )
