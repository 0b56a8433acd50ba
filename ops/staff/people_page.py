"""The desk: the people of a member of staff's sites, flags on top. Complete as it is served; a socket keeps it so."""

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from ops import audit
from ops.access import get_access, staff_only
from ops.staff import desk_text
from ops.staff.desk_queries import FlagRow, find_people, list_flags, list_pauses
from ops.staff.people_here import PersonHere, list_people

MAX_NAME_CHARS = 100


@require_safe
@staff_only
def people(request: HttpRequest) -> HttpResponse:
    """Flags, then who is here. With `?name=`, also those of this name who are not here; such a search is recorded."""
    sites = get_access(request.user).sites
    here = list_people(sites)
    name = request.GET.get("name", "").strip()[:MAX_NAME_CHARS]
    context: dict[str, Any] = {
        "flags": [flag_context(flag) for flag in list_flags(sites)],
        "people": [_person_context(person) for person in here],
        "pauses": [pause for pause in list_pauses(sites) if pause.scope != "person"],
        "has_sites": bool(sites),
        "name": name,
        "here": "people",
        "now": timezone.now(),
        "words": json.dumps({"doings": dict(desk_text.DOINGS)}),
    }
    if name:
        found = find_people(name, sites=sites)
        audit.record(audit.SEARCHED_PEOPLE, who=request.user.get_username(), note=f"found {len(found)}")
        present = {person.conversation for person in here}
        context["found"] = [person for person in found if person.conversation not in present]
        context["people"] = [
            one for one in context["people"] if name.casefold() in one["person"].name.casefold()
        ]
    return render(request, "ops/people.html", context)


def flag_context(flag: FlagRow) -> dict[str, Any]:
    """A flag with the words that lists show."""
    return {
        "flag": flag,
        "tier": desk_text.TIERS[flag.tier],
        "about": desk_text.describe_kind(flag.kind),
    }


def _person_context(person: PersonHere) -> dict[str, Any]:
    return {"person": person, "doing": desk_text.DOINGS[person.doing]}
