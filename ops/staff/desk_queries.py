"""What the desk's pages read, by the sites that the reader may see: flags, pauses, names. No participant's text."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Count, Q
from django.utils import timezone

from companion.models import Control, Flag, Participant, Site, StaffPause
from companion.supervision.states import FlagState, PauseScope
from ops.access import OPERATORS

MAX_FLAGS = 100
MAX_FOUND = 30
SHIFT = timedelta(hours=12)
"""How far back the flags that one person has handled are counted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FlagRow:
    """A flag in a list."""

    id: int
    tier: str
    kind: str
    state: str
    conversation: int | None
    participant: int
    name: str
    site: int
    site_name: str
    opened_at: datetime
    count: int
    owner: int | None
    owner_name: str
    handed_to: int | None
    handed_to_name: str
    about_staff: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class PauseRow:
    """A pause in force. `name` is that of the person or the site; empty for everyone."""

    id: int
    scope: str
    about: int
    name: str
    reason: str
    by_name: str
    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchedPerson:
    """A person whom staff watch: `person_name` has taken over, or, where it is empty, the companion is quiet."""

    conversation: int
    name: str
    site_name: str
    person_name: str
    since: datetime
    quiet_until: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundPerson:
    """A participant found by name. `is_active`: the card opens."""

    conversation: int
    name: str
    site_name: str
    is_active: bool


def list_flags(sites: Collection[int]) -> list[FlagRow]:
    """The flags of these sites that are not closed: red before amber, unaccepted before accepted, oldest first."""
    flags = (
        Flag.objects.filter(site__in=sites)
        .exclude(state=FlagState.CLOSED)
        .select_related("site")
        .order_by("id")[:MAX_FLAGS]
    )
    return sort_flags(_make_rows(list(flags)))


def sort_flags(rows: list[FlagRow]) -> list[FlagRow]:
    """Unaccepted before accepted, red before amber, oldest first."""
    return sorted(rows, key=lambda row: (row.state != FlagState.OPEN, row.tier != "red", row.id))


def list_pauses(sites: Collection[int]) -> list[PauseRow]:
    """The pauses in force that concern these sites, oldest first."""
    people = Participant.objects.filter(site__in=sites)
    open_pauses = StaffPause.objects.filter(ended_at=None).order_by("id")
    of_people = {
        person.pk: person.name
        for person in people.filter(
            pk__in=[one.about for one in open_pauses if one.scope == PauseScope.PERSON]
        )
    }
    of_sites = dict(Site.objects.filter(pk__in=sites).values_list("pk", "name"))
    rows = []
    for pause in open_pauses:
        names = {PauseScope.PERSON: of_people, PauseScope.SITE: of_sites}.get(PauseScope(pause.scope))
        if names is not None and pause.about not in names:
            continue
        rows.append(
            PauseRow(
                id=pause.pk,
                scope=pause.scope,
                about=pause.about,
                name=names[pause.about] if names else "",
                reason=pause.reason,
                by_name=pause.by_name,
                at=pause.at,
            )
        )
    return rows


def list_watched(sites: Collection[int]) -> list[WatchedPerson]:
    """People of these sites whose companion is quiet, or with whom a member of staff is writing, longest first."""
    rows = (
        Control.objects.filter(
            Q(person__isnull=False) | Q(quiet_since__isnull=False), conversation__participant__site__in=sites
        )
        .order_by("conversation")
        .values_list(
            "conversation",
            "conversation__participant__name",
            "conversation__participant__site__name",
            "person_name",
            "person_since",
            "quiet_since",
            "quiet_until",
        )[:MAX_FOUND]
    )
    now = timezone.now()
    watched = []
    for conversation, name, site_name, person_name, person_since, quiet_since, quiet_until in rows:
        is_quiet = quiet_since is not None and (quiet_until is None or quiet_until > now)
        since = person_since or (quiet_since if is_quiet else None)
        if since is None:
            continue
        watched.append(
            WatchedPerson(
                conversation=conversation,
                name=name,
                site_name=site_name,
                person_name=person_name,
                since=since,
                quiet_until=quiet_until if is_quiet else None,
            )
        )
    return sorted(watched, key=lambda one: one.since)


def find_people(name: str, *, sites: Collection[int]) -> list[FoundPerson]:
    """Participants of these sites whose name contains these letters, by name."""
    found = (
        Participant.objects.filter(site__in=sites, name__icontains=name, conversation__isnull=False)
        .order_by("name", "id")
        .values_list("conversation__id", "name", "site__name", "is_active")[:MAX_FOUND]
    )
    return [
        FoundPerson(conversation=row[0], name=row[1], site_name=row[2], is_active=row[3]) for row in found
    ]


def find_ids_by_name(name: str, *, sites: Collection[int] | None) -> tuple[int, ...]:
    """The ids of the participants of this name, in any case of letters; of any site with `sites` None. At most 30."""
    people = Participant.objects.filter(name__iexact=name)
    if sites is not None:
        people = people.filter(site__in=sites)
    return tuple(people.order_by("id").values_list("id", flat=True)[:MAX_FOUND])


def get_control(conversation: int) -> dict[str, Any]:
    """Who speaks in a conversation: {person, person_name, person_since, quiet_since, quiet_until}."""
    fields = ("person", "person_name", "person_since", "quiet_since", "quiet_until")
    row = Control.objects.filter(conversation=conversation).values(*fields).first()
    return dict(row) if row else dict.fromkeys(fields)


def list_colleagues(sites: Collection[int], *, but: int) -> list[tuple[int, str]]:
    """(id, name) of the other active staff who see one of these sites, by name."""
    sees = Q(supervisions__site__in=sites) | Q(groups__name=OPERATORS) | Q(is_superuser=True)
    users = User.objects.filter(sees, is_active=True, is_staff=True).exclude(pk=but).distinct()
    return sorted(((user.pk, staff_name(user)) for user in users), key=lambda one: one[1].casefold())


def count_handled(sites: Collection[int], *, now: datetime | None = None) -> list[tuple[str, int]]:
    """(name, flags accepted in the last twelve hours) of each member of staff at these sites, most first."""
    since = (now or timezone.now()) - SHIFT
    counted = (
        Flag.objects.filter(site__in=sites, opened_at__gte=since - SHIFT, accepted_at__gte=since)
        .values("owner_name")
        .annotate(flags=Count("id"))
        .order_by("-flags", "owner_name")
    )
    return [(row["owner_name"], row["flags"]) for row in counted]


def staff_name(user: Any) -> str:
    """The name of a member of staff that participants and colleagues read."""
    return str(user.get_full_name() or user.get_username())


def _make_rows(flags: list[Flag]) -> list[FlagRow]:
    people = dict(
        Participant.objects.filter(pk__in={flag.participant for flag in flags}).values_list("pk", "name")
    )
    return [
        FlagRow(
            id=flag.pk,
            tier=flag.tier,
            kind=flag.kind,
            state=flag.state,
            conversation=flag.conversation_id,
            participant=flag.participant,
            name=people.get(flag.participant, ""),
            site=flag.site_id,
            site_name=flag.site.name,
            opened_at=flag.opened_at,
            count=flag.count,
            owner=flag.owner,
            owner_name=flag.owner_name,
            handed_to=flag.handed_to,
            handed_to_name=flag.handed_to_name,
            about_staff=flag.about_staff,
        )
        for flag in flags
    ]
