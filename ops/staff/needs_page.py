"""The needs of one person, set and reviewed by staff; and the list of reviews that are overdue."""

from datetime import timedelta
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_safe

from companion.asked_by_script import is_asked_by_script
from companion.needs import store
from companion.needs.answers import build_answer, describe_change
from companion.needs.choices import find_option, offer_choices
from companion.needs.look import make_look
from companion.needs.undo import UndoSteps
from ops import audit
from ops.access import get_access, staff_only
from ops.changes import ChangeRefused
from ops.character import get_persona
from ops.people import needs as changes
from ops.staff.conversation_page import get_readable_head, record_about
from ops.transcripts.timeline import TimelineHead

_SAID = "staff_needs_said"


@require_http_methods(["GET", "HEAD", "POST"])
@staff_only
def needs(request: HttpRequest, conversation: int) -> HttpResponseBase:
    """The choices of one person, as on their own page, and the day of review. An opening is recorded.

    An operator who does not supervise the site states a reason on the person's page first.
    """
    head = get_readable_head(request, conversation)
    if head is None:
        if request.method == "POST":
            raise PermissionDenied
        return redirect("staff_conversation", conversation)
    if request.method != "POST":
        return _render(request, head)
    said, focus = _change(request, head)
    if is_asked_by_script(request):
        return JsonResponse(build_answer(head.participant, request.session, said=said))
    request.session[_SAID] = [said, focus]
    return redirect("staff_needs", conversation)


@require_safe
@staff_only
def reviews(request: HttpRequest) -> HttpResponse:
    """The reviews that are overdue at the reader's sites, the oldest first."""
    access = get_access(request.user)
    overdue = [
        {
            "review": review,
            "name": access.name_of(review.participant_name, participant=review.participant, site=review.site),
        }
        for review in changes.list_overdue(access.sites)
    ]
    facts = {"overdue": overdue, "max_listed": changes.MAX_LISTED, "here": "people", "is_below": True}
    return render(request, "ops/needs_reviews.html", facts)


def _change(request: HttpRequest, head: TimelineHead) -> tuple[str, str]:
    """Do what the form asks for; returns a sentence about it, and the name of the choice."""
    lines, by = get_persona().choices, request.user.get_username()
    steps = UndoSteps(request.session, head.participant)
    if "undo" in request.POST:
        return (
            lines.changed_back if changes.undo_choice(head.participant, steps, by=by) else lines.not_changed
        ), ""
    if "review_by" in request.POST:
        try:
            changes.set_review(head.participant, request.POST["review_by"].strip(), by=by)
        except ChangeRefused as refusal:
            return str(refusal), ""
        return gettext("The day of the next review is set."), ""
    if (found := find_option(request.POST.dict())) is None:
        return lines.not_changed, ""
    choice, option = found
    before = changes.set_choice(head.participant, choice, option, by=by)
    steps.add(before)
    return describe_change(lines, choice, before), choice.name


def _render(request: HttpRequest, head: TimelineHead) -> HttpResponse:
    record_about(request, audit.OPENED_NEEDS, head)
    record = store.find_needs(head.participant)
    persona = get_persona()
    said, focus = request.session.pop(_SAID, ("", ""))
    today = timezone.localdate()
    facts: dict[str, Any] = {
        "head": head,
        "record": record,
        "is_overdue": changes.is_overdue(record),
        "choices": list(offer_choices(store.list_values(record), persona.choices.shown())),
        "needs_lines": persona.choices,
        "character": persona.name,
        "look": make_look(store.list_values(record)),
        "can_undo": UndoSteps(request.session, head.participant).can_undo(record),
        "said": said,
        "focus": focus,
        "first_day": today + timedelta(days=1),
        "last_day": today + store.MAX_REVIEW,
        "next_day": today + store.REVIEW_AFTER,
        "here": "people",
    }
    return render(request, "ops/needs.html", facts)
