"""For how long each site keeps what: set in days, or for ever."""

from collections.abc import Mapping

from django.db import transaction

from companion.models import Site
from ops import audit
from ops.changes import ChangeRefused, ChangeResult
from ops.people import lookup

KEPT = ("messages", "flags", "visits", "record")
"""What a site keeps for a time of its own. The field of `Site` is keep_X_days."""
MIN_RECORD_DAYS = 90
"""The database refuses to delete younger entries of the audit record."""
MAX_DAYS = 36_500


def check_retention(slug: str, days: Mapping[str, int | None]) -> Site:
    """The site, locked until the transaction ends, if it can keep what is named for so long. Raises ChangeRefused."""
    for what, length in days.items():
        least = MIN_RECORD_DAYS if what == "record" else 1
        if length is not None and not least <= length <= MAX_DAYS:
            raise ChangeRefused(f"The days for {what} must be {least} to {MAX_DAYS:,}, or forever.")
    return _set_days(lookup.get_site(slug), days)


@transaction.atomic
def set_retention(slug: str, days: Mapping[str, int | None], *, by: str) -> ChangeResult:
    """Set for how many days a site keeps what is named; None keeps it for ever. Raises ChangeRefused."""
    site = check_retention(slug, days)
    site.save(update_fields=[f"keep_{what}_days" for what in days])
    note = ", ".join(f"{what} {_format_days(length)}" for what, length in days.items())
    audit.record(audit.SET_RETENTION, who=by, note=audit.format_command_note(f"site {site.pk}, {note}"))
    return ChangeResult(sentence=f"{describe_retention(site)} It applies from tonight.")


def describe_retention(site: Site) -> str:
    """One sentence: for how long a site keeps what."""
    kept = ", ".join(f"{what} {_format_days(getattr(site, f'keep_{what}_days'))}" for what in KEPT)
    return f"{site.slug} keeps {kept}."


def _set_days(site: Site, days: Mapping[str, int | None]) -> Site:
    for what, length in days.items():
        setattr(site, f"keep_{what}_days", length)
    return site


def _format_days(days: int | None) -> str:
    return "for ever" if days is None else f"{days} days"
