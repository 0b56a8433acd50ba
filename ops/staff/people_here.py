"""Who is here: the people of some sites with a live visit, and what their conversation is doing. No words of theirs."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

MAX_PEOPLE = 500

SELECT_PEOPLE = """
SELECT c.id, p.id, p.name, p.site_id, s.name, v.since, t.state, t.created_at, t.closed_at,
       k.person_name, k.person_since,
       CASE WHEN k.quiet_until IS NULL OR k.quiet_until > now() THEN k.quiet_since END,
       (SELECT min(b.at) FROM companion_staffpause b WHERE b.ended_at IS NULL AND (
            b.scope = 'everyone' OR b.scope = 'site' AND b.about = p.site_id
            OR b.scope = 'person' AND b.about = p.id)),
       (SELECT max(f.tier) FROM companion_flag f
        WHERE f.conversation_id = c.id AND f.state <> 'closed')
FROM companion_participant p
JOIN companion_site s ON s.id = p.site_id
JOIN companion_conversation c ON c.participant_id = p.id
CROSS JOIN LATERAL (
    SELECT min(opened_at) AS since FROM companion_visit
    WHERE participant_id = p.id AND expires_at > now() AND ended_at IS NULL
) v
LEFT JOIN companion_control k ON k.conversation_id = c.id
LEFT JOIN LATERAL (
    SELECT state, created_at, closed_at FROM companion_turn WHERE conversation_id = c.id ORDER BY id DESC LIMIT 1
) t ON true
WHERE p.site_id = ANY(%(sites)s) AND v.since IS NOT NULL
ORDER BY s.name, p.name, p.id LIMIT %(limit)s
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class PersonHere:
    """One person with a live visit. `doing` is a key of `ops.staff.desk_text.DOINGS`, since `doing_since`."""

    conversation: int
    participant: int
    name: str
    site: int
    site_name: str
    since: datetime
    doing: str
    doing_since: datetime | None
    person_name: str
    """The member of staff who has taken over; empty for none."""
    flag: str
    """The tier of the loudest flag that is not closed; empty for none."""


def list_people(sites: Collection[int]) -> list[PersonHere]:
    """The people of these sites who are here, flagged ones first, then by site and name."""
    with connection.cursor() as cursor:
        cursor.execute(SELECT_PEOPLE, {"sites": sorted(sites), "limit": MAX_PEOPLE})
        people = [_parse(row) for row in cursor.fetchall()]
    return sorted(people, key=lambda one: ("red", "amber", "").index(one.flag))


def _parse(row: tuple[Any, ...]) -> PersonHere:
    conversation, participant, name, site, site_name, since, state, asked_at, closed_at, *rest = row
    person_name, person_since, quiet_since, paused_since, flag = rest
    doing, doing_since = "idle", closed_at or None
    if person_since:
        doing, doing_since = "person", person_since
    elif quiet_since:
        doing, doing_since = "quiet", quiet_since
    elif paused_since:
        doing, doing_since = "staff_pause", paused_since
    elif state in ("speaking", "waiting"):
        doing, doing_since = ("being_answered" if state == "speaking" else "waiting"), asked_at
    elif state == "paused":
        doing = "paused"
    return PersonHere(
        conversation=conversation,
        participant=participant,
        name=name,
        site=site,
        site_name=site_name,
        since=since,
        doing=doing,
        doing_since=doing_since,
        person_name=person_name or "",
        flag=flag or "",
    )
