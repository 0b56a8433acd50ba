"""The participant's pages: the way in, the chat, the way out. Nothing of them is kept by any browser.

Sync views on purpose: they use Django's own connections, so that no page can hold a socket up.
"""

import logging
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe

from companion import drafts
from companion.access import (
    SiteClosed,
    WrongPictures,
    end_visit,
    find_visit,
    open_visit_by_code,
    open_visit_by_link,
    session_visit_id,
    sign_leaving_ticket,
)
from companion.cards import PICTURES
from companion.forms import CodeForm
from companion.history import read_earlier, read_since
from companion.page_context import PageContext
from companion.same_origin import require_same_origin

log = logging.getLogger(__name__)

LARGEST_ID = 2**63 - 1
MAX_PROOF_CHARS = 64

unkept = cache_control(private=True, no_store=True)


@require_GET
@unkept
def home(request: HttpRequest, context: Callable[[], PageContext]) -> HttpResponse:
    """Lead a signed-in participant to the chat, and others to the way in."""
    return redirect("chat" if find_visit(request) else "card")


@require_safe
@unkept
def card_in_address(request: HttpRequest, token: str, context: Callable[[], PageContext]) -> HttpResponse:
    """Where links of the first releases lead. The whole card stands in such an address, so it opens nothing."""
    return _card_unknown(request, context())


@require_http_methods(["GET", "HEAD", "POST"])
@unkept
@require_same_origin
def card(request: HttpRequest, context: Callable[[], PageContext]) -> HttpResponse:
    """The way in: a card's link and its pictures, or its code. Only what is pressed or typed opens a visit.

    The link's letters are in the fragment of the address, which no browser sends: opening it tries nothing.
    """
    if request.method != "POST":
        return _card_page(request, context())
    link = request.POST.get("link", "")
    try:
        is_open = _by_link(request, link) if link else _by_code(request)
    except SiteClosed:
        return _closed(request, context())
    except WrongPictures:
        refused = _card_page(request, context(), link=link, refused=context().persona.lines.pictures_wrong)
    else:
        if is_open:
            return redirect("chat")
        line = context().persona.lines.card_unknown
        refused = _card_unknown(request, context()) if link else _card_page(request, context(), refused=line)
    return refused if context().throttle.count_failure(_address(request)) else _too_many(request, context())


def _by_link(request: HttpRequest, link: str) -> bool:
    chosen = [request.POST.get(name, "") for name in ("first", "second")]
    return open_visit_by_link(request, link, chosen) is not None


def _by_code(request: HttpRequest) -> bool:
    form = CodeForm(request.POST)
    return form.is_valid() and open_visit_by_code(request, form.cleaned_data["code"]) is not None


@require_GET
@unkept
def chat(request: HttpRequest, context: Callable[[], PageContext]) -> HttpResponse:
    """The room itself. What was said comes over the socket, so this page holds none of it."""
    visit = find_visit(request)
    if visit is None:
        return redirect("card")
    persona = context().persona
    facts = {
        "character": persona.name,
        "lines": persona.lines,
        "as_written": True,
        "ticket": sign_leaving_ticket(visit.visit),
        "has_draft": bool(drafts.find_earlier(visit.conversation, visit.visit)),
    }
    return render(request, "companion/chat.html", facts)


@require_POST
@unkept
@require_same_origin
def finish(request: HttpRequest, context: Callable[[], PageContext]) -> HttpResponse:
    """*I am finished*: the visit ends here and on every other screen.

    A page sends a `proof` of its own making and believes only an answer that repeats it: a proxy can answer as well.
    """
    if (ended := end_visit(request, request.POST.get("ticket", ""))) is not None:
        # They have finished: what they did not send, they did not want to say.
        drafts.discard(ended)
    proof = request.POST.get("proof", "")
    if proof and len(proof) <= MAX_PROOF_CHARS:
        return JsonResponse({"ended": proof})
    return redirect("finished")


@require_GET
@unkept
def finished(request: HttpRequest, context: Callable[[], PageContext]) -> HttpResponse:
    """The goodbye. It says nobody is signed in, so it says it only when that is true."""
    lines = context().persona.lines
    visit = find_visit(request)
    if visit is None:
        return render(request, "companion/finished.html", {"lines": lines})
    facts = {"lines": lines, "ticket": sign_leaving_ticket(visit.visit)}
    return render(request, "companion/not_finished.html", facts)


@require_GET
@unkept
def turns(request: HttpRequest, context: Callable[[], PageContext]) -> HttpResponse:
    """A page of turns before or after one of them, as snapshots, oldest first."""
    visit = find_visit(request)
    if visit is None:
        return JsonResponse({"problem": "signed_out"}, status=401)
    before, after = _id(request.GET.get("before")), _id(request.GET.get("after"))
    if (before is None) == (after is None):
        return JsonResponse({"problem": "name before or after, once, as a turn's id"}, status=400)
    policy = context().policy
    answer: dict[str, object] = {"conversation": visit.conversation}
    if before is not None:
        page = read_earlier(policy, visit.conversation, before)
        answer |= {"turns": [view.to_snapshot() for view in page.views], "earlier": page.has_earlier}
    else:
        answer["turns"] = read_since(policy, visit.conversation, after or 0)
    return JsonResponse(answer)


@require_http_methods(["GET", "POST"])
@unkept
@require_same_origin
def draft(request: HttpRequest, context: Callable[[], PageContext]) -> HttpResponse:
    """Words that are typed and not sent: kept for their writer's next visit, and given to nobody else."""
    if request.method == "POST":
        return _keep(request)
    visit = find_visit(request)
    if visit is None:
        return JsonResponse({"problem": "signed_out"}, status=401)
    text = drafts.find_earlier(visit.conversation, visit.visit)
    return JsonResponse({"conversation": visit.conversation, "text": text})


def _keep(request: HttpRequest) -> HttpResponse:
    visit, conversation = session_visit_id(request), _id(request.POST.get("conversation"))
    text = request.POST.get("text", "")
    if conversation is None or len(text) > drafts.MAX_DRAFT_CHARS:
        return JsonResponse({"problem": "name a conversation and a text of its length"}, status=400)
    # The page names whose words these are: another person may have signed in on this machine since.
    kept = visit is not None and drafts.save(visit, conversation=conversation, text=text)
    return JsonResponse({"kept": kept})


def _card_page(
    request: HttpRequest, context: PageContext, *, link: str = "", refused: str = ""
) -> HttpResponse:
    facts = {
        "lines": context.persona.lines,
        "pictures": PICTURES,
        "link": link,
        "typed": "" if link else request.POST.get("code", ""),
        "refused": refused,
    }
    return render(request, "companion/card.html", facts, status=403 if refused else 200)


def _card_unknown(request: HttpRequest, context: PageContext) -> HttpResponse:
    return render(
        request, "companion/card_unknown.html", {"line": context.persona.lines.card_unknown}, status=403
    )


def _too_many(request: HttpRequest, context: PageContext) -> HttpResponse:
    log.warning("sign_in.too_many_tries")
    line = context.persona.lines.too_many_tries
    return render(request, "companion/card_unknown.html", {"line": line}, status=429)


def _address(request: HttpRequest) -> str:
    return str(request.META.get("REMOTE_ADDR", ""))


def _closed(request: HttpRequest, context: PageContext) -> HttpResponse:
    return render(request, "companion/closed.html", {"line": context.persona.lines.closed}, status=403)


def _id(text: str | None) -> int | None:
    if text is None or not (text.isascii() and text.isdigit()) or len(text) > len(str(LARGEST_ID)):
        return None
    return min(int(text), LARGEST_ID)
