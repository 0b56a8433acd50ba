"""Opening a visit for a person on a machine: the machine asks, and the desk says what the person answered."""

from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext

from companion.ids import LARGEST_ID, parse_id
from companion.machines.models import VisitOffer
from companion.machines.offers import OfferMade, OfferRefusal, OfferRefused, offer_visit, take_back
from companion.models import Conversation
from companion.supervision.staff import Staff
from ops import audit
from ops.access import StaffAccess, form_on, get_access, staff_only
from ops.catalogue_marks import gettext_noop
from ops.staff.machines_page import render_machine

REFUSALS = {
    OfferRefusal.NO_MACHINE: gettext_noop("There is no such machine at your sites. Look at the list again."),
    OfferRefusal.NOT_PAIRED: gettext_noop("{name} has to be paired first: its screen shows a code."),
    OfferRefusal.NO_PERSON: gettext_noop(
        "This person cannot come in on {name}: the card is withdrawn, or of another site."
    ),
    OfferRefusal.SITE_CLOSED: gettext_noop("The site of {name} is closed."),
    OfferRefusal.BUSY: gettext_noop(
        "{person} is on {name}. End that visit first, or choose another machine."
    ),
    OfferRefusal.HERE_ALREADY: gettext_noop("{person} is on {name} already."),
}


@form_on("staff_machines")
@staff_only
def open_on_machine(request: HttpRequest, machine: UUID) -> HttpResponseBase:
    """From the page of a machine: open a visit for one of the people of its site."""
    made = _offer(request, get_access(request.user), machine, parse_id(request.POST.get("participant")) or 0)
    if isinstance(made, OfferRefused):
        return render_machine(request, machine, refused=explain_refusal(made))
    return redirect("staff_machine", machine)


@form_on("staff_people")
@staff_only
def open_for_person(request: HttpRequest, conversation: int) -> HttpResponseBase:
    """From the page of a person: open their visit on one of the machines of their site."""
    access = get_access(request.user)
    there = Conversation.objects.filter(pk=min(conversation, LARGEST_ID))
    person = there.filter(participant__site__in=access.supervised).first()
    if person is None:
        if other := there.first():
            _record_refusal(request, f"conversation {conversation}, a visit", about=other.participant_id)
        raise Http404
    try:
        machine = UUID(request.POST.get("machine", ""))
    except ValueError:
        messages.warning(request, gettext("Choose a machine."))
        return redirect("staff_conversation", conversation)
    made = _offer(request, access, machine, person.participant_id)
    if isinstance(made, OfferRefused):
        messages.warning(request, explain_refusal(made))
    return redirect("staff_conversation", conversation)


@form_on("staff_machines")
@staff_only
def take_offer_back(request: HttpRequest, offer: int) -> HttpResponseBase:
    """The machine asks no longer."""
    access = get_access(request.user)
    with transaction.atomic():
        participant = take_back(min(offer, LARGEST_ID), sites=access.supervised)
        if participant is not None:
            audit.record(
                audit.TOOK_BACK_OFFER,
                who=request.user.get_username(),
                about=participant,
                note=f"offer {offer}",
            )
    if participant is None:
        others = VisitOffer.objects.filter(pk=min(offer, LARGEST_ID)).exclude(
            machine__site__in=access.supervised
        )
        if others.exists():
            _record_refusal(request, f"offer {offer}")
        messages.warning(request, gettext("It was answered before, or is over."))
    machine, conversation = request.POST.get("machine", ""), parse_id(request.POST.get("conversation"))
    if conversation is not None:
        return redirect("staff_conversation", conversation)
    try:
        return redirect("staff_machine", UUID(machine))
    except ValueError:
        return redirect("staff_machines")


def _record_refusal(request: HttpRequest, note: str, *, about: int | None = None) -> None:
    audit.record_refusal(request.user.get_username(), note=note, about=about)


def explain_refusal(refused: OfferRefused) -> str:
    """Why nothing was offered, and what to do."""
    sentence = gettext(REFUSALS[refused.code])
    return sentence.replace("{name}", refused.name).replace("{person}", refused.person)


def _offer(
    request: HttpRequest, access: StaffAccess, machine: UUID, participant: int
) -> OfferMade | OfferRefused:
    staff = Staff(user=access.user or 0, name=access.name)
    with transaction.atomic():
        made = offer_visit(machine, participant, staff, sites=access.supervised)
        if isinstance(made, OfferMade) and made.is_new:
            audit.record(
                audit.OFFERED_VISIT,
                who=request.user.get_username(),
                about=participant,
                note=f"offer {made.offer}, machine {machine}",
            )
    return made
