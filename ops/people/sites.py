"""Sites: add, rename, open, close, and set the regions their people's words may go to. Every change is recorded."""

from collections.abc import Collection, Sequence

from django.db import IntegrityError, transaction

from companion.models import Participant, Site
from companion.visits.leaving import end_visits_of
from ops import audit, names
from ops.changes import ChangeRefused, ChangeResult
from ops.people import lookup
from ops.people.helplines import MEND, list_missing, refuse_without_helpline
from ops.text import escape_controls


@transaction.atomic
def add_site(slug: str, name: str, *, by: str) -> ChangeResult:
    """A new site, without participants, and closed until it has a helpline."""
    title, short = names.clean_name(name, whose="The name of a site"), names.clean_slug(slug)
    try:
        with transaction.atomic():
            site, is_new = Site.objects.get_or_create(slug=short, defaults={"name": title, "is_open": False})
    except IntegrityError:
        raise ChangeRefused(f"{short} is being added by another command at this moment. Try again.") from None
    if not is_new and site.name != title:
        raise ChangeRefused(
            f"{short} is {escape_controls(site.name)} already. manage.py site rename gives it another name."
        )
    if not is_new:
        return ChangeResult(
            sentence=f"{escape_controls(site.name)} ({short}) was there before.", is_new=False
        )
    _record(audit.ADDED_SITE, site, by=by)
    return ChangeResult(
        sentence=f"{escape_controls(site.name)} ({short}) was added and is closed. It opens once it has a helpline: "
        f"{MEND.format(short)}, then manage.py site open {short} --by WHO. No member of staff supervises it yet."
    )


@transaction.atomic
def rename_site(slug: str, name: str, *, by: str) -> ChangeResult:
    """Give a site another display name; the short name stays."""
    title, site = names.clean_name(name, whose="The name of a site"), lookup.get_site(slug)
    if site.name == title:
        return ChangeResult(sentence=f"{site.slug} had this name before.", is_new=False)
    site.name = title
    site.save(update_fields=["name"])
    _record(audit.RENAMED_SITE, site, by=by)
    return ChangeResult(sentence=f"{site.slug} is now {escape_controls(title)}.")


@transaction.atomic
def open_site(slug: str, *, by: str) -> ChangeResult:
    """Its cards work again. Visits that ended stay ended. Refused without a helpline."""
    site = lookup.get_site(slug)
    if site.is_open:
        return ChangeResult(sentence=f"{escape_controls(site.name)} was open before.", is_new=False)
    refuse_without_helpline(site)
    # A visit may have begun while the site was being closed. It must not become usable now.
    _end_visits(site)
    site.is_open = True
    site.save(update_fields=["is_open"])
    _record(audit.OPENED_SITE, site, by=by)
    return ChangeResult(sentence=f"{escape_controls(site.name)} is open: its cards work.")


@transaction.atomic
def close_site(slug: str, *, by: str) -> ChangeResult:
    """End every visit there. Its cards lead to the page that says the chat is closed."""
    site = lookup.get_site(slug)
    if not site.is_open:
        return ChangeResult(sentence=f"{escape_controls(site.name)} was closed before.", is_new=False)
    site.is_open = False
    site.save(update_fields=["is_open"])
    ended = _end_visits(site)
    _record(audit.CLOSED_SITE, site, f"visits ended {ended}", by=by)
    return ChangeResult(
        sentence=f"{escape_controls(site.name)} is closed; visits ended: {ended}. "
        "Its people are told so by their cards."
    )


@transaction.atomic
def set_regions(slug: str, regions: Sequence[str], *, known: Collection[str], by: str) -> ChangeResult:
    """Allow only lanes in these regions for its people's words, from the next turn on. An empty list allows any."""
    site = lookup.get_site(slug)
    wanted = names.clean_regions(regions, known=known)
    where = ", ".join(wanted) or "any region"
    if sorted(site.regions) == wanted:
        return ChangeResult(
            sentence=f"Words of {escape_controls(site.name)} went to {where} before.", is_new=False
        )
    site.regions = wanted
    site.save(update_fields=["regions"])
    _record(audit.SET_REGIONS, site, f"regions {', '.join(wanted) or 'any'}", by=by)
    return ChangeResult(
        sentence=f"Words of {escape_controls(site.name)} go to {where}, from the next turn on."
    )


def list_sites() -> list[str]:
    """Every site, a line each."""
    return [
        f"{site.slug}  {escape_controls(site.name)}  {'open' if site.is_open else 'closed'}  "
        f"regions: {', '.join(site.regions) or 'any'}  helpline: {_format_helpline(site)}  "
        f"participants: {site.participants.filter(is_active=True).count()}"
        for site in Site.objects.order_by("slug")
    ]


def _format_helpline(site: Site) -> str:
    if list_missing(site):
        return "none"
    return f"{site.helpline_voice}, text {site.helpline_text}, review by {site.helpline_review_by}"


def _end_visits(site: Site) -> int:
    return end_visits_of(Participant.objects.filter(site=site).values_list("id", flat=True))


def _record(what: str, site: Site, note: str = "", *, by: str) -> None:
    audit.record(what, who=by, note=audit.format_command_note(f"site {site.pk}", note))
