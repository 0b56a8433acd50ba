"""Deletes what is older than a site keeps it: messages, closed flags, ended visits with offers of visits, entries of
the audit record with pauses that are over and stated reasons.

Each run deletes a bounded number of rows in each transaction, the oldest first, and goes on until a run finds none. A
participant under a safeguarding hold is left out. A flag that is not closed is never deleted.
"""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from companion.models import Site
from ops import audit
from ops.changes import ChangeRefused, ChangeResult
from ops.people import lookup
from ops.personal_data import staff_records
from ops.personal_data.holds import HELD_PARTICIPANTS
from ops.personal_data.turn_deletion import WALK_INDEX, delete_oldest_turns

log = logging.getLogger(__name__)

ROWS_AT_ONCE = 500
MIN_RECORD_DAYS = 90
"""The database refuses to delete younger entries of the audit record."""
MAX_DAYS = 36_500
WHO = "the service"

KEPT = ("messages", "flags", "visits", "record")
"""What a site keeps for a time of its own. The field of `Site` is keep_X_days."""

PEOPLE = f"""
SELECT p.id, c.id FROM companion_participant p JOIN companion_conversation c ON c.participant_id = p.id
WHERE p.site_id = %(site)s AND p.id NOT IN ({HELD_PARTICIPANTS}) ORDER BY p.id
"""

