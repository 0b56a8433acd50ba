"""The shift: my flags, flags without an owner, people who are watched and why, pauses in force, handing over."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from companion.supervision.flag_views import FlagView
from companion.supervision.states import FlagState
from ops.access import get_access, staff_only
from ops.staff.desk_queries import (
    count_handled,
    list_flags,
    list_pauses,
    list_receivers,
    list_watched,
)
from ops.staff.people_page import flag_context
from ops.staff.shown import cut_list

MAX_MINE = 20
"""Flags of the reader that are shown at once: each has a list of all colleagues."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ShiftFlags:
    """The flags of a shift, by whose they are."""

    mine: tuple[FlagView, ...]
    handed_to_me: tuple[FlagView, ...]
    unaccepted: tuple[FlagView, ...]
    of_others: tuple[FlagView, ...]


@require_safe
@staff_only
def shift(request: HttpRequest) -> HttpResponse:
    """What has to be known at the start of a shift, and handed over at its end."""
    access = get_access(request.user)
    flags = sort_by_owner(list_flags(access), me=access.user or 0)
    mine, more_mine = cut_list(flags.mine, most=MAX_MINE)
    unaccepted, more_unaccepted = cut_list(flags.unaccepted)
    of_others, more_of_others = cut_list(flags.of_others)
    pauses, more_pauses = cut_list(list_pauses(access))
    watched, may_watch_more = list_watched(access.supervised)
    now: datetime = timezone.now()
    context = {
        "mine": _contexts(mine),
        "more_mine": more_mine,
        "owned": len(flags.mine),
        "handed_to_me": _contexts(flags.handed_to_me),
        "unaccepted": _contexts(unaccepted),
        "more_unaccepted": more_unaccepted,
        "of_others": _contexts(of_others),
        "more_of_others": more_of_others,
        "watched": watched,
        "may_watch_more": may_watch_more,
        "pauses": pauses,
        "more_pauses": more_pauses,
        "colleagues": list_receivers(access),
        "handled": count_handled(access.sites, now=now),
        "my_name": access.name,
        "is_leaving": "leaving" in request.GET,
        "here": "shift",
        "now": now,
    }
    return render(request, "ops/shift.html", context)


def sort_by_owner(flags: Collection[FlagView], *, me: int) -> ShiftFlags:
    """Sort flags by whose they are: a flag that is handed to me stays its owner's until I take it on."""
    return ShiftFlags(
        mine=tuple(flag for flag in flags if flag.owner == me),
        handed_to_me=tuple(flag for flag in flags if flag.handed_to == me and flag.owner != me),
        unaccepted=tuple(flag for flag in flags if flag.state == FlagState.OPEN),
        of_others=tuple(flag for flag in flags if flag.owner not in (None, me) and flag.handed_to != me),
    )


def _contexts(flags: Sequence[FlagView]) -> list[dict[str, object]]:
    return [flag_context(flag) for flag in flags]
