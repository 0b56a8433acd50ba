"""Opens visits: with a card's code, with its link and pictures, or where staff have offered one."""

import logging
from collections.abc import Sequence
from datetime import timedelta

from django.conf import settings
from django.db import connection, transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from companion import cards
from companion.access import VISIT_KEY, find_locked_visit, session_visit_id
from companion.client_address import read_client_address
from companion.machines.models import VisitWay
from companion.machines.registry import KnownMachine, hold_machine, recognise
from companion.machines.tokens import hash_network
from companion.models import Participant, Site, Visit
from companion.participants import get_card
from companion.sessions import SessionStore
from companion.visits import ends
from companion.visits.coming_back import come_back
from companion.visits.ends import EndReason
from companion.visits.errors import NotHere, SiteClosed, WrongPictures
from companion.visits.idle import note_active
from companion.visits.leaving import VISITS_OF, end_visit
from companion.visits.link_tries import LinkPlace, LinkTries

log = logging.getLogger(__name__)


def open_visit_by_code(request: HttpRequest, typed: str) -> Visit | None:
    """Sign in with a card's code and end the session's earlier visit. None: no such card.

    The holder of the card whose visit is locked in this session comes back to it. Raises SiteClosed and NotHere.
    """
    with transaction.atomic():
        person = _find_holder_by_code(typed)
        if person is None:
            return None
        visit = come_back(request, person) or _open_visit(request, person, way=VisitWay.CODE)
        place, tries = _find_place(request), _read_tries(person)
        is_forgotten, is_noted = tries.forget_misses(place), tries.add_opening(place)
        if is_forgotten or is_noted:
            _store_tries(person, tries)
    return visit


def open_visit_by_link(request: HttpRequest, link: str, chosen: Sequence[str]) -> Visit | None:
    """Sign in with a card's link and the chosen pictures. None: the link is invalid, or rests here.

    Raises SiteClosed and NotHere, and WrongPictures, which counts as a miss at this machine or network (`LinkTries`).
    """
    with transaction.atomic():
        person = _find_holder(link)
        if person is None:
            return None
        pictures = cards.find_pictures(link, person.card_handle, person.card_issue)
        if pictures is None:
            return None
        place, tries = _find_place(request), _read_tries(person)
        if not tries.may_try(place):
            log.warning("card.link_rests participant=%d machine=%d", person.pk, place.is_machine)
            return None
        if cards.pictures_match(chosen, pictures):
            visit = _open_visit(request, person, way=VisitWay.LINK)
            if tries.add_opening(place):
                _store_tries(person, tries)
            return visit
        tries.add_miss(place)
        _store_tries(person, tries)
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
        return come_back(request, person) or _open_visit(
            request, person, way=VisitWay.STAFF, opened_by=opened_by
        )


def create_session(person: Participant) -> str:
    """Sign a participant in with their own card, as the page does, and return the value of the session cookie."""
    request = HttpRequest()
    request.session = SessionStore()
    # By the card and not around it: what checks a sign-in checks this too.
    if open_visit_by_code(request, get_card(person).code) is None:
        raise RuntimeError("The participant's own card does not open a visit.")
    request.session.save()
    return request.session.session_key or ""


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
    machine = hold_machine(request)
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


def _find_place(request: HttpRequest) -> LinkPlace:
    machine = recognise(request)
    key = hash_network(read_client_address(request)) if machine is None else machine.id.hex
    return LinkPlace(key=key, is_machine=machine is not None)


def _read_tries(person: Participant) -> LinkTries:
    return LinkTries(person.link_places, now_s=int(timezone.now().timestamp()))


def _store_tries(person: Participant, tries: LinkTries) -> None:
    Participant.objects.filter(pk=person.pk).update(link_places=tries.to_stored())
