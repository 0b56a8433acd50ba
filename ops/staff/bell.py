"""What rings on every page for staff: the flags that were not accepted, and whether this session's screens sound."""

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.functional import SimpleLazyObject
from django.views.decorators.http import require_POST

from companion.supervision.states import FlagState
from ops.access import get_access, staff_only
from ops.staff import desk_text
from ops.staff.desk_queries import list_flags
from ops.staff.people_page import flag_context
from ops.staff.script_texts import write_script_texts
from ops.staff.shown import cut_list

SOUND = "sound"
"""The key of the session that says that the sound was switched on. It ends with the session."""
MAX_RINGING = 50
"""Flags that the bell of a page is served with, red before amber and the oldest first."""


def add_bell(request: HttpRequest) -> dict[str, Any]:
    """`bell` in every template: read once, when one asks for it."""
    return {"bell": SimpleLazyObject(lambda: _build_bell(request))}


@require_POST
@staff_only
def sound(request: HttpRequest) -> HttpResponse:
    """The sound was switched on: every page of this session sounds, as far as its browser lets it."""
    request.session[SOUND] = True
    return HttpResponse(status=204)


def _build_bell(request: HttpRequest) -> dict[str, Any]:
    flags = list_flags(get_access(request.user))
    ringing, more = cut_list([flag for flag in flags if flag.state == FlagState.OPEN], most=MAX_RINGING)
    return {
        "flags": [flag_context(flag) for flag in ringing],
        "more": more,
        "texts": write_script_texts(),
        "sounds": bool(request.session.get(SOUND)),
        "kinds": json.dumps(
            {"tiers": desk_text.translate(desk_text.TIERS), "kinds": dict(desk_text.name_kinds())}
        ),
    }