# Each takes the oldest rows by an index, and only then looks at their age.
DELETE_ENTRIES = """
DELETE FROM companion_transcriptentry WHERE id IN (
    SELECT oldest.id FROM (
        SELECT id, at FROM companion_transcriptentry
        WHERE conversation_id = %(conversation)s ORDER BY id LIMIT %(at_most)s
    ) oldest WHERE oldest.at < %(before)s)
"""
DELETE_VISITS = """
DELETE FROM companion_visit WHERE id IN (
    SELECT oldest.id FROM (
        SELECT id, coalesce(ended_at, expires_at) AS over_at FROM companion_visit
        WHERE participant_id = %(participant)s ORDER BY expires_at LIMIT %(at_most)s
    ) oldest WHERE oldest.over_at < %(before)s)
"""
# Who asked for whom on which machine is kept as long as the visits that came of it.
DELETE_OFFERS = """
DELETE FROM companion_visitoffer WHERE id IN (
    SELECT id FROM companion_visitoffer
    WHERE participant_id = %(participant)s AND coalesce(answered_at, expires_at) < %(before)s LIMIT %(at_most)s)
"""
CLOSED_FLAGS = """
SELECT oldest.id FROM (
    SELECT id, state, closed_at FROM companion_flag
    WHERE conversation_id = %(conversation)s ORDER BY id LIMIT %(at_most)s
) oldest WHERE oldest.state = 'closed' AND oldest.closed_at < %(before)s
"""
DELETE_STEPS = "DELETE FROM companion_flagstep WHERE flag_id = ANY(%s)"
DELETE_FLAGS = "DELETE FROM companion_flag WHERE id = ANY(%s)"
# The trigger of the table lets these through under this setting of the transaction.
ALLOW_RECORD = "SELECT set_config('companion.retention', 'on', true)"
DELETE_RECORD = """
DELETE FROM ops_auditentry WHERE id IN (
    SELECT oldest.id FROM (
        SELECT id, at FROM ops_auditentry WHERE about = %(participant)s ORDER BY id LIMIT %(at_most)s
    ) oldest WHERE oldest.at < %(before)s)
"""
# What a run would delete. A count reads every row that would go, and is asked for by a person alone.
COUNTS = {
    "messages": "SELECT count(*) FROM companion_turn WHERE conversation_id = %(conversation)s "
    "AND closed_at < %(before)s",
    "flags": "SELECT count(*) FROM companion_flag WHERE conversation_id = %(conversation)s AND state = 'closed' "
    "AND closed_at < %(before)s",
    "visits": "SELECT (SELECT count(*) FROM companion_visit WHERE participant_id = %(participant)s "
    "AND coalesce(ended_at, expires_at) < %(before)s) + (SELECT count(*) FROM companion_visitoffer "
    "WHERE participant_id = %(participant)s AND coalesce(answered_at, expires_at) < %(before)s)",
    "record": "SELECT count(*) FROM ops_auditentry WHERE about = %(participant)s AND at < %(before)s",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class SiteDeletion:
    """How many rows a site's retention has deleted, or would delete, by what they are."""

    site: str
    counts: dict[str, int]


def set_retention(slug: str, days: dict[str, int | None], *, by: str) -> ChangeResult:
    """Set for how many days a site keeps what is named; None keeps it for ever. Raises ChangeRefused."""
    for what, length in days.items():
        least = MIN_RECORD_DAYS if what == "record" else 1
        if length is not None and not least <= length <= MAX_DAYS:
            raise ChangeRefused(f"The days for {what} must be {least} to {MAX_DAYS:,}, or forever.")
    with transaction.atomic():
        site = lookup.get_site(slug)
        fields = [f"keep_{what}_days" for what in days]
        for field, length in zip(fields, days.values(), strict=True):
            setattr(site, field, length)
        site.save(update_fields=fields)
        note = ", ".join(f"{what} {_format_days(length)}" for what, length in days.items())
        audit.record(audit.SET_RETENTION, who=by, note=audit.format_command_note(f"site {site.pk}, {note}"))
    return ChangeResult(sentence=f"{describe_retention(site)} It applies from tonight.")


def describe_retention(site: Site) -> str:
    """One sentence: for how long a site keeps what."""
    kept = ", ".join(f"{what} {_format_days(getattr(site, f'keep_{what}_days'))}" for what in KEPT)
    return f"{site.slug} keeps {kept}."


def apply_retention(*, dry_run: bool = False) -> list[SiteDeletion]:
    """Delete what every site no longer keeps, or count it. Sites without a time of their own are left out."""
    found, record_limits = [], []
    for site in Site.objects.order_by("slug"):
        limits = {
            what: timezone.now() - timedelta(days=days)
            for what in KEPT
            if (days := getattr(site, f"keep_{what}_days")) is not None
        }
        if not limits:
            continue
        counts, record_limit = dict.fromkeys(limits, 0), limits.get("record")
        for participant, conversation in _list_people(site):
            of_person = {"participant": participant, "conversation": conversation}
            for what, before in limits.items():
                change = _count if dry_run else _delete_all
                counts[what] += change(what, {**of_person, "before": before})
            if record_limit is not None:
                counts["record"] += staff_records.delete_of_person(participant, record_limit, dry_run=dry_run)
        if record_limit is not None:
            counts["record"] += staff_records.delete_of_site(site.pk, record_limit, dry_run=dry_run)
            record_limits.append(record_limit)
        found.append(SiteDeletion(site=site.slug, counts=counts))
        if not dry_run and any(counts.values()):
            note = ", ".join(f"{what} {count}" for what, count in counts.items())
            audit.record(audit.DELETED_BY_AGE, who=WHO, note=f"site {site.pk}, {note}")
            log.info("retention.applied site=%d rows=%d", site.pk, sum(counts.values()))
    if not dry_run and (pauses := staff_records.delete_of_everyone(record_limits, dry_run=dry_run)):
        audit.record(audit.DELETED_BY_AGE, who=WHO, note=f"everyone, record {pauses}")
    return found


def _list_people(site: Site) -> list[tuple[int, int]]:
    with connection.cursor() as cursor:
        cursor.execute(PEOPLE, {"site": site.pk})
        rows: list[tuple[int, int]] = cursor.fetchall()
    return rows


def _count(what: str, facts: dict[str, Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(COUNTS[what], facts)
        return int(cursor.fetchone()[0])


def _delete_all(what: str, facts: dict[str, Any]) -> int:
    deleted = 0
    while batch := _delete_some(what, {**facts, "at_most": ROWS_AT_ONCE}):
        deleted += batch
    return deleted


@transaction.atomic
def _delete_some(what: str, facts: dict[str, Any]) -> int:
    before: datetime = facts["before"]
    with connection.cursor() as cursor:
        cursor.execute(WALK_INDEX)
        match what:
            case "messages":
                turns = delete_oldest_turns(facts["conversation"], at_most=facts["at_most"], before=before)
                cursor.execute(DELETE_ENTRIES, facts)
                return turns + int(cursor.rowcount)
            case "flags":
                cursor.execute(CLOSED_FLAGS, facts)
                flags = [flag for (flag,) in cursor.fetchall()]
                cursor.execute(DELETE_STEPS, [flags])
                cursor.execute(DELETE_FLAGS, [flags])
            case "visits":
                cursor.execute(DELETE_OFFERS, facts)
                offers = int(cursor.rowcount)
                cursor.execute(DELETE_VISITS, facts)
                return offers + int(cursor.rowcount)
            case _:
                cursor.execute(ALLOW_RECORD)
                cursor.execute(DELETE_RECORD, facts)
        return int(cursor.rowcount)


def _format_days(days: int | None) -> str:
    return "for ever" if days is None else f"{days} days"
