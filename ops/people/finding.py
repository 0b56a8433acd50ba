"""Finds the one that is meant, or says why it cannot: nobody is guessed at."""

from collections.abc import Sequence

from django.contrib.auth.models import User

from companion.access import find_participants
from companion.models import Participant, Site
from ops import names
from ops.changes import NobodyNamed, Refused
from ops.text import escape_controls


def site(slug: str) -> Site:
    """The site of this short name, held until the transaction ends. Raises Refused."""
    found = Site.objects.select_for_update(no_key=True).filter(slug=_typed(slug)).first()
    if found is None:
        known = ", ".join(Site.objects.order_by("slug").values_list("slug", flat=True)) or "none"
        raise Refused(f"There is no site {escape_controls(slug)}. There are: {known}.")
    return found


def the_site(slug: str | None) -> Site:
    """The site of this short name, or the only one. Raises Refused."""
    if slug is not None:
        return site(slug)
    slugs = list(Site.objects.order_by("slug").values_list("slug", flat=True))
    if len(slugs) != 1:
        raise Refused(f"Say at which site with --site. There are: {', '.join(slugs) or 'none'}.")
    return site(slugs[0])


def member(username: str) -> User:
    """The member of staff who signs in with this, held until the transaction ends. Raises Refused."""
    found = (
        User.objects.select_for_update(no_key=True).filter(username=_typed(username), is_staff=True).first()
    )
    if found is None:
        raise Refused(
            f"There is no member of staff who signs in as {escape_controls(username)}. manage.py staff list names them."
        )
    return found


def people(name: str, *, site: str | None = None, number: int | None = None) -> list[Participant]:
    """The participants of this name, those who have left too, by number. Raises Refused."""
    site = None if site is None else _typed(site)
    return find_participants(names.name(name), site=site, number=number)


def person(found: Sequence[Participant], name: str, *, is_active: bool) -> Participant:
    """The one of them whose card opens, or does not, held until the transaction ends; else the only one there is.

    Raises Refused for none and for several.
    """
    meant = [one for one in found if one.is_active == is_active] or found
    if not meant:
        raise NobodyNamed(f"There is no participant named {escape_controls(names.name(name))}.")
    if len(meant) > 1:
        listed = ", ".join(f"number {one.pk} at {one.site.slug}" for one in meant)
        raise Refused(
            f"There are several participants named {escape_controls(meant[0].name)}: {listed}. "
            "Say which one with --site or --number."
        )
    return (
        Participant.objects.select_for_update(of=("self",), no_key=True)
        .select_related("site")
        .get(pk=meant[0].pk)
    )


def _typed(word: str) -> str:
    # Older rows may be called what no new one may be; only what cannot be stored at all is refused here.
    return names.name(word, whose="What was typed")
