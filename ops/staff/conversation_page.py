"""One person's page: the whole conversation with flags, notes and visits in it, and what staff can do about it."""

import json
from datetime import UTC, datetime
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.dateformat import format as date_format
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_safe

from companion.frames import MAX_MESSAGE_CHARS
from companion.ids import LARGEST_ID, parse_id
from companion.models import Conversation
from companion.needs import store
from companion.supervision.staff import clean_reason
from ops import audit
from ops.access import StaffAccess, get_access, staff_only
from ops.character import get_persona
from ops.people.needs import describe_needs, is_overdue
from ops.staff import desk_text
from ops.staff.desk_queries import get_control, list_pauses
from ops.staff.machine_queries import list_machines, list_offers
from ops.staff.machines_page import describe
from ops.staff.openings import OpenedPages
from ops.supervision.reasons import has_stated_reason, store_reason
from ops.transcripts.timeline import TimelineHead, TimelinePage, get_head, read_flags, read_timeline
from ops.transcripts.visit_text import PAST_OFFERS, describe_end

OPENED = OpenedPages(salt="ops.people.opened", lasts_s=8 * 3_600)
PRINTED_PAGES = 10
"""Pages of the conversation that one transcript holds."""


@require_http_methods(["GET", "HEAD", "POST"])
@staff_only
def conversation(request: HttpRequest, conversation: int) -> HttpResponseBase:
    """The conversation as it is now. The opening is recorded before anything is shown.

    An operator who does not supervise the site states a reason first, and then reads this one for an hour.
    """
    access = get_access(request.user)
    head = _get_head(request, conversation, access)
    if request.method == "POST" and head.site not in access.supervised:
        return _state_reason(request, head, access)
    if not _may_read(head, access):
        return render(request, "ops/conversation_reason.html", {"head": head, "here": "people"})
    record_about(request, audit.OPENED_CONVERSATION, head)
    before = parse_id(request.GET.get("before"))
    page = read_timeline(head, before=before)
    pauses = [
        pause
        for pause in list_pauses(access)
        if (pause.scope, pause.about) in (("everyone", 0), ("site", head.site), ("person", head.participant))
    ]
    record = store.find_needs(head.participant)
    context: dict[str, Any] = {
        "head": head,
        "needs": describe_needs(record, get_persona().choices) if record else [],
        "needs_review": record.review_by if record else None,
        "needs_overdue": is_overdue(record),
        "items": [with_words(item, head) for item in page.items],
        "earlier": page.earlier,
        "before": before,
        "control": get_control(head.conversation),
        "pauses": pauses,
        "me": request.user.pk,
        "my_name": access.name,
        "outcomes": desk_text.translate(desk_text.OUTCOMES),
        "max_chars": MAX_MESSAGE_CHARS,
        "character": desk_text.get_character(),
        "opened": OPENED.sign(request, head.conversation),
        "words": json.dumps(_words()),
        **_offer_context(head, access),
        "here": "people",
    }
    return render(request, "ops/conversation.html", context)


@require_safe
@staff_only
def transcript(request: HttpRequest, conversation: int) -> HttpResponse:
    """The conversation for print: each line names its speaker. That it was asked for is recorded before it is shown."""
    access = get_access(request.user)
    head = _get_head(request, conversation, access)
    if not _may_read(head, access):
        raise PermissionDenied
    record_about(request, audit.PRINTED_TRANSCRIPT, head)
    found: list[dict[str, Any]] = []
    before = parse_id(request.GET.get("before"))
    for _ in range(PRINTED_PAGES):
        page = read_timeline(head, before=before)
        found = [*page.items, *found]
        before = page.earlier
        if before is None:
            break
    context = {
        "head": head,
        "items": [with_words(item, head) for item in found],
        "earlier": before,
        "by": access.name,
        "now": timezone.now(),
        "character": desk_text.get_character(),
        "here": "people",
    }
    return render(request, "ops/transcript.html", context)


