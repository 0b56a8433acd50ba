"""Participants for a load test: at a site of their own, signed in with their cards, and taken away afterwards."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.db import connection, transaction

from companion import access
from companion.models import Participant, Site
from companion.sessions import SessionStore, hash_session_key

PREFIX = "load-test-"
AT_ONCE = 100
"""How many people are made in one transaction."""

# In the order in which rows lean on one another. One statement for each table: row by row it would take minutes.
REMOVE = (
    """DELETE FROM companion_spoken s USING companion_turn t, companion_conversation c, companion_participant p
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
    """The people of one load test, with the session cookie of each."""

    site: int
    cookies: Sequence[str]


def invite(count: int, *, came: Callable[[int], None]) -> Guests:
    """So many new people at a new site; `came` is told how many are there already."""
    site = Site.objects.create(slug=f"{PREFIX}{secrets.token_hex(4)}", name="Load test")
    cookies: list[str] = []
    while len(cookies) < count:
        with transaction.atomic():
            for number in range(len(cookies) + 1, min(len(cookies) + AT_ONCE, count) + 1):
                cookies.append(access.create_session(access.add_participant(f"Person {number}", site=site)))
        came(len(cookies))
    return Guests(site=site.pk, cookies=cookies)


def see_off(guests: Guests) -> None:
    """Take these people away, with everything they said and were told."""
    SessionStore.get_model_class().objects.filter(
        session_key__in=[hash_session_key(key) for key in guests.cookies]
    ).delete()
    _remove([guests.site])


def clear_leftovers() -> int:
    """Take away the people of load tests that were killed. Returns how many sites there were."""
    left = list(Site.objects.filter(slug__startswith=PREFIX).values_list("id", flat=True))
    if left:
        _remove(left)
    return len(left)


@transaction.atomic
def _remove(sites: list[int]) -> None:
    with connection.cursor() as cursor:
        for statement in REMOVE:
            cursor.execute(statement, [sites])
    # What else may ever lean on a person goes with them by the models' own rules.
    Participant.objects.filter(site__in=sites).delete()
    Site.objects.filter(id__in=sites).delete()
