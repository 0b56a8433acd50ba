"""How often people were shown in a year that they talk to a computer program, by site and without identifiers."""

from collections.abc import Collection
from dataclasses import dataclass

from companion.models import DisclosureCount, Site

SUPPRESSED_BELOW = 10
"""A smaller number could be about one person, so it is not told."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SiteDisclosures:
    """The showings of one site in one year. None: fewer than `SUPPRESSED_BELOW`, none included."""

    site: str
    name: str
    showings: int | None


def count_disclosures(year: int, *, sites: Collection[int] | None = None) -> list[SiteDisclosures]:
    """These sites, or every one, with their showings in a year (UTC), by short name."""
    kept = dict(DisclosureCount.objects.filter(year=year).values_list("site_id", "showings"))
    counted = (
        Site.objects.order_by("slug") if sites is None else Site.objects.filter(pk__in=sites).order_by("slug")
    )
    return [
        SiteDisclosures(
            site=site.slug,
            name=site.name,
            showings=count if (count := kept.get(site.pk, 0)) >= SUPPRESSED_BELOW else None,
        )
        for site in counted
    ]
