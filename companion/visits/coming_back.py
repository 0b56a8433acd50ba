"""Coming back to a locked visit: with the pictures of its participant's card, or with its code."""

import logging
from collections.abc import Sequence

from django.db import connection, transaction
from django.http import HttpRequest

from companion import cards
from companion.access import LiveVisit, find_locked_visit
from companion.models import Participant, Visit
from companion.visits import idle
from companion.visits.errors import WrongPictures

log = logging.getLogger(__name__)


def come_back(request: HttpRequest, person: Participant) -> Visit | None:
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
                return come_back(request, person) is not None
    log.warning("visit.wrong_pictures visit=%s misses=%d", locked.visit, misses)
    raise WrongPictures
