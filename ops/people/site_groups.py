"""Groups of sites: add, include and exclude sites, remove. Every change is recorded and takes effect at once.

Who supervises a group supervises each of its sites: the view `ops_supervised` says so. See `ops.people.staff`.
"""

from django.db import IntegrityError, transaction

from companion.models import Site
from ops import audit, names
from ops.changes import ChangeRefused, ChangeResult
from ops.database import fetch_count
from ops.models import GroupedSite, SiteGroup
from ops.people import lookup
from ops.text import escape_controls

COUNT_KEPT = """
SELECT count(*) FROM ops_groupsupervision m JOIN ops_supervised v ON v.user_id = m.user_id
WHERE m.group_id = %s AND v.site_id = %s
"""
"""Staff of a group who supervise a site. Takes the ids of both."""


@transaction.atomic
def add_group(slug: str, name: str, *, by: str) -> ChangeResult:
    """A new group, without sites and staff."""
    title = names.clean_name(name, whose="The name of a group")
    short = names.clean_slug(slug, whose="a group")
    try:
        with transaction.atomic():
            group, is_new = SiteGroup.objects.get_or_create(slug=short, defaults={"name": title})
    except IntegrityError:
        raise ChangeRefused(f"{short} is being added by another command at this moment. Try again.") from None
    if not is_new and group.name != title:
        raise ChangeRefused(f"{short} is {escape_controls(group.name)} already. Choose another short name.")
    if not is_new:
        return ChangeResult(sentence=f"{escape_controls(title)} ({short}) was there before.", is_new=False)
    _record(audit.ADDED_GROUP, group, by=by)
    return ChangeResult(
        sentence=f"{escape_controls(title)} ({short}) was added. Next: manage.py site group include {short} SITE."
    )


@transaction.atomic
def remove_group(slug: str, *, by: str) -> ChangeResult:
    """Remove a group, with what it gave. Refused while a member of staff has it."""
    group = lookup.get_group(slug)
    if count := group.supervisions.count():
        raise ChangeRefused(
            f"{count} members of staff have the group {group.slug}: manage.py staff no-longer-group first."
        )
    _record(audit.REMOVED_GROUP, group, f"sites {group.grouped.count()}", by=by)
    group.delete()
    return ChangeResult(sentence=f"{escape_controls(group.name)} ({group.slug}) was removed. Its sites stay.")


@transaction.atomic
def include_site(slug: str, site_slug: str, *, by: str) -> ChangeResult:
    """Put a site into a group: the group's staff supervise it from now on."""
    group, site = lookup.get_group(slug), lookup.get_site(site_slug)
    _, is_new = GroupedSite.objects.get_or_create(group=group, site=site)
    sentence = f"{escape_controls(site.name)} is in the group {group.slug}"
    if not is_new:
        return ChangeResult(sentence=f"{sentence}, and was before.", is_new=False)
    _record(audit.INCLUDED_SITE, group, f"site {site.pk}", by=by)
    return ChangeResult(sentence=f"{sentence}. Staff who supervise it by the group: {_count_staff(group)}.")


@transaction.atomic
def exclude_site(slug: str, site_slug: str, *, by: str) -> ChangeResult:
    """Take a site out of a group: its staff supervise the site no longer, unless they were given it otherwise."""
    group, site = lookup.get_group(slug), lookup.get_site(site_slug)
    gone, _ = GroupedSite.objects.filter(group=group, site=site).delete()
    sentence = f"{escape_controls(site.name)} is in the group {group.slug} no longer"
    if not gone:
        return ChangeResult(
            sentence=f"{escape_controls(site.name)} was not in the group {group.slug}.", is_new=False
        )
    _record(audit.EXCLUDED_SITE, group, f"site {site.pk}", by=by)
    kept = fetch_count(COUNT_KEPT, [group.pk, site.pk])
    also = f", {kept} of whom were given it otherwise and still see it" if kept else ""
    return ChangeResult(
        sentence=f"{sentence}. Staff who supervised it by the group: {_count_staff(group)}{also}."
    )


def list_groups() -> list[str]:
    """Every group with its sites, a line each."""
    return [_line(group) for group in SiteGroup.objects.order_by("slug")]


def _line(group: SiteGroup) -> str:
    sites = Site.objects.filter(grouped__group=group).order_by("slug").values_list("slug", flat=True)
    return (
        f"{group.slug}  {escape_controls(group.name)}  sites: {', '.join(sites) or 'none'}  "
        f"staff: {_count_staff(group)}"
    )


def _count_staff(group: SiteGroup) -> int:
    return group.supervisions.count()


def _record(what: str, group: SiteGroup, note: str = "", *, by: str) -> None:
    audit.record(what, who=by, note=audit.format_command_note(f"group {group.pk}", note))
