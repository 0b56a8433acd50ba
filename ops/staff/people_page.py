"""The desk: the people of a member of staff's sites, flags on top. Complete as it is served; a socket keeps it so."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from companion.supervision.flag_views import FlagView
from companion.supervision.states import FlagState, PauseScope
from ops.access import get_access, name_person, staff_only
from ops.people.needs import has_overdue
from ops.staff import desk_text
from ops.staff.desk_queries import find_people, list_flags, list_pauses, list_people, list_reasons
from ops.staff.machine_queries import list_offers
from ops.staff.name_search import read_name, record_search
from ops.staff.shown import cut_list


@require_safe
@staff_only
def people(request: HttpRequest) -> HttpResponse:
    """Flags, then who is here. With `?name=`, also those whose name, or whose site's name, begins so and who are not
    here; such a search is recorded."""
    access = get_access(request.user)
    flags = list_flags(access)
    here = list_people(access, flags)
    name = read_name(request)
    doings = desk_text.name_character(desk_text.DOINGS)
    items = [person_context(item, doings) for item in here]
    shown, more_people = cut_list([one for one in items if _is_wanted(one, name.casefold())])
    accepted, more_flags = cut_list([flag for flag in flags if flag.state == FlagState.ACCEPTED])
    context: dict[str, Any] = {
        "flags": [flag_context(flag) for flag in accepted],
        "more_flags": more_flags,
        "people": shown,
        "more_people": more_people,
        "pauses": [pause for pause in list_pauses(access) if pause.scope != PauseScope.PERSON],
        "reasons": list_reasons(access),
        "has_needs_to_review": has_overdue(access.sites),
        "offers": [desk_text.with_offer_words(item) for item in list_offers(access.supervised)],
        "words_of_offers": desk_text.offer_words(),
        "has_sites": bool(access.sites),
        "name": name,
        "here": "people",
        "now": timezone.now(),
        "words": json.dumps({"doings": doings}),
    }
    if name:
        found = find_people(name, access)
        record_search(request, found=len(found))
        present = {item["conversation"] for item in here}
        context["found"] = [person for person in found if person["conversation"] not in present]
    return render(request, "ops/people.html", context)


def flag_context(flag: FlagView) -> dict[str, Any]:
    """A flag with the words that lists show."""
    return {
        "flag": flag,
        "tier": gettext(desk_text.TIERS[flag.tier]),
        "about": desk_text.describe_kind(flag.kind),
    }


def _is_wanted(person: Mapping[str, Any], wanted: str) -> bool:
    """Whether someone who is here has these letters in their name or machine, or is of a site whose name begins so."""
    texts = (person["name"].casefold(), person["machine"].casefold())
    return any(wanted in text for text in texts) or person["site_name"].casefold().startswith(wanted)


def person_context(item: Mapping[str, Any], doings: Mapping[str, str]) -> dict[str, Any]:
    """An item of a `people` frame with its words and times, for the template."""
    doing = desk_text.choose_doing(item)
    return {
        **item,
        "name": item["name"] or name_person(item["participant"]),
        "doing": doing,
        "says": doings[doing],
        "person_name": item["person"]["name"] if item["person"] else "",
        "since": datetime.fromisoformat(item["since"]),
        "last_at": item["last_at"] and datetime.fromisoformat(item["last_at"]),
        "readers": ", ".join(item["readers"]),
    }
