"""The participant's pages: sign-in with a card, the chat, and sign-out. No browser may store them.

The views are synchronous and use Django's own connections, so that a slow page cannot delay a socket.
"""

import logging
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe

from companion import drafts
from companion.access import LiveVisit, find_locked_visit, find_visit, session_visit_id
from companion.asked_by_script import is_asked_by_script
from companion.cards import PICTURES
from companion.forms import CodeForm
from companion.history import read_earlier, read_since
from companion.ids import parse_id
from companion.machines.tokens import read_machine_token
from companion.machines.wrong_cards import count_wrong_card
from companion.needs.page_look import find_goodbye_look, find_look, keep_for_goodbye
from companion.page_context import HelpNotRaised, PageContext
from companion.page_language import language_parameter
from companion.same_origin import require_same_origin
from companion.visits.ends import EndReason
from companion.visits.errors import NotHere, SiteClosed, WrongPictures
from companion.visits.leaving import end_visit
from companion.visits.openings import open_visit_by_code, open_visit_by_link
from companion.visits.pages import answer_signed_out, confirm, exit_facts

log = logging.getLogger(__name__)


@require_GET
def home(request: HttpRequest, context: Callable[[], PageContext]) -> HttpResponse:
    """Redirect a signed-in participant to the chat or the locked page; others to this machine's page, or the card's."""
    _, way = _find_way(request)
    if way != "start":
        return redirect(way)
    return redirect("machine" if read_machine_token(request) else "card")


@require_safe
def card_in_address(request: HttpRequest, token: str, context: Callable[[], PageContext]) -> HttpResponse:
    """Refuse a link of the first releases: its address contains the whole card, so it opens nothing."""
    return _render_card_unknown(request, context())


@require_http_methods(["GET", "HEAD", "POST"])
@require_same_origin
def card(request: HttpRequest, context: Callable[[], PageContext]) -> HttpResponse:
    """Sign in with a card's link and pictures, or with its code.

    The link's letters are in the fragment of the address, which no browser sends: opening a link alone tries nothing.
    """
    if request.method != "POST":
        return _render_card(request, context())
    link = request.POST.get("link", "")
    try:
        is_open = _open_by_link(request, link) if link else _open_by_code(request)
    # Not counted as a failure: the card was right.
    except SiteClosed:
        return _render_closed(request, context())
    except NotHere as refusal:
        return _render_not_here(request, context(), needs_machine=refusal.needs_machine)
    except WrongPictures:
        refused = _render_card(request, context(), link=link, refused=context().persona.lines.pictures_wrong)
    else:
        if is_open:
            return redirect("chat")
        line = context().persona.lines.card_unknown
        refused = (
            _render_card_unknown(request, context())
            if link
            else _render_card(request, context(), refused=line)
        )
    if count_wrong_card(request, context().throttle):
        return refused
    return _render_too_many(request, context())


def _open_by_link(request: HttpRequest, link: str) -> bool:
    chosen = [request.POST.get(name, "") for name in ("first", "second")]
    return open_visit_by_link(request, link, chosen) is not None


def _open_by_code(request: HttpRequest) -> bool:
    form = CodeForm(request.POST)
    return form.is_valid() and open_visit_by_code(request, form.cleaned_data["code"]) is not None


@require_GET
def chat(request: HttpRequest, context: Callable[[], PageContext]) -> HttpResponse:
    """The chat page. The conversation comes over the socket, so the page contains none of it."""
    visit = find_visit(request)
    if visit is None:
        return redirect("locked" if find_locked_visit(request) else "card")
    persona = context().persona
    facts = {
        "character": persona.name,
        "lines": persona.lines,
        "needs_lines": persona.choices,
        "still_here_ms": round(context().policy.still_here_s * 1_000),
        "as_written": True,
        **exit_facts(visit),
        "has_moved": visit.has_moved,
        "has_draft": bool(drafts.find_earlier(visit.conversation, visit.visit)),
    }
    return render(request, "companion/chat.html", facts)


@require_POST
@require_same_origin
def finish(request: HttpRequest, context: Callable[[], PageContext]) -> HttpResponse:
    """*I am finished*: end the visit on every page of it.

    The page sends a random `proof` and accepts only an answer that repeats it, because a proxy may answer instead.
    """
    look = find_look(request)
    if (ended := end_visit(request, request.POST.get("ticket", ""), reason=EndReason.FINISHED)) is not None:
        # The participant has finished, so unsent words are not offered again.
        drafts.discard(ended)
    response = confirm(request, "ended", ended) or redirect(
        f"{reverse('finished')}{language_parameter(request)}"
    )
    keep_for_goodbye(response, look)
    return response


@require_GET
def finished(request: HttpRequest, context: Callable[[], PageContext]) -> HttpResponse:
    """The goodbye page, which says that no one is signed in; while a visit is live, another page."""
    lines = context().persona.lines
    visit, way = _find_way(request)
    if visit is None:
        return render(
            request, "companion/finished.html", {"lines": lines, "look": find_goodbye_look(request)}
        )
    facts = {"lines": lines, "asks": True, "way_back": way, **exit_facts(visit)}
    return render(request, "companion/not_finished.html", facts)


