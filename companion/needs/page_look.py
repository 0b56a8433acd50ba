"""The look of a participant's page: read for the visit of the session when the template asks for it."""

import logging
from urllib.parse import parse_qsl, urlencode

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.utils.functional import SimpleLazyObject

from companion.access import session_visit_id
from companion.needs.look import Look
from companion.needs.models import CONTRASTS, TYPE_PERCENTS
from companion.needs.store import find_look_of_visit

log = logging.getLogger(__name__)

GOODBYE_S = 120
"""How long the goodbye page keeps the letters and colours of the visit that has ended."""
_KEPT = {"type": {str(percent) for percent in TYPE_PERCENTS}, "contrast": set(CONTRASTS)}


def add_look(request: HttpRequest) -> dict[str, object]:
    """A context processor: `look` in every template, read when one asks for it. Staff's pages do not."""
    return {"look": SimpleLazyObject(lambda: find_look(request))}


def find_look(request: HttpRequest) -> Look:
    """Return the look of the session's visit; empty where there is none, or the database does not answer."""
    try:
        visit = session_visit_id(request) if hasattr(request, "session") else None
        return find_look_of_visit(visit) if visit else {}
    except DatabaseError as failure:
        log.warning("needs.no_look cause=%s", type(failure).__name__)
        return {}


def keep_for_goodbye(response: HttpResponse, look: Look) -> None:
    """Let the goodbye page look like the visit that has just ended: sizes and colours, and not whose they are."""
    kept = {name: look[name] for name in _KEPT if name in look}
    if kept:
        response.set_cookie(
            settings.LOOK_COOKIE_NAME,
            urlencode(kept),
            max_age=GOODBYE_S,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Strict",
        )


def find_goodbye_look(request: HttpRequest) -> Look:
    """Return the look that `keep_for_goodbye` has kept."""
    sent = parse_qsl(request.COOKIES.get(settings.LOOK_COOKIE_NAME, "")[:100])
    return {name: value for name, value in sent if value in _KEPT.get(name, ())}