@require_safe
@staff_only
def items(request: HttpRequest, conversation: int) -> JsonResponse:
    """{items, earlier} for an open page: the last turns, or those `?before=` a turn, or one `?flag=`."""
    access = get_access(request.user)
    head = _get_head(request, conversation, access)
    if not _may_read(head, access):
        raise PermissionDenied
    if not OPENED.has_signed(request, head.conversation):
        record_about(request, audit.OPENED_CONVERSATION, head)
    if (flag := parse_id(request.GET.get("flag"))) is not None:
        found = read_flags([flag], conversation=head.conversation)
        return JsonResponse({"items": [with_words(one, head) for one in found], "earlier": None})
    page: TimelinePage = read_timeline(head, before=parse_id(request.GET.get("before")))
    return JsonResponse({"items": [with_words(item, head) for item in page.items], "earlier": page.earlier})


def _offer_context(head: TimelineHead, access: StaffAccess) -> dict[str, Any]:
    """Where a visit can be opened for this person, and what became of that, for staff of the site."""
    if head.site not in access.supervised:
        return {}
    return {
        "machines": [describe(one) for one in list_machines({head.site})],
        "offers": [
            desk_text.with_offer_words(item)
            for item in list_offers({head.site}, participant=head.participant)
        ],
        "words_of_offers": desk_text.offer_words(),
        "opens_visits": True,
    }


def _may_read(head: TimelineHead, access: StaffAccess) -> bool:
    return head.site in access.supervised or has_stated_reason(head.conversation, access.user or 0)


def get_readable_head(request: HttpRequest, conversation: int) -> TimelineHead | None:
    """Whose conversation it is; None: the reader must state a reason first. Raises Http404, and records the try."""
    access = get_access(request.user)
    head = _get_head(request, conversation, access)
    return head if _may_read(head, access) else None


def _state_reason(request: HttpRequest, head: TimelineHead, access: StaffAccess) -> HttpResponseBase:
    reason = clean_reason(request.POST.get("reason", ""))
    if not reason:
        return render(
            request, "ops/conversation_reason.html", {"head": head, "here": "people", "is_empty": True}
        )
    with transaction.atomic():
        store_reason(head.conversation, access, reason=reason)
        record_about(request, audit.STATED_REASON, head)
    return redirect("staff_conversation", head.conversation)


def _get_head(request: HttpRequest, conversation: int, access: StaffAccess) -> TimelineHead:
    if conversation > LARGEST_ID:
        raise Http404
    head = get_head(conversation, sites=access.sites)
    if head is None:
        person = Conversation.objects.filter(pk=conversation).values_list("participant_id", flat=True).first()
        if person is not None:
            audit.record_refusal(
                request.user.get_username(), about=person, note=f"conversation {conversation}"
            )
        raise Http404
    return head


def record_about(request: HttpRequest, what: str, head: TimelineHead) -> None:
    """Put on record that the reader did `what` about the person of this conversation."""
    note = f"conversation {head.conversation}"
    audit.record(what, who=request.user.get_username(), about=head.participant, note=note)


def with_words(item: dict[str, Any], head: TimelineHead) -> dict[str, Any]:
    """The item with the words that the page shows beside what was written, and its time as a clock shows it."""
    item = {**item, "clock": _clock(item["at"])}
    match item["kind"]:
        case "turn":
            return {**item, "says": desk_text.describe_turn(item["state"], item["reason"])}
        case "entry":
            return {**item, "says": gettext(desk_text.ENTRIES.get(item["entry"], ""))}
        case "flag":
            steps = [
                {
                    **step,
                    "says": gettext(desk_text.STEPS.get(step["what"], step["what"])),
                    "clock": _clock(step["at"]),
                }
                for step in item["steps"]
            ]
            return {
                **item,
                "steps": steps,
                "says": desk_text.describe_kind(item["about"]),
                "tier_says": gettext(desk_text.TIERS[item["tier"]]),
                "outcome_says": gettext(desk_text.OUTCOMES.get(item["outcome"], "")),
            }
        case "visit":
            item["ended_clock"] = _clock(item["ended_at"]) if item["ended_at"] else ""
            return {**item, "ended_says": describe_end(item)}
        case "offer":
            return {**item, "says": gettext(PAST_OFFERS[item["state"]])}
    return item


def _clock(moment: str) -> str:
    return date_format(datetime.fromisoformat(moment).astimezone(UTC), "d M, H:i:s")


def _words() -> dict[str, Any]:
    return {
        "turns": desk_text.name_character(desk_text.TURN_STATES),
        "entries": desk_text.translate(desk_text.ENTRIES),
        "doings": desk_text.name_character(desk_text.DOINGS),
    }
