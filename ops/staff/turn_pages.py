"""The staff's pages about turns: lists of them, and everything that is known of one."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from companion.ids import LARGEST_ID, parse_id
from ops import audit
from ops.access import StaffAccess, get_access, staff_only
from ops.catalogue_marks import gettext_noop
from ops.staff.openings import OpenedPages
from ops.supervision.reasons import has_stated_reason
from ops.transcripts.formatting import describe_next_step, format_skipped_lane, list_steps
from ops.transcripts.queries import get_participant_id, get_turn, list_turns
from ops.transcripts.records import AttemptRecord, TurnEntry, TurnList, TurnRecord
from ops.transcripts.text import explain_reason

OPENED = OpenedPages(salt="ops.turns.opened", lasts_s=3_600)
LISTS: Mapping[TurnList, tuple[str, str]] = MappingProxyType(
    {
        TurnList.NOW: (gettext_noop("Now"), gettext_noop("Turns now")),
        TurnList.ANSWERED: (gettext_noop("Answered"), gettext_noop("Answered turns")),
        TurnList.PAUSED: (gettext_noop("Paused"), gettext_noop("Paused turns")),
        TurnList.HELD: (gettext_noop("Held"), gettext_noop("Held turns")),
        TurnList.EXPIRED: (gettext_noop("Expired"), gettext_noop("Expired turns")),
        TurnList.REFUSED: (gettext_noop("Refused"), gettext_noop("Refused turns")),
        TurnList.STOPPED: (gettext_noop("Stopped"), gettext_noop("Stopped turns")),
    }
)
"""The lists in their order: the name of each in the row of lists, and its heading."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnRow:
    """A turn in a list. `name` is what the reader is shown of the participant, `why` its reason in words."""

    turn: TurnEntry
    name: str
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptRow:
    """An attempt of a turn. `meaning` is how it ended, in words."""

    attempt: AttemptRecord
    meaning: str


@require_safe
@staff_only
def turns(request: HttpRequest) -> HttpResponse:
    """A page of one list, for the sites this member of staff supervises. It holds no participant's text."""
    chosen = request.GET.get("show", TurnList.PAUSED)
    if chosen not in list(TurnList):
        raise Http404
    access = get_access(request.user)
    page = list_turns(
        TurnList(chosen),
        sites=access.sites,
        everywhere=access.is_operator,
        after=parse_id(request.GET.get("after")),
    )
    context = {
        "lists": [(name, gettext(says)) for name, (says, _) in LISTS.items()],
        "chosen": chosen,
        "title": gettext(LISTS[TurnList(chosen)][1]),
        "rows": [
            TurnRow(
                turn=entry,
                name=access.name_of(entry.participant_name, participant=entry.participant, site=entry.site),
                why=explain_reason(entry.reason),
            )
            for entry in page.entries
        ],
        "further": page.further,
        "here": "turns",
    }
    return render(request, "ops/turns.html", context)


@require_safe
@staff_only
def turn(request: HttpRequest, turn: int) -> HttpResponse:
    """One turn. The opening is recorded before anything is shown.

    An operator who does not supervise its site sees how it went, and no name or word unless a reason is stated.
    """
    if turn > LARGEST_ID:
        raise Http404
    access = get_access(request.user)
    record = get_turn(turn, sites=access.sites)
    if record is None:
        if (person := get_participant_id(turn)) is not None:
            audit.record_refusal(request.user.get_username(), about=person, note=f"turn {turn}")
        raise Http404
    with_words = _may_read(record, access)
    _record_opening(request, record, note="" if with_words else ", without words")
    facts = {
        "here": "turns",
        "opened": OPENED.sign(request, record.id),
        "with_words": with_words,
        "name": access.name_of(record.participant_name, participant=record.participant, site=record.site),
    }
    return render(request, "ops/turn.html", _build_context(record) | facts)


@require_safe
@staff_only
def words(request: HttpRequest, turn: int) -> JsonResponse:
    """The reply so far, for an open page of a live turn. The page's opening is recorded, its reading on is not."""
    access = get_access(request.user)
    record = get_turn(turn, sites=access.sites) if turn <= LARGEST_ID else None
    if record is None:
        raise Http404
    if not _may_read(record, access):
        raise PermissionDenied
    if not OPENED.has_signed(request, turn):
        _record_opening(request, record)
    return JsonResponse({"stands": record.state_key, "seq": record.seq, "reply": record.reply})


def _may_read(record: TurnRecord, access: StaffAccess) -> bool:
    return record.site in access.supervised or has_stated_reason(record.conversation, access.user or 0)


def _record_opening(request: HttpRequest, record: TurnRecord, *, note: str = "") -> None:
    who = request.user.get_username()
    audit.record(audit.READ_STORY, who=who, about=record.participant, note=f"turn {record.id}{note}")


def _build_context(record: TurnRecord) -> dict[str, object]:
    return {
        "turn": record,
        "why": explain_reason(record.reason),
        "next": describe_next_step(record),
        "steps": list_steps(record),
        "skipped": [format_skipped_lane(lane) for lane in record.skipped],
        "attempts": [
            AttemptRow(
                attempt=attempt,
                meaning=explain_reason(attempt.failure)
                if attempt.failure
                else gettext("The reply was whole."),
            )
            for attempt in record.attempts
        ],
    }
