"""Participants for a measurement: invited to a site of their own, signed in with their cards, removed afterwards."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.db import connection, transaction

from companion.models import Participant, Site
from companion.participants import add_participant
from companion.sessions import SessionStore, hash_session_key
from companion.visits.openings import create_session

PREFIX = "load-test-"
PEOPLE_PER_TRANSACTION = 100
# The site's helpline: numbers that no telephone has.
VOICE, TEXT = "0808 157 0123", "07700 900123"

# Ordered by foreign keys. One statement for each table: row by row it would take minutes.
REMOVE = (
    """DELETE FROM companion_replychunk s USING companion_turn t, companion_conversation c, companion_participant p
        WHERE s.turn_id = t.id AND t.conversation_id = c.id AND c.participant_id = p.id AND p.site_id = ANY(%s)""",
    """DELETE FROM companion_attempt a USING companion_turn t, companion_conversation c, companion_participant p
        WHERE a.turn_id = t.id AND t.conversation_id = c.id AND c.participant_id = p.id AND p.site_id = ANY(%s)""",
    """DELETE FROM companion_turn t USING companion_conversation c, companion_participant p
        WHERE t.conversation_id = c.id AND c.participant_id = p.id AND p.site_id = ANY(%s)""",
    """DELETE FROM companion_visit v USING companion_participant p
        WHERE v.participant_id = p.id AND p.site_id = ANY(%s)""",
)


@dataclass(frozen=True, kw_only=True)
class Guests:
    """Participants of one site, with the session key of each."""

    site: int
    session_keys: Sequence[str]


def invite(count: int, *, on_progress: Callable[[int], None] = lambda done: None) -> Guests:
    """Create and sign in `count` participants at a new site. `on_progress` gets how many there are so far."""
    site = Site.objects.create(
        slug=f"{PREFIX}{secrets.token_hex(4)}", name="Load test", helpline_voice=VOICE, helpline_text=TEXT
    )
    session_keys: list[str] = []
    while len(session_keys) < count:
        with transaction.atomic():
            for number in range(
                len(session_keys) + 1, min(len(session_keys) + PEOPLE_PER_TRANSACTION, count) + 1
            ):
                session_keys.append(create_session(add_participant(f"Person {number}", site=site)))
        on_progress(len(session_keys))
    return Guests(site=site.pk, session_keys=session_keys)


def remove(guests: Guests) -> None:
    """Delete these people with their sessions and everything they said and were told."""
    SessionStore.get_model_class().objects.filter(
        session_key__in=[hash_session_key(key) for key in guests.session_keys]
    ).delete()
    _remove_sites([guests.site])


def remove_leftovers() -> int:
    """Delete the people of measurements that were killed. Returns the number of sites deleted."""
    left = list(Site.objects.filter(slug__startswith=PREFIX).values_list("id", flat=True))
    if left:
        _remove_sites(left)
    return len(left)


@transaction.atomic
def _remove_sites(sites: list[int]) -> None:
    with connection.cursor() as cursor:
        for statement in REMOVE:
            cursor.execute(statement, [sites])
    # The models' own cascades delete the rows that REMOVE does not name.
    Participant.objects.filter(site__in=sites).delete()
    Site.objects.filter(id__in=sites).delete()
