"""The search of people by name on staff pages: what was typed, and the search on record."""

from django.http import HttpRequest

from companion.frames import clean_text
from ops import audit

MAX_TYPED_CHARS = 100


def clean_typed(text: str) -> str:
    """Return what was typed into one line of a form, cut to what a name may hold."""
    return clean_text(text).strip()[:MAX_TYPED_CHARS]


def read_name(request: HttpRequest) -> str:
    """Return the name that is searched for with `?name=`; empty without a search."""
    return clean_typed(request.GET.get("name", ""))


def record_search(request: HttpRequest, *, found: int, where: str = "") -> None:
    """Put a search on record: how many people it found, and never what was typed."""
    note = audit.join_note(f"{found} found", where)
    audit.record(audit.SEARCHED_PEOPLE, who=request.user.get_username(), note=note)
