"""The page on which a participant chooses what they need. Each choice is stored at once, with or without scripts."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from companion.access import LiveVisit, find_visit
from companion.asked_by_script import is_asked_by_script
from companion.needs import store
from companion.needs.answers import build_answer, describe_change
from companion.needs.choices import find_option, offer_choices
from companion.needs.undo import UndoSteps
from companion.page_context import PageContext
from companion.same_origin import require_same_origin
from companion.visits.idle import note_active
from companion.visits.pages import answer_signed_out, exit_facts
from personas.schema import Persona

_SAID = "needs_said"
"""In the session: the choice that was made without scripts, for the page that follows."""


@require_http_methods(["GET", "HEAD", "POST"])
@require_same_origin
def needs(request: HttpRequest, context: Callable[[], PageContext]) -> HttpResponse:
    """The page of choices. A POST names one choice and its option (`type=big`), or `undo`.

    A script is answered as `build_answer` says. After a change of language: {"language"}.
    """
    persona, visit = context().persona, find_visit(request)
    is_script = is_asked_by_script(request)
    if visit is None:
        if is_script:
            return answer_signed_out(request)
        return render(request, "companion/needs_closed.html", _name_lines(persona))
    if request.method != "POST":
        # A page that is open asks whether its visit still is, and what staff have changed.
        return (
            _answer(request, visit, said=persona.choices.changed)
            if is_script
            else _render_page(request, visit, persona)
        )
    said, name = _change(request, visit, persona)
    if said is None:
        return JsonResponse({"problem": "name a choice and one of its options"}, status=400)
    now = find_visit(request) or visit
    if now.language != visit.language:
        said = context().languages.get(now.language, persona).choices.changed
    if is_script and now.language == visit.language:
        return _answer(request, visit, said=said)
    request.session[_SAID] = [said, name]
    if is_script:
        # The page is loaded again, in the other language.
        return JsonResponse({"language": now.language})
    # So that a reload of the page changes nothing again.
    return redirect("needs")


def _change(request: HttpRequest, visit: LiveVisit, persona: Persona) -> tuple[str | None, str]:
    """Do what the form names; returns the drafted line about it and the name of the choice. None: it names nothing."""
    lines = persona.choices
    note_active(visit.visit)
    undo = UndoSteps(request.session, visit.participant)
    if "undo" in request.POST:
        return (lines.changed_back if undo.undo() else lines.not_changed), "undo"
    found = find_option(request.POST.dict())
    if found is None:
        return None, ""
    choice, option = found
    before = store.change_needs(visit.participant, option.stores)
    undo.add(before)
    return describe_change(lines, choice, before), choice.name


def _answer(request: HttpRequest, visit: LiveVisit, *, said: str) -> HttpResponse:
    answer = build_answer(visit.participant, request.session, said=said, language=visit.language)
    return JsonResponse(answer)


def _render_page(request: HttpRequest, visit: LiveVisit, persona: Persona) -> HttpResponse:
    needs = store.find_needs(visit.participant)
    said, focus = request.session.pop(_SAID, ("", ""))
    # Recorded as empty it is that of the site.
    values = {**store.list_values(needs), "language": visit.language}
    facts = {
        **_name_lines(persona),
        **exit_facts(visit),
        "choices": list(offer_choices(values, persona.choices.shown())),
        "can_undo": UndoSteps(request.session, visit.participant).can_undo(needs),
        "said": said,
        "focus": focus,
    }
    return render(request, "companion/needs.html", facts)


def _name_lines(persona: Persona) -> dict[str, Any]:
    return {"lines": persona.lines, "needs_lines": persona.choices, "character": persona.name}
