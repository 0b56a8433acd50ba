"""The page of a shared machine: it is paired, it waits, and it asks whether the person in front of it is the one.

Each load of the page gives the browser a new value of its cookie. No page here shows a word of anyone.
"""

import logging
from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from companion.access import find_visit
from companion.asked_by_script import is_asked_by_script
from companion.client_address import read_client_address
from companion.ids import parse_id
from companion.machines.answers import OfferOutcome, answer_offer
from companion.machines.asking import write_question
from companion.machines.events import MachineEvent, MachineEventKind, NoteEvent
from companion.machines.offers import find_open_offer
from companion.machines.pairing import claim_by_code, claim_pairing, show_code, shows_code
from companion.machines.registry import (
    UNKNOWN,
    Contact,
    MachineState,
    find_machine,
    make_contact,
    recognise,
)
from companion.machines.tokens import (
    PAIRING_S,
    format_code,
    parse_token,
    read_claim,
    read_machine_token,
    set_claim_cookie,
    set_machine_cookie,
)
from companion.page_context import PageContext
from companion.same_origin import require_same_origin

log = logging.getLogger(__name__)


@require_GET
def machine(request: HttpRequest, context: Callable[[], PageContext]) -> HttpResponse:
    """The waiting page of a machine, or a page on which it is paired; during a visit, the chat."""
    if find_visit(request) is not None:
        return redirect("chat")
    contact = make_contact_on_record(request, context().note_machine)
    response = _render(request, context(), contact)
    if contact.cookie:
        set_machine_cookie(response, contact.cookie)
    return response


@require_POST
@require_same_origin
def code(request: HttpRequest, context: Callable[[], PageContext]) -> HttpResponse:
    """Make the code that staff enter: {code, good_s}. {paired}: the browser is a machine already. 429: too many."""
    # A page that was reached from another origin was loaded without the cookie; its scripts send it.
    if recognise(request) is not None:
        return JsonResponse({"paired": True})
    if not context().throttle.count_shown_code(read_client_address(request)):
        return JsonResponse({"problem": "too_many"}, status=429)
    shown = show_code(read_claim(request), address=read_client_address(request))
    response = JsonResponse({"code": format_code(shown.code), "good_s": PAIRING_S})
    set_claim_cookie(response, shown.claim)
    return response


@require_POST
@require_same_origin
def claim(request: HttpRequest, context: Callable[[], PageContext]) -> HttpResponse:
    """Become a machine: staff have entered the code of this screen, or a `code` from a command is typed here.

    A script is answered {paired, shown}: `shown` is false once its code is good no more. A form is led back.
    """
    typed, lines = request.POST.get("code", ""), context().persona.lines
    # Counted before it is looked up: a code is short, and no person is shut out by the limit.
    if typed and not context().throttle.count_typed_code(read_client_address(request)):
        return _render(request, context(), UNKNOWN, refused=lines.too_many_tries)
    with transaction.atomic():
        value = claim_by_code(typed) if typed else claim_pairing(read_claim(request))
        if value is not None:
            _note_paired(value, context().note_machine)
    if value is None and typed:
        return _render(request, context(), UNKNOWN, refused=lines.card_unknown)
    response: HttpResponse = redirect("machine") if typed else _answer_claim(request, value)
    if value is not None:
        set_machine_cookie(response, value)
    return response


@require_POST
@require_same_origin
def answer(request: HttpRequest, context: Callable[[], PageContext]) -> HttpResponse:
    """*Is this you?* was answered. A script is told {outcome, line}; a form is led on."""
    offer, is_yes = parse_id(request.POST.get("offer")), request.POST.get("answer", "") == "yes"
    outcome = OfferOutcome.OVER
    if offer is not None:
        outcome = answer_offer(request, offer, is_yes=is_yes, note=context().note_machine)
    if is_asked_by_script(request):
        return JsonResponse({"outcome": outcome, "line": _outcome_line(context(), outcome)})
    return redirect("chat" if outcome is OfferOutcome.OPENED else "machine")


def _answer_claim(request: HttpRequest, value: str | None) -> HttpResponse:
    return JsonResponse({"paired": value is not None, "shown": shows_code(read_claim(request))})


def make_contact_on_record(request: HttpRequest, note: NoteEvent) -> Contact:
    """Change the cookie's value, and note a copy that is noticed by it."""
    with transaction.atomic():
        contact = make_contact(read_machine_token(request))
        if contact.is_news and contact.machine is not None:
            machine = contact.machine
            note(
                MachineEvent(
                    kind=MachineEventKind.COPIED, machine=machine.id, name=machine.name, site=machine.site
                )
            )
    return contact


def _note_paired(value: str, note: NoteEvent) -> None:
    token = parse_token(value)
    known = find_machine(token.machine) if token else None
    if known is not None:
        note(MachineEvent(kind=MachineEventKind.PAIRED, machine=known.id, name=known.name, site=known.site))


def _render(
    request: HttpRequest, context: PageContext, contact: Contact, *, refused: str = ""
) -> HttpResponse:
    lines = context.persona.lines
    facts: dict[str, Any] = {"lines": lines, "state": contact.state, "refused": refused}
    if contact.state is MachineState.COPIED:
        facts["line"] = lines.machine_needs_staff
    if contact.state is MachineState.READY and contact.machine is not None:
        facts["machine"] = contact.machine
        if offered := find_open_offer(contact.machine.id):
            question = write_question(offered, context.languages)
            # The look of the person who is asked, and no page of theirs is open here yet.
            facts |= {"offer": offered.offer, "question": question, "look": offered.look}
    return render(request, "companion/machine.html", facts, status=403 if refused else 200)


def _outcome_line(context: PageContext, outcome: OfferOutcome) -> str:
    lines = context.persona.lines
    match outcome:
        case OfferOutcome.SAID_NO:
            return lines.not_you
        case OfferOutcome.OPENED:
            return ""
    return lines.offer_over
