"""Sites: added, renamed, opened, closed, and the regions that words of their people may go to. All on record."""

from collections.abc import Collection, Sequence

from django.db import IntegrityError, transaction

from companion.access import end_visits
from companion.models import Participant, Site
from ops import audit, names
from ops.changes import Done, Refused
from ops.people import finding
from ops.text import escape_controls


@transaction.atomic
def added(slug: str, name: str, *, by: str) -> Done:
    """A new site, open, with nobody in it."""
    title, short = names.name(name, whose="The name of a site"), names.slug(slug)
    try:
        with transaction.atomic():
            site, is_new = Site.objects.get_or_create(slug=short, defaults={"name": title})
    except IntegrityError:
        raise Refused(f"Somebody else adds {short} at this moment. Ask again.") from None
    if not is_new and site.name != title:
        raise Refused(
            f"{short} is {escape_controls(site.name)} already. manage.py site rename gives it another name."
        )
    if not is_new:
        return Done(sentence=f"{escape_controls(site.name)} ({short}) was there before.", is_new=False)
    _record(audit.ADDED_SITE, site, by=by)
    return Done(
        sentence=f"{escape_controls(site.name)} ({short}) was added and is open. Nobody supervises it yet."
    )


@transaction.atomic
def renamed(slug: str, name: str, *, by: str) -> Done:
    """Another name for people; the short name stays."""
    title, site = names.name(name, whose="The name of a site"), finding.site(slug)
    if site.name == title:
        return Done(sentence=f"{site.slug} had this name before.", is_new=False)
    site.name = title
    site.save(update_fields=["name"])
    _record(audit.RENAMED_SITE, site, by=by)
    return Done(sentence=f"{site.slug} is now {escape_controls(title)}.")


@transaction.atomic
def opened(slug: str, *, by: str) -> Done:
    """Its cards work again. Nobody is signed in by that."""
    site = finding.site(slug)
    if site.is_open:
        return Done(sentence=f"{escape_controls(site.name)} was open before.", is_new=False)
    # Whoever came in at the moment of closing had no page, and is not to have one now.
    _end_visits(site)
    site.is_open = True
    site.save(update_fields=["is_open"])
    _record(audit.OPENED_SITE, site, by=by)
    return Done(sentence=f"{escape_controls(site.name)} is open: its cards work.")


@transaction.atomic
def closed(slug: str, *, by: str) -> Done:
    """Every visit there ends now, and its cards lead to the page that says the chat is closed."""
    site = finding.site(slug)
    if not site.is_open:
        return Done(sentence=f"{escape_controls(site.name)} was closed before.", is_new=False)
    site.is_open = False
    site.save(update_fields=["is_open"])
    ended = _end_visits(site)
    _record(audit.CLOSED_SITE, site, f"visits ended {ended}", by=by)
    return Done(
        sentence=f"{escape_controls(site.name)} is closed; visits ended: {ended}. "
        "Its people are told so by their cards."
    )


@transaction.atomic
def confined(slug: str, regions: Sequence[str], *, known: Collection[str], by: str) -> Done:
    """The only regions whose lanes may see what its people write, from the next turn on; none named: any."""
    site = finding.site(slug)
    wanted = names.regions(regions, known=known)
    where = ", ".join(wanted) or "any region"
    if sorted(site.regions) == wanted:
        return Done(sentence=f"Words of {escape_controls(site.name)} went to {where} before.", is_new=False)
    site.regions = wanted
    site.save(update_fields=["regions"])
    _record(audit.SET_REGIONS, site, f"regions {', '.join(wanted) or 'any'}", by=by)
    return Done(sentence=f"Words of {escape_controls(site.name)} go to {where}, from the next turn on.")


def listed() -> list[str]:
    """Every site, a line each."""
    return [
        f"{site.slug}  {escape_controls(site.name)}  {'open' if site.is_open else 'closed'}  "
        f"regions: {', '.join(site.regions) or 'any'}  "
        f"participants: {site.participants.filter(is_active=True).count()}"
        for site in Site.objects.order_by("slug")
    ]


def _end_visits(site: Site) -> int:
    return end_visits(Participant.objects.filter(site=site).values_list("id", flat=True))


def _record(what: str, site: Site, note: str = "", *, by: str) -> None:
    facts = ", ".join(part for part in (f"site {site.pk}", note) if part)
    audit.record(what, who=by, note=audit.by_command(facts))
