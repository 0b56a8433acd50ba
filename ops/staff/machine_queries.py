"""What the pages about machines read: machines, offers, and people to choose from. Uses Django's connection."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from companion.machines.offers import LIST_NEWS, build_offer_view, news_parameters
from companion.models import Participant
from ops.database import fetch_all, fetch_one
from ops.supervision.machines import (
    READ_MACHINE,
    READ_MACHINES,
    MachineView,
    build_machine_view,
    build_offer_items,
    machines_parameters,
)

MAX_CHOICES = 30


@dataclass(frozen=True, kw_only=True, slots=True)
class PersonChoice:
    """A participant for whom a visit may be opened."""

    participant: int
    name: str
    is_shared: bool
    """Another person of the list has the same name, so the number stands beside it."""


def list_machines(sites: Collection[int]) -> list[MachineView]:
    """The machines of these sites that are not withdrawn, by site and name, at most `MAX_MACHINES`."""
    return [build_machine_view(row) for row in fetch_all(READ_MACHINES, machines_parameters(sites))]


def find_machine(machine: UUID, sites: Collection[int]) -> MachineView | None:
    """One of these machines, however many there are."""
    row = fetch_one(READ_MACHINE, {**machines_parameters(sites), "machine": machine})
    return None if row is None else build_machine_view(row)


def list_offers(
    sites: Collection[int], *, machine: UUID | None = None, participant: int | None = None
) -> list[dict[str, Any]]:
    """The offers of the last minutes at these sites, newest first; of one machine or one person."""
    items = build_offer_items(build_offer_view(row) for row in fetch_all(LIST_NEWS, news_parameters(sites)))
    return [
        item
        for item in items
        if machine in (None, UUID(item["machine"])) and participant in (None, item["participant"])
    ]


def list_choices(site: int, name: str, *, most: int = MAX_CHOICES) -> list[PersonChoice]:
    """The people of a site whose card opens, by name; those whose name contains these letters."""
    people = Participant.objects.filter(site=site, is_active=True)
    if name:
        people = people.filter(name__icontains=name)
    found = list(people.order_by("name", "id").values_list("id", "name")[:most])
    times = Counter(shown for _, shown in found)
    return [
        PersonChoice(participant=number, name=shown, is_shared=times[shown] > 1) for number, shown in found
    ]
