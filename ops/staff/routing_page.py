"""The staff's page about lanes: what is in force, how each lane is, moving traffic. Only operators change anything."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_safe

from ops import audit
from ops.access import by_form_of, operators_only, staff_only
from ops.alerts.rows import acknowledge
from ops.models import ContractCheck
from ops.selections import board_text, rows
from ops.selections.board import Board, LaneStatus, list_concerns, read_board
from ops.selections.selector import ConfirmationRequired, SelectionRefused, SelectionRequest, Selector
from ops.status import usage
from ops.text import format_age
from routing.contracts import Preset
from routing.lanes import NORMAL, Routing
from routing.selection import Concern, Selection

LENGTHS = ((1, "one hour"), (4, "four hours"), (8, "eight hours"), (24, "one day"))
USUAL = 4
SHOWN = 10
REVERTED = "Back to normal, from the page."


class SelectForm(forms.Form):
    """What an operator chose. The words of the page stand in its template."""

    preset = forms.CharField(max_length=40)
    reason = forms.CharField(max_length=200)
    hours = forms.TypedChoiceField(choices=LENGTHS, coerce=int, required=False)
    seen = forms.IntegerField(min_value=0, required=False)
    sure = forms.BooleanField(required=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Offered:
    """A preset that can be selected, and what speaks against it now."""

    preset: Preset
    concerns: tuple[Concern, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A lane, in words."""

    lane: LaneStatus
    state: str
    answered: str
    first_words: str
    drill: str


@require_safe
@staff_only
def page(request: HttpRequest, routing: Callable[[], Routing], **_: Any) -> HttpResponse:
    """How things stand, for all staff; with the forms, for operators."""
    return _page(request, routing())


@by_form_of("staff_routing")
@operators_only
def select(
    request: HttpRequest, routing: Callable[[], Routing], selector: Callable[[], Selector]
) -> HttpResponse:
    """Select a preset. What speaks against it is shown first, and asks for a second yes."""
    form = SelectForm(request.POST)
    if not form.is_valid():
        return _page(request, routing(), problem=_wrong(form), entered=request.POST)
    wanted = form.cleaned_data
    is_normal = wanted["preset"] == NORMAL
    choice = SelectionRequest(
        preset=wanted["preset"],
        by=request.user.get_username()[:100],
        reason=wanted["reason"],
        lasts=None if is_normal else timedelta(hours=wanted["hours"] or USUAL),
        seen=wanted["seen"],
        is_confirmed=wanted["sure"],
        account=request.user.pk,
    )
    try:
        chosen = selector().select(choice)
    except ConfirmationRequired as refusal:
        return render(
            request,
            "ops/routing_sure.html",
            {"wanted": wanted, "concerns": refusal.concerns, "here": "routing"},
        )
    except SelectionRefused as refusal:
        return _page(request, routing(), problem=f"Nothing was selected. {refusal}", entered=request.POST)
    return _selected(request, chosen)


@by_form_of("staff_routing")
@operators_only
def revert(
    request: HttpRequest, routing: Callable[[], Routing], selector: Callable[[], Selector]
) -> HttpResponse:
    """Back to normal, in one press."""
    who = request.user
    return _selected(request, selector().revert(by=who.get_username()[:100], reason=REVERTED, account=who.pk))


@by_form_of("staff_home")
@operators_only
def seen(request: HttpRequest, alert: int) -> HttpResponse:
    """An operator has seen an alert. It is on record, and goes from the pages; if it happens again it comes back."""
    who = request.user.get_username()
    if acknowledge(alert, by=who, at=timezone.now()):
        audit.record(audit.SAW_ALERT, who=who, note=f"alert {alert}")
    where = request.POST.get("next", "")
    # Only a page of ours: an address in a form can be anybody's.
    if where.startswith("/ops/") and url_has_allowed_host_and_scheme(where, allowed_hosts=None):
        return HttpResponseRedirect(where)
    return redirect("staff_home")


def _selected(request: HttpRequest, chosen: Selection) -> HttpResponse:
    messages.success(
        request, f"{chosen.preset} is selected, as version {chosen.version}. New turns follow it at once."
    )
    return redirect("staff_routing")


def _page(
    request: HttpRequest,
    routing: Routing,
    *,
    problem: str = "",
    entered: Any = None,
) -> HttpResponse:
    standing = read_board(routing)
    context = {
        "board": standing,
        "left": board_text.format_time_left(standing),
        "unrecorded": board_text.format_unrecorded(standing),
        "lines": [_line(standing, lane) for lane in _in_order(standing)],
        "offered": [
            Offered(preset=preset, concerns=tuple(list_concerns(standing, routing, name)))
            for name, preset in routing.presets.items()
            if name != NORMAL
        ],
        "usage": usage.days(),
        "check": ContractCheck.objects.filter(preset=NORMAL).order_by("-id").first(),
        "normal": routing.presets[NORMAL],
        "history": rows.read_history(SHOWN),
        "lengths": LENGTHS,
        "usual": str(USUAL),
        "problem": problem,
        "entered": entered or {},
        "here": "routing",
    }
    return render(request, "ops/routing.html", context)


def _in_order(standing: Board) -> list[LaneStatus]:
    return sorted(standing.lanes, key=lambda lane: lane.place or len(standing.lanes) + 1)


def _line(standing: Board, lane: LaneStatus) -> Line:
    return Line(
        lane=lane,
        state=board_text.STATES[lane.state],
        answered=format_age(lane.last_answered_at, standing.now),
        first_words=board_text.format_first_words(lane),
        drill=board_text.format_last_drill(lane, standing.now),
    )


def _wrong(form: SelectForm) -> str:
    if "reason" in form.errors:
        return "Nothing was selected. Say why, in at most 200 characters: it stays on record."
    return "Nothing was selected. Choose one of the presets."
