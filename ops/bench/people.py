"""Participants for a bench, signed in with their own cards."""

from collections.abc import Sequence

from django.db import transaction

from companion import access
from companion.models import Site


@transaction.atomic
def signed_in(count: int) -> Sequence[str]:
    """Create `count` participants at one site; returns the session cookie of each."""
    site = Site.objects.create(slug="bench", name="Bench")
    return [
        access.create_session(access.add_participant(f"Person {number}", site=site))
        for number in range(1, count + 1)
    ]
