"""Deletes what is older than a site keeps it: messages, closed flags, ended visits with offers of visits, entries of
the audit record with pauses that are over and stated reasons.

Each transaction deletes a bounded number of rows, the oldest first, until it finds none; a run that was killed is made
up for by the next. A participant under a safeguarding hold is left out. A flag that is not closed is never deleted.
"""

import contextlib
import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from companion.models import Site
from ops import audit
from ops.database import fetch_all, fetch_count
from ops.personal_data import staff_records
from ops.personal_data.batches import ROWS_AT_ONCE
from ops.personal_data.holds import HELD_PARTICIPANTS, lock_unless_held
from ops.personal_data.job_progress import OnProgress, ignore_progress
from ops.personal_data.retention_times import KEPT
from ops.personal_data.turn_deletion import WALK_INDEX, delete_oldest_turns

log = logging.getLogger(__name__)

WHO = "the service"
PEOPLE_AT_ONCE = 150

_NOT_HELD = f"FROM companion_participant p WHERE p.site_id = %(site)s AND p.id NOT IN ({HELD_PARTICIPANTS})"
PEOPLE = f"SELECT p.id {_NOT_HELD} AND p.id > %(after)s ORDER BY p.id LIMIT {PEOPLE_AT_ONCE}"
COUNT_PEOPLE = f"SELECT count(*) {_NOT_HELD}"
# Of most people nothing is old enough. So a page of people is read with what is due of each of them, by the oldest row
# of each kind, and transactions are begun for that alone. A limit is null where the site keeps everything.
_OLDEST = {
    "messages": """
        (SELECT t.closed_at FROM companion_turn t WHERE t.conversation_id = person.conversation
         ORDER BY t.conversation_id, t.id LIMIT 1) < %(messages)s::timestamptz
        OR (SELECT e.at FROM companion_transcriptentry e WHERE e.conversation_id = person.conversation
            ORDER BY e.conversation_id, e.id LIMIT 1) < %(messages)s::timestamptz""",
    # Of flags the oldest may be open, and stays.
    "flags": """
        EXISTS (SELECT FROM companion_flag f WHERE f.conversation_id = person.conversation
                AND f.state = 'closed' AND f.closed_at < %(flags)s::timestamptz)""",
    "visits": """
        (SELECT coalesce(v.ended_at, v.expires_at) FROM companion_visit v WHERE v.participant_id = person.participant
         ORDER BY v.participant_id, v.expires_at LIMIT 1) < %(visits)s::timestamptz
        OR EXISTS (SELECT FROM companion_visitoffer o WHERE o.participant_id = person.participant
                   AND coalesce(o.answered_at, o.expires_at) < %(visits)s::timestamptz)""",
    "record": """
        (SELECT a.at FROM ops_auditentry a WHERE a.about = person.participant
         ORDER BY a.about, a.id LIMIT 1) < %(record)s::timestamptz
        OR (SELECT s.ended_at FROM companion_staffpause s
            WHERE s.scope = 'person' AND s.about = person.participant AND s.ended_at IS NOT NULL
            ORDER BY s.scope, s.about, s.id LIMIT 1) < %(record)s::timestamptz""",
}
DUE = f"""
SELECT person.participant, person.conversation, {", ".join(f"coalesce({test}, false)" for test in _OLDEST.values())}
FROM (SELECT c.participant_id AS participant, c.id AS conversation FROM unnest(%(people)s::bigint[]) AS page(id)
      JOIN companion_conversation c ON c.participant_id = page.id) person
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


def count_deletions(
    changed: Site | None = None, *, on_progress: OnProgress = ignore_progress
) -> list[SiteDeletion]:
    """Count what `apply_retention` would delete; `changed` is a site with times that are not stored."""
    sites = [changed if changed and site.pk == changed.pk else site for site in Site.objects.order_by("slug")]
    return _go_through(sites, on_progress, dry_run=True, by="")


def apply_retention(*, by: str = WHO, on_progress: OnProgress = ignore_progress) -> list[SiteDeletion]:
    """Delete what every site no longer keeps. Sites without a time of their own are left out.

    `on_progress` is given how many people were looked at.
    """
    return _go_through(list(Site.objects.order_by("slug")), on_progress, dry_run=False, by=by)


def _go_through(sites: list[Site], on_progress: OnProgress, *, dry_run: bool, by: str) -> list[SiteDeletion]:
    limits = {site.pk: found for site in sites if (found := _get_limits(site))}
    total, done = sum(fetch_count(COUNT_PEOPLE, {"site": site}) for site in limits), 0
    deletions = []
    for site in sites:
        if site.pk not in limits:
            continue
        run = _SiteRun(site.pk, limits[site.pk], dry_run=dry_run, by=by)
        with run.on_record():
            for participant, conversation, due in _list_people(site.pk, limits[site.pk], counts_all=dry_run):
                run.go_through_person(participant, conversation, due)
                done += 1
                on_progress(done, max(total, done))
            run.go_through_staff_records()
        deletions.append(SiteDeletion(site=site.slug, counts=run.counts))
    record_limits = [found["record"] for found in limits.values() if "record" in found]
    if not dry_run and (pauses := staff_records.delete_of_everyone(record_limits, dry_run=False)):
        audit.record(audit.DELETED_BY_AGE, who=by, note=f"everyone, record {pauses}")
    return deletions


class _SiteRun:
    """What one run does for one site. That it begins is on record with the first rows it deletes, in one commit."""

    def __init__(self, site: int, limits: dict[str, datetime], *, dry_run: bool, by: str) -> None:
        self.counts = dict.fromkeys(limits, 0)
        self._site = site
        self._limits = limits
        self._dry_run = dry_run
        self._by = by
        self._is_on_record = dry_run

    @contextlib.contextmanager
    def on_record(self) -> Iterator[None]:
        """Record at the end of the block what was deleted, also where it fails."""
        try:
            yield
        except BaseException:
            with contextlib.suppress(DatabaseError):
                self._record_end("stopped")
            raise
        self._record_end("ended")

    def go_through_person(self, participant: int, conversation: int, due: Collection[str]) -> None:
        for what, before in self._limits.items():
            if what not in due:
                continue
            facts = {"participant": participant, "conversation": conversation, "before": before}
            if self._dry_run:
                self.counts[what] += fetch_count(COUNTS[what], facts)
            else:
                self._delete_all(what, facts)
        if "record" in due and (record_limit := self._limits.get("record")):
            self.counts["record"] += staff_records.delete_of_person(
                participant, record_limit, dry_run=self._dry_run
            )

    def go_through_staff_records(self) -> None:
        if before := self._limits.get("record"):
            self.counts["record"] += staff_records.delete_of_site(self._site, before, dry_run=self._dry_run)

    def _delete_all(self, what: str, facts: dict[str, Any]) -> None:
        while batch := self._delete_batch(what, {**facts, "at_most": ROWS_AT_ONCE}):
            self.counts[what] += batch

    @transaction.atomic
    def _delete_batch(self, what: str, facts: dict[str, Any]) -> int:
        if not lock_unless_held(facts["participant"]):
            return 0
        deleted = _delete_some(what, facts)
        if deleted and not self._is_on_record:
            audit.record(audit.DELETED_BY_AGE, who=self._by, note=f"site {self._site}, begins")
            transaction.on_commit(self._note_begun)
        return deleted

    def _note_begun(self) -> None:
        self._is_on_record = True

    def _record_end(self, how: str) -> None:
        if self._dry_run or not any(self.counts.values()):
            return
        note = ", ".join(f"{what} {count}" for what, count in self.counts.items())
        audit.record(audit.DELETED_BY_AGE, who=self._by, note=f"site {self._site}, {how}, {note}")
        log.info("retention.ended how=%s site=%d rows=%d", how, self._site, sum(self.counts.values()))


def _get_limits(site: Site) -> dict[str, datetime]:
    now = timezone.now()
    days_of = {what: getattr(site, f"keep_{what}_days") for what in KEPT}
    return {what: now - timedelta(days=days) for what, days in days_of.items() if days is not None}


def _list_people(
    site: int, limits: Mapping[str, datetime], *, counts_all: bool
) -> Iterator[tuple[int, int, Collection[str]]]:
    """(participant, conversation, what is due). `counts_all`: everything counts as due."""
    after = 0
    while page := _list_page(site, after, limits):
        for participant, conversation, *due in page:
            yield (
                participant,
                conversation,
                KEPT if counts_all else {what for what, is_due in zip(_OLDEST, due, strict=True) if is_due},
            )
        after = page[-1][0]


@transaction.atomic
def _list_page(site: int, after: int, limits: Mapping[str, datetime]) -> list[tuple[Any, ...]]:
    people = [person for (person,) in fetch_all(PEOPLE, {"site": site, "after": after})]
    with connection.cursor() as cursor:
        cursor.execute(WALK_INDEX)
    return sorted(fetch_all(DUE, {"people": people, **{what: limits.get(what) for what in _OLDEST}}))


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
