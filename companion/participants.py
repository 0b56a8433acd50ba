"""Participants: looked up by name, and added with a card and a conversation. Uses Django's connection."""

from collections.abc import Callable

from django.db import transaction

from companion import cards
from companion.cards import Card
from companion.models import Conversation, Participant, Site


def find_participants(name: str, *, site: str | None = None, number: int | None = None) -> list[Participant]:
    """Return the participants of this name, in any case of letters, by id; also those whose card was withdrawn.

    `site` is a site's slug, `number` a participant's id.
    """
    people = Participant.objects.select_related("site").filter(name__iexact=name)
    if site is not None:
        people = people.filter(site__slug=site)
    if number is not None:
        people = people.filter(id=number)
    return list(people.order_by("id"))


def find_active_participant(name: str, *, site: str) -> Participant | None:
    """Return the participant of this name at this site whose card opens; None if there is none, or more than one."""
    active = [person for person in find_participants(name, site=site) if person.is_active]
    return active[0] if len(active) == 1 else None


def draw_handles(count: int, *, make: Callable[[], str] = cards.make_handle) -> list[str]:
    """Return so many handles, none of them of another card. Of 20,000 that `make` gives, some are often the same."""
    drawn: set[str] = set()
    while len(drawn) < count:
        fresh = {make() for _ in range(count - len(drawn))}
        taken = Participant.objects.filter(card_handle__in=fresh).values_list("card_handle", flat=True)
        drawn |= fresh - set(taken)
    return list(drawn)


@transaction.atomic
def add_participant(name: str, *, site: Site) -> Participant:
    """Create a participant with a card and a conversation."""
    [handle] = draw_handles(1)
    person = Participant.objects.create(name=name, site=site, card_handle=handle)
    Conversation.objects.create(participant=person)
    return person


def get_card(person: Participant) -> Card:
    """Return what is printed on a participant's card."""
    return cards.derive_card(person.card_handle, person.card_issue)
