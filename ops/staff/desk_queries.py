"""What the desk's pages read, by the sites that the reader may see: flags, pauses, names. No participant's text."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Q
from django.utils import timezone

from companion.models import Control, Flag, Participant, Site
from companion.supervision.flag_views import LIST_NOT_CLOSED, MAX_LISTED_PER_SITE, FlagView, build_view
from companion.supervision.pauses import MAX_LISTED as MAX_PAUSES
from companion.supervision.pauses import READ_OPEN, build_pause
from companion.supervision.states import FlagState, FlagTier, PauseScope
from ops.access import OPERATORS, StaffAccess
from ops.database import fetch_all
from ops.supervision.people import (
    READ_PEOPLE,
    READ_READERS,
    build_items,
    hide_name,
    parse_person,
    parse_readers,
    people_parameters,
)
from ops.supervision.reasons import LIST_IN_FORCE, ReasonView, build_reason
from ops.supervision.reasons import MAX_LISTED as MAX_REASONS
from ops.supervision.screens import LIST_COLLEAGUES, MAX_COLLEAGUES
from ops.supervision.search import FIND_PEOPLE, build_found, search_parameters

MAX_WATCHED = 30
SHIFT = timedelta(hours=12)
"""How far back the flags that one person has handled are counted."""


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


def list_flags(access: StaffAccess) -> list[FlagView]:
    """The flags that are not closed: unaccepted first, red before amber, oldest first. Without names at sites that are
    not the reader's own."""
    facts = {"sites": sorted(access.sites), "limit": MAX_LISTED_PER_SITE}
    views = [build_view(row) for row in fetch_all(LIST_NOT_CLOSED, facts)]
    shown = [view if view.site in access.supervised else replace(view, participant_name="") for view in views]
    return sorted(shown, key=lambda view: (view.state != FlagState.OPEN, view.tier != FlagTier.RED, view.id))


def list_people(access: StaffAccess, flags: Sequence[FlagView]) -> list[dict[str, Any]]:
    """Who is here, as in `people` frames: flagged people first, then by site and name. `flags`: of `list_flags`."""
    here = [parse_person(row) for row in fetch_all(READ_PEOPLE, people_parameters(access.sites))]
    items = build_items(
        here,
        flags=flags,
        open_pauses=[build_pause(row) for row in fetch_all(READ_OPEN, {"limit": MAX_PAUSES})],
        # A cursor of Django leaves JSON as text.
        readers=parse_readers((json.loads(row[0]),) for row in fetch_all(READ_READERS)),
        writing={},
    )
    shown = [item if item["site"] in access.supervised else hide_name(item) for item in items.values()]
    return sorted(shown, key=lambda item: {"red": 0, "amber": 1}.get(item["tier"], 2))


def list_pauses(access: StaffAccess) -> list[PauseRow]:
    """The pauses in force that concern the reader's sites, oldest first. Without names of people at sites that are not
    the reader's own."""
    open_pauses = [build_pause(row) for row in fetch_all(READ_OPEN, {"limit": MAX_PAUSES})][::-1]
    about = {
        scope: [pause.about for pause in open_pauses if pause.scope == scope]
        for scope in (PauseScope.PERSON, PauseScope.SITE)
    }
    people = Participant.objects.filter(pk__in=about[PauseScope.PERSON], site__in=access.sites)
    of_people = {
        person.pk: access.name_of(person.name, participant=person.pk, site=person.site_id)
        for person in people
    }
    paused_sites = Site.objects.filter(pk__in=access.sites.intersection(about[PauseScope.SITE]))
    of_sites = dict(paused_sites.values_list("pk", "name"))
    rows = []
    for pause in open_pauses:
        names = {PauseScope.PERSON: of_people, PauseScope.SITE: of_sites}.get(PauseScope(pause.scope))
        if names is not None and pause.about not in names:
            continue
        rows.append(
            PauseRow(
                id=pause.id,
                scope=pause.scope,
                about=pause.about,
                name=names[pause.about] if names else "",
                reason=pause.reason,
                by_name=pause.by_name,
                at=pause.at,
            )
        )
    return rows


def list_reasons(access: StaffAccess) -> list[ReasonView]:
    """Who reads conversations of the reader's own sites without supervising them, and why, the newest first."""
    rows = fetch_all(LIST_IN_FORCE, {"sites": sorted(access.supervised), "limit": MAX_REASONS})
    return [build_reason(row) for row in rows]


def list_watched(sites: Collection[int]) -> tuple[list[WatchedPerson], bool]:
    """People of these sites whose companion is quiet, or with whom a member of staff is writing, longest first, at most
    `MAX_WATCHED`; and whether there may be more."""
    rows = list(
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
        )[: MAX_WATCHED + 1]
    )
    now = timezone.now()
    watched = []
    for conversation, name, site_name, person_name, person_since, quiet_since, quiet_until in rows[
        :MAX_WATCHED
    ]:
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
    return sorted(watched, key=lambda one: one.since), len(rows) > MAX_WATCHED


def find_people(text: str, access: StaffAccess, *, is_whole_name: bool = False) -> list[dict[str, Any]]:
    """The people of the reader's own sites whose name, or whose site's name, begins with `text`, as at the socket.

    `is_whole_name`: only those who are called just so.
    """
    facts = search_parameters(text, sites=access.supervised, is_whole_name=is_whole_name)
    return [build_found(row) for row in fetch_all(FIND_PEOPLE, facts)]


def get_control(conversation: int) -> dict[str, Any]:
    """Who speaks in a conversation: {person, person_name, person_since, quiet_since, quiet_until}."""
    fields = ("person", "person_name", "person_since", "quiet_since", "quiet_until")
    row = Control.objects.filter(conversation=conversation).values(*fields).first()
    return dict(row) if row else dict.fromkeys(fields)


def list_receivers(access: StaffAccess) -> list[tuple[int, str]]:
    """(id, name) of the other active staff who see one of the reader's sites, by name."""
    facts = {"sites": sorted(access.sites), "operators": OPERATORS, "limit": MAX_COLLEAGUES}
    return [(user, name) for user, name, *_ in fetch_all(LIST_COLLEAGUES, facts) if user != access.user]


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
