"""The answer to *Is this you?*: one transaction that opens the visit, or says on the desk that it was not they."""

from enum import StrEnum

from django.db import transaction
from django.http import HttpRequest

from companion.access import find_visit
from companion.machines.events import MachineEvent, MachineEventKind, NoteEvent
from companion.machines.models import OfferAnswer
from companion.machines.offers import LockedOffer, lock_offer, store_answer
from companion.machines.registry import KnownMachine, hold_machine
from companion.visits.errors import SiteClosed
from companion.visits.openings import open_visit_on_machine


class OfferOutcome(StrEnum):
    """What became of an answer."""

    OPENED = "opened"
    SAID_NO = "said_no"
    OVER = "over"
    """It was answered before, taken back, or asked too long ago; or the person may not come in any more."""


_EVENTS = {
    OfferAnswer.YES: MachineEventKind.SAID_YES,
    OfferAnswer.NO: MachineEventKind.SAID_NO,
    OfferAnswer.GONE: MachineEventKind.GONE,
}


def answer_offer(request: HttpRequest, offer: int, *, is_yes: bool, note: NoteEvent) -> OfferOutcome:
    """Store the answer of the person at this machine; *yes* opens their visit in this browser."""
    with transaction.atomic():
        machine = hold_machine(request)
        locked = lock_offer(offer, machine.id) if machine else None
        if machine is None or locked is None:
            return OfferOutcome.OVER
        if locked.state != "open":
            return _repeat(request, locked, is_yes=is_yes)
        answer = _decide(request, machine, locked, is_yes=is_yes)
        store_answer(locked.offer, machine.id, answer)
        note(
            MachineEvent(
                kind=_EVENTS[answer],
                machine=machine.id,
                name=machine.name,
                site=machine.site,
                offer=locked.offer,
                participant=locked.participant,
            )
        )
    outcomes = {OfferAnswer.YES: OfferOutcome.OPENED, OfferAnswer.NO: OfferOutcome.SAID_NO}
    return outcomes.get(answer, OfferOutcome.OVER)


def _decide(request: HttpRequest, machine: KnownMachine, offer: LockedOffer, *, is_yes: bool) -> OfferAnswer:
    if not is_yes:
        return OfferAnswer.NO
    try:
        visit = open_visit_on_machine(request, offer.participant, machine, opened_by=offer.by_name)
    except SiteClosed:
        visit = None
    return OfferAnswer.GONE if visit is None else OfferAnswer.YES


def _repeat(request: HttpRequest, offer: LockedOffer, *, is_yes: bool) -> OfferOutcome:
    """The same answer again, after its own answer was lost or from a double press, ends as it did."""
    if offer.state == OfferAnswer.NO and not is_yes:
        return OfferOutcome.SAID_NO
    visit = find_visit(request)
    is_here = visit is not None and visit.participant == offer.participant
    return OfferOutcome.OPENED if is_yes and is_here else OfferOutcome.OVER
