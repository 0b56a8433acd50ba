"""The pages by which a visit is left, locked and come back to. None of them shows a word of it."""

import logging
from collections.abc import Callable
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from companion.access import LiveVisit, find_end_reason, find_locked_visit
from companion.cards import PICTURES
from companion.forms import CodeForm
from companion.machines.wrong_cards import count_wrong_card
from companion.page_context import PageContext
from companion.same_origin import require_same_origin
from companion.visits.coming_back import come_back_by_pictures, takes_pictures
from companion.visits.ends import EndReason
from companion.visits.errors import NotHere, SiteClosed, WrongPictures
from companion.visits.leaving import end_visit, find_exit_address, lock_visit, sign_leaving_ticket
from companion.visits.openings import open_visit_by_code

log = logging.getLogger(__name__)

MAX_PROOF_CHARS = 64


def exit_facts(visit: LiveVisit) -> dict[str, object]:
    """Return what a template needs for the buttons that leave this visit."""
    return {
        "exits": True,
        "ticket": sign_leaving_ticket(visit.visit),
        "exit_address": visit.exit_address,
    }


def confirm(request: HttpRequest, key: str, visit: UUID | None) -> HttpResponse | None:
    """Answer a script with the proof that it sent. A page believes no other answer: a proxy's may look like ours.

    Without a `visit` nothing is confirmed: neither the cookie nor the ticket named one, so none was ended or locked.
    """
    proof = request.POST.get("proof", "")
    if not proof or len(proof) > MAX_PROOF_CHARS:
        return None
    if visit is None:
        log.warning("visit.not_named key=%s", key)
        return JsonResponse({"problem": "not_known"}, status=409)
    return JsonResponse({key: proof})


def answer_signed_out(request: HttpRequest) -> JsonResponse:
    """Answer the script of a page whose visit shows nothing any more, with the reason, as the frame `over` does."""
    return JsonResponse({"problem": "signed_out", "reason": find_end_reason(request)}, status=401)


@require_POST
@require_same_origin
def quick_exit(request: HttpRequest, context: Callable[[], PageContext]) -> HttpResponse:
    """*Leave now*: end the visit. Without a script, answer with a plain page that leads on to the site's choice."""
    ticket = request.POST.get("ticket", "")
    address = find_exit_address(request, ticket)
    ended = end_visit(request, ticket, reason=EndReason.QUICK_EXIT)
    # No redirect: our policy for forms allows none to another origin.
    return confirm(request, "ended", ended) or _render_empty_page(request, context(), address)


@require_GET
def empty_page(request: HttpRequest, context: Callable[[], PageContext]) -> HttpResponse:
    """Where the quick exit of a site leads that has chosen no other page."""
    return _render_empty_page(request, context(), "")


@require_POST
@require_same_origin
def lock(request: HttpRequest, context: Callable[[], PageContext]) -> HttpResponse:
    """Lock the visit: its page has had no sign of life."""
    visit = lock_visit(request, request.POST.get("ticket", ""))
    return confirm(request, "locked", visit) or redirect("locked")


@require_http_methods(["GET", "HEAD", "POST"])
@require_same_origin
def locked(request: HttpRequest, context: Callable[[], PageContext]) -> HttpResponse:
    """The locked page: come back with the pictures or the code of the card, ask for a person, or leave it.

    The code of another card opens a visit of its holder, as the card page does.
    """
    visit = find_locked_visit(request)
    if visit is None:
        return redirect("home")
    if request.method != "POST":
        return _render_locked(request, context(), visit)
    lines = context().persona.lines
    try:
        is_open, refused = _come_back(request), lines.card_unknown
    except WrongPictures:
        is_open, refused = False, lines.pictures_wrong
    except NotHere:
        # Of another participant, whom the card page tells why.
        return redirect("card")
    except SiteClosed:
        return render(request, "companion/closed.html", {"line": lines.closed, "lines": lines}, status=403)
    if is_open:
        return redirect("chat")
    if count_wrong_card(request, context().throttle):
        return _render_locked(request, context(), visit, refused=refused)
    log.warning("unlock.too_many_tries")
    return _render_locked(request, context(), visit, refused=lines.too_many_tries, status=429)


@require_POST
@require_same_origin
def someone_else(request: HttpRequest, context: Callable[[], PageContext]) -> HttpResponse:
    """*I am someone else*: end the locked visit. What its participant has typed is kept for them."""
    if find_locked_visit(request) is not None:
        end_visit(request, reason=EndReason.IDLE)
    return redirect("card")


def _come_back(request: HttpRequest) -> bool:
    if "code" not in request.POST:
        chosen = [request.POST.get(name, "") for name in ("first", "second")]
        return come_back_by_pictures(request, chosen)
    form = CodeForm(request.POST)
    return form.is_valid() and open_visit_by_code(request, form.cleaned_data["code"]) is not None


def _render_locked(
    request: HttpRequest, context: PageContext, visit: LiveVisit, *, refused: str = "", status: int = 403
) -> HttpResponse:
    facts = {
        "lines": context.persona.lines,
        "asks": True,
        "pictures": PICTURES if takes_pictures(visit) else (),
        "typed": request.POST.get("code", ""),
        "is_code": "code" in request.POST,
        "refused": refused,
        **exit_facts(visit),
    }
    return render(request, "companion/locked.html", facts, status=status if refused else 200)


def _render_empty_page(request: HttpRequest, context: PageContext, address: str) -> HttpResponse:
    facts = {"line": context.persona.lines.empty_page, "address": address}
    return render(request, "companion/empty_page.html", facts)
