"""Who is here: people with a live visit or an open page, and what their turns are doing. No words of theirs.

The read starts from live visits by their own index, so its cost follows who is here and not what is stored.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import AsyncCursor

from companion.rows import Row
from companion.supervision.control import IS_QUIET
from companion.supervision.flag_views import FlagView
from companion.supervision.pauses import PauseView
from companion.supervision.states import FlagTier, PauseScope
from companion.visits.conditions import IS_LOCKED

MAX_VISITS_PER_SITE = 2_000
"""Live visits of one site from which its people are listed, those that end last first."""
LAST_TURNS = 3
"""Turns of each person that are looked at: as many as may be live at once."""
WRITING_S = 6
"""A draft that was saved within so many seconds, and after the last message, counts as writing."""
DESK_TIMEOUT_S = 10
"""A row of `ops_deskprocess` that is older counts as no screens."""

# The visits of each site are limited apart: many people at one site must not hide those of another.
READ_PEOPLE = f"""
WITH live AS MATERIALIZED (
    SELECT v.id, v.participant_id, v.opened_at, v.expires_at, v.machine_id, {IS_LOCKED} AS is_locked
    FROM companion_visit v WHERE v.ended_at IS NULL AND v.expires_at > statement_timestamp()
),
visits AS MATERIALIZED (
    SELECT * FROM (
        SELECT live.*, row_number() OVER (PARTITION BY p.site_id ORDER BY live.expires_at DESC) AS place
        FROM live JOIN companion_participant p ON p.id = live.participant_id AND p.site_id = ANY(%(sites)s)
    ) placed
    WHERE place <= %(max_visits_per_site)s
),
here AS MATERIALIZED (
    SELECT DISTINCT ON (v.participant_id) v.participant_id, v.id, v.opened_at, v.machine_id, v.is_locked,
           count(*) OVER w AS visits
    FROM visits v WINDOW w AS (PARTITION BY v.participant_id) ORDER BY v.participant_id, v.opened_at DESC
),
pages AS MATERIALIZED (
    SELECT DISTINCT page FROM companion_process p, unnest(p.pages) AS page
    WHERE p.beat_at > clock_timestamp() - interval '10 seconds'
)
SELECT c.id, p.id, p.name, p.site_id, s.name, here.opened_at, here.id, here.visits,
       last.is_speaking, last.is_waiting, last.state, last.last_at,
       {IS_QUIET}, k.person, k.person_name, k.person_since,
       d.text <> '' AND d.saved_at > clock_timestamp() - make_interval(secs => %(writing_s)s)
       AND (last.last_at IS NULL OR d.saved_at > last.last_at),
       c.id IN (SELECT page FROM pages), coalesce(m.name, ''), here.is_locked
FROM here
JOIN companion_participant p ON p.id = here.participant_id
JOIN companion_site s ON s.id = p.site_id
JOIN companion_conversation c ON c.participant_id = p.id
LEFT JOIN companion_machine m ON m.id = here.machine_id
LEFT JOIN companion_control k ON k.conversation_id = c.id
LEFT JOIN companion_draft d ON d.conversation_id = c.id
LEFT JOIN LATERAL (
    SELECT bool_or(t.state = 'speaking') AS is_speaking, bool_or(t.state = 'waiting') AS is_waiting,
           (array_agg(t.state ORDER BY t.id DESC))[1] AS state, max(t.created_at) AS last_at
    FROM (SELECT id, state, created_at FROM companion_turn WHERE conversation_id = c.id
          ORDER BY conversation_id DESC, id DESC LIMIT %(last_turns)s) t
) last ON true
ORDER BY s.name, p.name, p.id
"""

READ_READERS = f"""
SELECT readers FROM ops_deskprocess WHERE at > statement_timestamp() - interval '{DESK_TIMEOUT_S} seconds'
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class PresentPerson:
    """A person who is here. `doing`: writing, waiting, being_answered, paused or idle."""

    conversation: int
    participant: int
    name: str
    site: int
    site_name: str
    since: datetime
    visit: str
    visits: int
    is_speaking: bool
    is_waiting: bool
    last_state: str
    last_at: datetime | None
    """When this person wrote last."""
    is_quiet: bool
    person: int | None
    """The id of the member of staff who has taken over."""
    person_name: str
    person_since: datetime | None
    is_writing: bool
    page_open: bool
    machine: str
    """The name of the machine on which the visit is; empty: another browser."""
    is_locked: bool
    """There was no sign of life for a while: the screen shows no words until its participant comes back."""


