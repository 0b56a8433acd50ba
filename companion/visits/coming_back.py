"""Coming back to a locked visit: with the pictures of its participant's card, or with its code."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection, transaction
from django.http import HttpRequest

from companion import cards
from companion.access import LiveVisit, find_locked_visit
from companion.models import Participant, Visit
from companion.visits import idle
from companion.visits.errors import WrongPictures

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class UnlockMisses:
    """Wrong choices of pictures on the locked pages of one machine; browsers that are no machine count as one."""

    of_participant: int
    of_machine: int

    @property
    def may_try(self) -> bool:
        """Whether pictures may be tried once more."""
        return (
            self.of_participant < idle.MAX_UNLOCK_MISSES
            and self.of_machine < idle.MAX_UNLOCK_MISSES_ON_MACHINE
        )


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
    return _count_misses(locked).may_try


def _count_misses(locked: LiveVisit) -> UnlockMisses:
    with connection.cursor() as cursor:
        cursor.execute(idle.READ_MISSES, {"visit": locked.visit})
        of_participant, of_machine = cursor.fetchone() or (0, 0)
    return UnlockMisses(of_participant=of_participant, of_machine=of_machine)


def come_back_by_pictures(request: HttpRequest, chosen: Sequence[str]) -> bool:
    """Unlock the session's visit with the pictures of its participant's card. False: it is not locked any more.

    Raises WrongPictures, which counts as a miss. After too many of them the locked pages of this machine take the code
    alone; the card still opens visits everywhere.
    """
    locked = find_locked_visit(request)
    if locked is None:
        return False
    with transaction.atomic():
        person = Participant.objects.select_for_update(no_key=True).get(pk=locked.participant)
        # Under the lock of the participant: parallel tries cannot exceed the limit.
        misses = _count_misses(locked)
        if misses.may_try and cards.are_pictures(chosen, person.card_handle, person.card_issue):
            return come_back(request, person) is not None
        if misses.may_try:
            with connection.cursor() as cursor:
                cursor.execute(idle.COUNT_MISS, {"visit": locked.visit})
    log.warning("visit.wrong_pictures visit=%s may_try=%d", locked.visit, misses.may_try)
    raise WrongPictures
