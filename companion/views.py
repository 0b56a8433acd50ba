"""The participant's pages: the way in, the chat, the way out. Nothing of them is kept by any browser.

Sync views on purpose: they use Django's own connections, so that no page can hold a socket up.
"""

import logging
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from companion import drafts
from companion.access import (
    SiteClosed,
    end_visit,
    leaving_ticket,
    open_visit_by_card,
    open_visit_by_code,
    session_visit,
    visit_of,
)
from companion.forms import CodeForm
from companion.front import Front
from companion.history import earlier, since
from companion.same_origin import from_our_pages

log = logging.getLogger(__name__)

LARGEST_ID = 2**63 - 1
LONGEST_PROOF = 64

unkept = cache_control(private=True, no_store=True)


@require_GET
@unkept
def home(request: HttpRequest, front: Callable[[], Front]) -> HttpResponse:
    """Whoever is signed in goes on to the chat; everybody else types a code."""
    return redirect("chat" if visit_of(request) else "card_code")


@unkept
def card(request: HttpRequest, token: str, front: Callable[[], Front]) -> HttpResponse:
    """A card's link: signs its holder in. Only a person's own visit does, never a browser's guess at one."""
    if request.method != "GET" or _is_guess(request):
        return HttpResponse(status=204)
    try:
        visit = open_visit_by_card(request, token)
    except SiteClosed:
        return _closed(request, front())
    if visit is None:
        # Not counted: a picture on a foreign page can ask for this address as often as it likes.
        return _card_unknown(request, front())
    return redirect("chat")


@require_http_methods(["GET", "POST"])
@unkept
@from_our_pages
def card_code(request: HttpRequest, front: Callable[[], Front]) -> HttpResponse:
    """The third way in: the letters of the card, typed."""
    if request.method == "GET":
        return render(request, "companion/card.html", {"form": CodeForm()})
    form = CodeForm(request.POST)
    try:
        visit = open_visit_by_code(request, form.cleaned_data["code"]) if form.is_valid() else None
    except SiteClosed:
        return _closed(request, front())
    if visit is None:
        if not front().tries.did_not_fit(_address(request)):
            return _too_many(request, front())
        facts = {"form": form, "refused": front().persona.lines.card_unknown}
        return render(request, "companion/card.html", facts, status=403)
    return redirect("chat")


@require_GET
@unkept
def chat(request: HttpRequest, front: Callable[[], Front]) -> HttpResponse:
    """The room itself. What was said comes over the socket, so this page holds none of it."""
    visit = visit_of(request)
    if visit is None:
        return redirect("card_code")
    persona = front().persona
    facts = {
        "character": persona.name,
        "lines": persona.lines,
        "as_written": True,
        "ticket": leaving_ticket(visit.visit),
        "has_draft": bool(drafts.left_before(visit.conversation, visit.visit)),
    }
    return render(request, "companion/chat.html", facts)


@require_POST
@unkept
@from_our_pages
def finish(request: HttpRequest, front: Callable[[], Front]) -> HttpResponse:
    """*I am finished*: the visit ends here and on every other screen.

    A page sends a `proof` of its own making and believes only an answer that repeats it: a proxy can answer as well.
    """
    if (ended := end_visit(request, request.POST.get("ticket", ""))) is not None:
        # They have finished: what they did not send, they did not want to say.
        drafts.discard(ended)
    proof = request.POST.get("proof", "")
    if proof and len(proof) <= LONGEST_PROOF:
        return JsonResponse({"ended": proof})
    return redirect("finished")


@require_GET
@unkept
def finished(request: HttpRequest, front: Callable[[], Front]) -> HttpResponse:
    """The goodbye. It says nobody is signed in, so it says it only when that is true."""
    lines = front().persona.lines
    visit = visit_of(request)
    if visit is None:
        return render(request, "companion/finished.html", {"lines": lines})
    facts = {"lines": lines, "ticket": leaving_ticket(visit.visit)}
    return render(request, "companion/not_finished.html", facts)


@require_GET
@unkept
def turns(request: HttpRequest, front: Callable[[], Front]) -> HttpResponse:
    """A page of turns before or after one of them, as snapshots, oldest first."""
    visit = visit_of(request)
    if visit is None:
        return JsonResponse({"problem": "signed_out"}, status=401)
    before, after = _id(request.GET.get("before")), _id(request.GET.get("after"))
    if (before is None) == (after is None):
        return JsonResponse({"problem": "name before or after, once, as a turn's id"}, status=400)
    house = front().house
    answer: dict[str, object] = {"conversation": visit.conversation}
    if before is not None:
        page = earlier(house, visit.conversation, before)
        answer |= {"turns": [view.snapshot() for view in page.views], "earlier": page.has_earlier}
    else:
        answer["turns"] = since(house, visit.conversation, after or 0)
    return JsonResponse(answer)


@require_http_methods(["GET", "POST"])
@unkept
@from_our_pages
def draft(request: HttpRequest, front: Callable[[], Front]) -> HttpResponse:
    """Words that are typed and not sent: kept for their writer's next visit, and given to nobody else."""
    if request.method == "POST":
        return _keep(request)
    visit = visit_of(request)
    if visit is None:
        return JsonResponse({"problem": "signed_out"}, status=401)
    text = drafts.left_before(visit.conversation, visit.visit)
    return JsonResponse({"conversation": visit.conversation, "text": text})


def _keep(request: HttpRequest) -> HttpResponse:
    visit, conversation = session_visit(request), _id(request.POST.get("conversation"))
    text = request.POST.get("text", "")
    if conversation is None or len(text) > drafts.LONGEST_DRAFT:
        return JsonResponse({"problem": "name a conversation and a text of its length"}, status=400)
    # The page names whose words these are: another person may have signed in on this machine since.
    kept = visit is not None and drafts.keep(visit, conversation=conversation, text=text)
    return JsonResponse({"kept": kept})


def _is_guess(request: HttpRequest) -> bool:
    purposes = (request.headers.get(name, "") for name in ("Sec-Purpose", "Purpose", "X-Moz"))
    return any("prefetch" in purpose or "preview" in purpose for purpose in purposes)


def _card_unknown(request: HttpRequest, front: Front) -> HttpResponse:
    return render(
        request, "companion/card_unknown.html", {"line": front.persona.lines.card_unknown}, status=403
    )


def _too_many(request: HttpRequest, front: Front) -> HttpResponse:
    log.warning("sign_in.too_many_tries")
    line = front.persona.lines.too_many_tries
    return render(request, "companion/card_unknown.html", {"line": line}, status=429)


def _address(request: HttpRequest) -> str:
    return str(request.META.get("REMOTE_ADDR", ""))


def _closed(request: HttpRequest, front: Front) -> HttpResponse:
    return render(request, "companion/closed.html", {"line": front.persona.lines.closed}, status=403)


def _id(text: str | None) -> int | None:
    if text is None or not (text.isascii() and text.isdigit()) or len(text) > len(str(LARGEST_ID)):
        return None
    return min(int(text), LARGEST_ID)