async def read_people(cursor: AsyncCursor[Row], sites: Collection[int]) -> list[PresentPerson]:
    """The people of these sites who are here, by site and name."""
    await cursor.execute(READ_PEOPLE, people_parameters(sites))
    return [parse_person(row) for row in await cursor.fetchall()]


def people_parameters(sites: Collection[int]) -> dict[str, Any]:
    """The parameters of `READ_PEOPLE`."""
    return {
        "sites": sorted(sites),
        "max_visits_per_site": MAX_VISITS_PER_SITE,
        "last_turns": LAST_TURNS,
        "writing_s": WRITING_S,
    }


async def read_readers(cursor: AsyncCursor[Row]) -> dict[int, dict[int, str]]:
    """Who reads along on any process: {conversation: {staff: name}}."""
    await cursor.execute(READ_READERS)
    return parse_readers(await cursor.fetchall())


def parse_readers(rows: Iterable[Row]) -> dict[int, dict[int, str]]:
    """The readers in rows of `READ_READERS`."""
    readers: dict[int, dict[int, str]] = {}
    for (listed,) in rows:
        for conversation, user, name in listed:
            readers.setdefault(conversation, {})[user] = name
    return readers


def build_items(
    people: Iterable[PresentPerson],
    *,
    flags: Sequence[FlagView],
    open_pauses: Sequence[PauseView],
    readers: Mapping[int, Mapping[int, str]],
    writing: Mapping[int, str | None],
) -> dict[int, dict[str, Any]]:
    """The items of `people` frames, by conversation. `writing` are conversations that are being typed in now, with the
    `last_at` that was known then: a message that was sent since ends it.
    """
    tiers: dict[int, str] = {}
    for flag in flags:
        if flag.conversation is not None and tiers.get(flag.conversation) != FlagTier.RED:
            tiers[flag.conversation] = flag.tier
    by_scope = {(pause.scope, pause.about): pause for pause in open_pauses}
    items = {}
    for one in people:
        pause = _find_pause(by_scope, one)
        last_at = one.last_at.isoformat() if one.last_at else None
        is_writing = one.is_writing or (one.conversation in writing and writing[one.conversation] == last_at)
        items[one.conversation] = {
            "conversation": one.conversation,
            "participant": one.participant,
            "name": one.name,
            "site": one.site,
            "site_name": one.site_name,
            "since": one.since.isoformat(),
            "visit": one.visit,
            "visits": one.visits,
            "turn": _describe_turn(one, is_writing=is_writing),
            "last_at": last_at,
            "tier": tiers.get(one.conversation),
            "quiet": one.is_quiet,
            "paused": pause and {"scope": pause.scope, "by": pause.by_name, "reason": pause.reason},
            "person": one.person and {"id": one.person, "name": one.person_name},
            "readers": sorted(readers.get(one.conversation, {}).values()),
            "page_open": one.page_open,
            "machine": one.machine,
            "locked": one.is_locked,
        }
    return items


def hide_name(item: Mapping[str, Any]) -> dict[str, Any]:
    """The item for operators who do not supervise the site: the same facts without a name."""
    return {**item, "name": ""}


def _find_pause(by_scope: Mapping[tuple[str, int], PauseView], one: PresentPerson) -> PauseView | None:
    for key in (
        (PauseScope.PERSON.value, one.participant),
        (PauseScope.SITE.value, one.site),
        (PauseScope.EVERYONE.value, 0),
    ):
        if pause := by_scope.get(key):
            return pause
    return None


def _describe_turn(one: PresentPerson, *, is_writing: bool) -> str:
    if is_writing:
        return "writing"
    if one.is_speaking:
        return "being_answered"
    if one.is_waiting:
        return "waiting"
    return "paused" if one.last_state == "paused" else "idle"


def parse_person(row: Row) -> PresentPerson:
    """The person of a row of `READ_PEOPLE`."""
    conversation, participant, name, site, site_name, since, visit, visits, *turn = row
    is_speaking, is_waiting, last_state, last_at, *who = turn
    is_quiet, person, person_name, person_since, is_writing, page_open, machine, is_locked = who
    return PresentPerson(
        conversation=conversation,
        participant=participant,
        name=name,
        site=site,
        site_name=site_name,
        since=since,
        visit=str(visit),
        visits=visits,
        is_speaking=bool(is_speaking),
        is_waiting=bool(is_waiting),
        last_state=last_state or "",
        last_at=last_at,
        is_quiet=bool(is_quiet),
        person=person,
        person_name=person_name or "",
        person_since=person_since,
        is_writing=bool(is_writing),
        page_open=page_open,
        machine=machine,
        is_locked=is_locked,
    )
