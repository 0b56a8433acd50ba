"""The staff's page about lanes: the selection in force, each lane, and for operators the forms that select."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from ops.access import form_on, operators_only, staff_only
from ops.catalogue_marks import gettext_noop
from ops.models import ContractCheck
from ops.selections import board_text, rows
from ops.selections.board import Board, LaneStatus, list_concerns, read_board
from ops.selections.selector import ConfirmationRequired, SelectionRefused, SelectionRequest, Selector
from ops.status import usage
from ops.text import format_age
from routing.contracts import Preset
from routing.lanes import NORMAL, Routing
from routing.selection import Concern, Selection

LENGTHS = (
    (1, gettext_noop("one hour")),
    (4, gettext_noop("four hours")),
    (8, gettext_noop("eight hours")),
    (24, gettext_noop("one day")),
)
DEFAULT_HOURS = 4
MAX_HISTORY = 10
REVERT_REASON = "Back to normal, from the page."


class SelectForm(forms.Form):
    """What an operator chose. The template holds its labels."""

    preset = forms.CharField(max_length=40)
    reason = forms.CharField(max_length=200)
    hours = forms.TypedChoiceField(choices=LENGTHS, coerce=int, required=False)
    seen = forms.IntegerField(min_value=0, required=False)
    sure = forms.BooleanField(required=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class PresetOption:
    """A preset that can be selected, and the concerns about it now."""

    preset: Preset
    concerns: tuple[Concern, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneRow:
    """A lane of the page, in words."""

    lane: LaneStatus
    state: str
    answered: str
    first_words: str
    drill: str


@require_safe
@staff_only
def lanes(request: HttpRequest, routing: Callable[[], Routing]) -> HttpResponse:
    """The selection in force and every lane, for all staff; the forms are for operators."""
    return _render(request, routing())


@form_on("staff_routing")
@operators_only
def select(
    request: HttpRequest, routing: Callable[[], Routing], selector: Callable[[], Selector]
) -> HttpResponse:
    """Select a preset. If there are concerns about it, they are shown first and must be confirmed."""
    form = SelectForm(request.POST)
    if not form.is_valid():
        return _render(request, routing(), problem=_describe_error(form), entered=request.POST)
    chosen = form.cleaned_data
    is_normal = chosen["preset"] == NORMAL
    choice = SelectionRequest(
        preset=chosen["preset"],
        by=request.user.get_username()[:100],
        reason=chosen["reason"],
        lasts=None if is_normal else timedelta(hours=chosen["hours"] or DEFAULT_HOURS),
        # The version on the page: a selection made meanwhile is not overwritten unseen.
        seen=chosen["seen"],
        is_confirmed=chosen["sure"],
        account=request.user.pk,
    )
    try:
        selection = selector().select(choice)
    except ConfirmationRequired as refusal:
        return render(
            request,
            "ops/routing_sure.html",
            {"chosen": chosen, "concerns": refusal.concerns, "here": "routing"},
        )
    except SelectionRefused as refusal:
        return _render(
            request,
            routing(),
            problem=gettext("Nothing was selected. {why}").format(why=refusal),
            entered=request.POST,
        )
    return _redirect_after(request, selection)


@form_on("staff_routing")
@operators_only
def revert(
    request: HttpRequest, routing: Callable[[], Routing], selector: Callable[[], Selector]
) -> HttpResponse:
    """Back to normal, in one press."""
    who = request.user
    return _redirect_after(
        request, selector().revert(by=who.get_username()[:100], reason=REVERT_REASON, account=who.pk)
    )


def _redirect_after(request: HttpRequest, selection: Selection) -> HttpResponse:
    messages.success(
        request,
        gettext("{preset} is selected, as version {version}. New turns follow it at once.").format(
            preset=selection.preset, version=selection.version
        ),
    )
    return redirect("staff_routing")


def _render(
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
        "lines": [_build_row(standing, lane) for lane in _sort_by_place(standing)],
        "offered": [
            PresetOption(preset=preset, concerns=tuple(list_concerns(standing, routing, name)))
            for name, preset in routing.presets.items()
            if name != NORMAL
        ],
        "usage": usage.list_usage(),
        "check": ContractCheck.objects.filter(preset=NORMAL).order_by("-id").first(),
        "normal": routing.presets[NORMAL],
        "history": rows.read_history(MAX_HISTORY),
        "lengths": [(hours, gettext(says)) for hours, says in LENGTHS],
        "usual": str(DEFAULT_HOURS),
        "problem": problem,
        "entered": entered or {},
        "here": "routing",
    }
    return render(request, "ops/routing.html", context)


def _sort_by_place(standing: Board) -> list[LaneStatus]:
    return sorted(standing.lanes, key=lambda lane: lane.place or len(standing.lanes) + 1)


def _build_row(standing: Board, lane: LaneStatus) -> LaneRow:
    return LaneRow(
        lane=lane,
        state=gettext(board_text.STATES[lane.state]),
        answered=format_age(lane.last_answered_at, standing.now),
        first_words=board_text.format_first_words(lane),
        drill=board_text.format_last_drill(lane, standing.now),
    )


def _describe_error(form: SelectForm) -> str:
    if "reason" in form.errors:
        return gettext("Nothing was selected. Say why, in at most 200 characters: it stays on record.")
    return gettext("Nothing was selected. Choose one of the presets.")
