"""Deletes what staff typed beside the audit record, by age: pauses that are over, and reasons of operators.

Both are kept as long as the site keeps its record. A pause for everyone belongs to no site, so it is kept as long as
by the site that keeps its record longest.
"""

from collections.abc import Iterable
from datetime import datetime

from companion.models import Site
from companion.supervision.pauses import EVERYONE
from companion.supervision.states import PauseScope
from ops.database import fetch_count
from ops.personal_data.batches import delete_in_batches
from ops.personal_data.holds import HELD_PARTICIPANTS

# The oldest rows by an index, and only then their age.
_OLD_PAUSES = """
SELECT oldest.id FROM (
    SELECT id, ended_at FROM companion_staffpause
    WHERE scope = %(scope)s AND about = %(about)s AND ended_at IS NOT NULL
    ORDER BY scope, about, id LIMIT %(at_most)s
) oldest WHERE oldest.ended_at < %(before)s
"""
DELETE_PAUSES = f"DELETE FROM companion_staffpause WHERE id IN ({_OLD_PAUSES})"
COUNT_PAUSES = """
SELECT count(*) FROM companion_staffpause
WHERE scope = %(scope)s AND about = %(about)s AND ended_at IS NOT NULL AND ended_at < %(before)s
"""
_OLD_REASONS = f"""
ops_statedreason WHERE site_id = %(site)s AND until < %(before)s AND participant NOT IN ({HELD_PARTICIPANTS})
"""
DELETE_REASONS = f"""
DELETE FROM ops_statedreason
WHERE id IN (SELECT id FROM {_OLD_REASONS} ORDER BY site_id, until LIMIT %(at_most)s)
"""
COUNT_REASONS = f"SELECT count(*) FROM {_OLD_REASONS}"


def delete_of_person(participant: int, before: datetime, *, dry_run: bool) -> int:
    """Delete, or count, the pauses of a participant that ended before a moment."""
    return _change_pauses(PauseScope.PERSON, participant, before, dry_run=dry_run)


def delete_of_site(site: int, before: datetime, *, dry_run: bool) -> int:
    """Delete, or count, the pauses of a site and the reasons to read there that ended before a moment.

    Reasons about a participant under a safeguarding hold stay.
    """
    reasons = {"site": site, "before": before}
    return _change_pauses(PauseScope.SITE, site, before, dry_run=dry_run) + (
        fetch_count(COUNT_REASONS, reasons) if dry_run else delete_in_batches(DELETE_REASONS, reasons)
    )


def delete_of_everyone(befores: Iterable[datetime], *, dry_run: bool) -> int:
    """Delete, or count, pauses for everyone. `befores` are the limits of the sites; one without keeps all."""
    limits = list(befores)
    if not limits or len(limits) < Site.objects.count():
        return 0
    return _change_pauses(PauseScope.EVERYONE, EVERYONE, min(limits), dry_run=dry_run)


def _change_pauses(scope: PauseScope, about: int, before: datetime, *, dry_run: bool) -> int:
    facts = {"scope": scope.value, "about": about, "before": before}
    held = about if scope is PauseScope.PERSON else None
    return (
        fetch_count(COUNT_PAUSES, facts)
        if dry_run
        else delete_in_batches(DELETE_PAUSES, facts, unless_held=held)
    )
