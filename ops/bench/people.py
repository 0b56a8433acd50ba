"""Participants for a bench, signed in with their cards as anybody signs in."""

from collections.abc import Sequence

from django.db import transaction
from django.http import HttpRequest

from companion import access
from companion.models import Participant, Site
from companion.sessions import SessionStore


@transaction.atomic
def signed_in(count: int) -> Sequence[str]:
    """So many new people at one site; returns the session cookie of each."""
    site = Site.objects.create(slug="bench", name="Bench")
    return [_sign_in(access.welcome(f"Person {number}", site=site)) for number in range(1, count + 1)]


def _sign_in(person: Participant) -> str:
    request = HttpRequest()
    request.session = SessionStore()
    visit = access.open_visit_by_code(request, access.card_of(person).code)
    if visit is None:
        raise RuntimeError("a card that was just made does not open anything")
    request.session.save()
    return request.session.session_key or ""