@require_http_methods(["GET", "HEAD", "POST"])
@require_same_origin
def ask_for_person(request: HttpRequest, context: Callable[[], PageContext]) -> HttpResponse:
    """*Talk to a person*, from a page without a socket: the same as its frame `help`.

    Answers {"line"} to a script, and with a page where none runs. 503: it is not stored, so a script asks again.
    """
    if request.method != "POST":
        return redirect("home")
    # Also from the locked page, which shows no words.
    lines, (visit, way) = context().persona.lines, _find_way(request)
    is_script = is_asked_by_script(request)
    if visit is None:
        return (
            answer_signed_out(request)
            if is_script
            else _render_help(request, context(), lines.signed_out, way=way, status=403)
        )
    try:
        answer = context().raise_help(visit.conversation)
    except HelpNotRaised as failure:
        log.warning("help.not_raised conversation=%d cause=%s", visit.conversation, failure)
        return (
            JsonResponse({"problem": "not_stored"}, status=503)
            if is_script
            else _render_help(request, context(), lines.unavailable, way=way, status=503, visit=visit)
        )
    if is_script:
        return JsonResponse({"line": answer.line if answer else lines.not_allowed})
    line = answer.outside if answer else lines.not_allowed
    return _render_help(request, context(), line, way=way, visit=visit)


@require_GET
def turns(request: HttpRequest, context: Callable[[], PageContext]) -> HttpResponse:
    """Return a page of turns before or after one turn, as snapshots, oldest first."""
    visit = find_visit(request)
    if visit is None:
        return answer_signed_out(request)
    before, after = parse_id(request.GET.get("before")), parse_id(request.GET.get("after"))
    if (before is None) == (after is None):
        return JsonResponse({"problem": "name before or after, once, as a turn's id"}, status=400)
    policy = context().policy
    # The page drops the answer if it belongs to another conversation: the browser may have changed hands.
    answer: dict[str, object] = {"conversation": visit.conversation}
    if before is not None:
        page = read_earlier(policy, visit.conversation, before)
        answer |= {"turns": page.to_items(), "earlier": page.has_earlier}
    else:
        answer["turns"] = read_since(policy, visit.conversation, after or 0)
    return JsonResponse(answer)


@require_http_methods(["GET", "POST"])
@require_same_origin
def draft(request: HttpRequest, context: Callable[[], PageContext]) -> HttpResponse:
    """Save words that are typed and not sent, or return an earlier visit's; with `?own`, this one's too."""
    if request.method == "POST":
        return _save_draft(request)
    visit = find_visit(request)
    if visit is None:
        return answer_signed_out(request)
    text = drafts.find_earlier(visit.conversation, visit.visit, own="own" in request.GET)
    return JsonResponse({"conversation": visit.conversation, "text": text})


def _save_draft(request: HttpRequest) -> HttpResponse:
    visit, conversation = session_visit_id(request), parse_id(request.POST.get("conversation"))
    text = request.POST.get("text", "")
    if conversation is None or len(text) > drafts.MAX_DRAFT_CHARS:
        return JsonResponse({"problem": "name a conversation and a text of its length"}, status=400)
    # The page names the conversation: another participant may have signed in with this browser since.
    is_saved = visit is not None and drafts.save(visit, conversation=conversation, text=text)
    return JsonResponse({"kept": is_saved})


def _render_card(
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


def _render_help(
    request: HttpRequest,
    context: PageContext,
    line: str,
    *,
    way: str,
    status: int = 200,
    visit: LiveVisit | None = None,
) -> HttpResponse:
    facts: dict[str, object] = {"line": line, "lines": context.persona.lines, "way_back": way}
    if visit is not None:
        facts |= {"asks": True, **exit_facts(visit)}
    return render(request, "companion/help.html", facts, status=status)


def _find_way(request: HttpRequest) -> tuple[LiveVisit | None, str]:
    """The session's visit, live or locked, and where the first page leads: "chat", "locked", or "start" without one."""
    if visit := find_visit(request):
        return visit, "chat"
    visit = find_locked_visit(request)
    return visit, "locked" if visit else "start"


def _render_card_unknown(request: HttpRequest, context: PageContext) -> HttpResponse:
    lines = context.persona.lines
    facts = {"line": lines.card_unknown, "lines": lines}
    return render(request, "companion/card_unknown.html", facts, status=403)


def _render_too_many(request: HttpRequest, context: PageContext) -> HttpResponse:
    log.warning("sign_in.too_many_tries")
    lines = context.persona.lines
    facts = {"line": lines.too_many_tries, "lines": lines}
    return render(request, "companion/card_unknown.html", facts, status=429)


def _render_not_here(request: HttpRequest, context: PageContext, *, needs_machine: bool) -> HttpResponse:
    lines = context.persona.lines
    line = lines.card_needs_machine if needs_machine else lines.card_elsewhere
    return render(request, "companion/closed.html", {"line": line, "lines": lines}, status=403)


def _render_closed(request: HttpRequest, context: PageContext) -> HttpResponse:
    lines = context.persona.lines
    return render(request, "companion/closed.html", {"line": lines.closed, "lines": lines}, status=403)
