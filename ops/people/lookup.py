"""Finds the site, member of staff or participant that was named, or refuses with the reason. It never guesses."""

from collections.abc import Sequence

from django.contrib.auth.models import User

from companion import participants
from companion.models import Participant, Site
from ops import names
from ops.changes import ChangeRefused, ParticipantNotFound
from ops.models import SiteGroup
from ops.text import escape_controls


def get_site(slug: str) -> Site:
    """The site of this short name, locked until the transaction ends. Raises ChangeRefused."""
    found = Site.objects.select_for_update(no_key=True).filter(slug=_clean(slug)).first()
    if found is None:
        known = ", ".join(Site.objects.order_by("slug").values_list("slug", flat=True)) or "none"
        raise ChangeRefused(f"There is no site {escape_controls(slug)}. There are: {known}.")
    return found


def get_group(slug: str) -> SiteGroup:
    """The group of sites of this short name, locked until the transaction ends. Raises ChangeRefused."""
    found = SiteGroup.objects.select_for_update(no_key=True).filter(slug=_clean(slug)).first()
    if found is None:
        raise ChangeRefused(
            f"There is no group {escape_controls(slug)}. manage.py site group list names them."
        )
    return found


def check_site(slug: str) -> None:
    """Raise ChangeRefused unless there is a site of this short name. Locks nothing."""
    if not Site.objects.filter(slug=_clean(slug)).exists():
        raise ChangeRefused(f"There is no site {escape_controls(slug)}. manage.py site list names them.")


def get_only_site(slug: str | None) -> Site:
    """The site of this short name, or the only one. Raises ChangeRefused."""
    if slug is not None:
        return get_site(slug)
    slugs = list(Site.objects.order_by("slug").values_list("slug", flat=True))
    if len(slugs) != 1:
        raise ChangeRefused(f"Say at which site with --site. There are: {', '.join(slugs) or 'none'}.")
    return get_site(slugs[0])


def get_member(username: str) -> User:
    """The member of staff with this username, locked until the transaction ends. Raises ChangeRefused."""
    found = (
        User.objects.select_for_update(no_key=True).filter(username=_clean(username), is_staff=True).first()
    )
    if found is None:
        raise ChangeRefused(
            f"There is no member of staff who signs in as {escape_controls(username)}. manage.py staff list names them."
        )
    return found


def find_participants(name: str, *, site: str | None = None, number: int | None = None) -> list[Participant]:
    """The participants of this name, by number, including those who have left. Raises ChangeRefused."""
    # Earlier releases stored names as they were typed.
    spellings = {names.clean_name(name), name}
    site = None if site is None else _clean(site)
    found = [
        person
        for spelling in spellings
        for person in participants.find_participants(spelling, site=site, number=number)
    ]
    return sorted(dict.fromkeys(found), key=lambda person: person.pk)


def choose_participant(
    found: Sequence[Participant], name: str, *, is_active: bool | None = None
) -> Participant:
    """The only one found; with `is_active`, the only one whose card opens, or does not, if there is such a one.

    Raises ParticipantNotFound for none and ChangeRefused for several.
    """
    matching = [person for person in found if is_active in (None, person.is_active)] or found
    if not matching:
        raise ParticipantNotFound(f"There is no participant named {escape_controls(names.clean_name(name))}.")
    if len(matching) > 1:
        listed = ", ".join(f"number {person.pk} at {person.site.slug}" for person in matching)
        raise ChangeRefused(
            f"There are {len(matching)} participants named {escape_controls(matching[0].name)}: {listed}. "
            "Say which one with --site or --number."
        )
    return matching[0]


def lock_participant(person: Participant) -> Participant:
    """The participant's current row, locked until the transaction ends."""
    locked = Participant.objects.select_for_update(of=("self",), no_key=True)
    return locked.select_related("site").get(pk=person.pk)


def _clean(word: str) -> str:
    # Older rows may have names that the rules for new ones refuse. Refuse only what cannot be stored.
    return names.clean_name(word, whose="What was typed")
