"""Printing cards: staff choose people of one of their sites, and print a sheet. Each printing is on record."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_safe

from companion.ids import parse_id
from companion.models import Participant, Site
from ops import audit
from ops.access import form_on, get_access, staff_only
from ops.changes import ChangeRefused
from ops.people.card_sheets import MAX_CARDS, make_sheet, render_sheet
from ops.staff.machine_queries import list_choices
from ops.staff.name_search import read_name, record_search


@require_safe
@staff_only
def cards(request: HttpRequest) -> HttpResponseBase:
    """The people of one site, to choose whose cards are printed."""
    return _render_list(request)


@form_on("staff_cards")
@require_http_methods(["POST"])
@staff_only
def sheet(request: HttpRequest) -> HttpResponseBase:
    """The cards of the chosen people, ready to print."""
    access = get_access(request.user)
    chosen = [number for typed in request.POST.getlist("person") if (number := parse_id(typed)) is not None]
    found = Participant.objects.filter(pk__in=chosen[: MAX_CARDS + 1]).select_related("site")
    people = list(found.filter(site__in=access.supervised))
    if others := found.exclude(site__in=access.supervised).count():
        audit.record_refusal(request.user.get_username(), note=f"cards, people of other sites {others}")
    try:
        printed = make_sheet(people, by=request.user.get_username())
    except ChangeRefused as refusal:
        return _render_list(request, refused=str(refusal))
    return HttpResponse(render_sheet(printed, is_file=False))


def _render_list(request: HttpRequest, *, refused: str = "") -> HttpResponse:
    access = get_access(request.user)
    sites = list(Site.objects.filter(pk__in=access.supervised).order_by("name"))
    slug = request.GET.get("site", "")
    site = next((one for one in sites if one.slug == slug), sites[0] if sites else None)
    name = read_name(request)
    context: dict[str, Any] = {
        "sites": sites,
        "site": site,
        "name": name,
        "refused": refused,
        "people": list_choices(site.pk, name, most=MAX_CARDS) if site else [],
        "most": MAX_CARDS,
        "here": "machines",
        "is_below": True,
    }
    if name:
        record_search(request, found=len(context["people"]))
    return render(request, "ops/cards.html", context, status=400 if refused else 200)
