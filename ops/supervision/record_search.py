"""Searches the audit record, newest first, by index order: about people, by one account, of one kind, in a time.

Uses Django's connection. The caller checks what the reader may see, and names their sites.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.utils.translation import gettext

from companion.supervision.act_answers import ActKind
from ops import audit

PER_PAGE = 50
MAX_ENTRIES = 1_000
"""Entries that one search returns at most."""

WHATS = frozenset(
    value
    for name, value in vars(audit).items()
    if name.isupper() and isinstance(value, str) and value.islower()
).union(act.value for act in ActKind)
"""Every code that an entry can have."""

# Ids rise with time, apart from transactions that overlap. So times become bounds of ids, from the nearest entries by
# time, and every plan reads backwards from one bound and stops at the other.
FIRST_ID = """
SELECT min(id) FROM (SELECT id FROM ops_auditentry WHERE at >= %(moment)s ORDER BY at, id LIMIT 100) nearest
"""
LAST_ID = """
SELECT max(id) FROM (SELECT id FROM ops_auditentry WHERE at < %(moment)s ORDER BY at DESC, id DESC LIMIT 100) nearest
"""

# With sites: the newest entry about each of their people, each by its index; then the newest entries about the people
# with the newest ones, because a page of N entries is about N people at most.
_OF_SITES = """
WITH front AS MATERIALIZED (
    SELECT person.id, newest.id AS entry FROM (
        SELECT p.id FROM companion_participant p
        WHERE p.site_id = ANY(%(sites)s) AND (%(people)s::bigint[] IS NULL OR p.id = ANY(%(people)s))
    ) person
    CROSS JOIN LATERAL (
        SELECT a.id FROM ops_auditentry a WHERE a.about = person.id {conditions} ORDER BY a.id DESC LIMIT 1
    ) newest
    ORDER BY newest.id DESC LIMIT %(limit)s
)
SELECT e.id, e.at, e.who, e.what, e.about, e.note FROM front
CROSS JOIN LATERAL (
    SELECT * FROM ops_auditentry a WHERE a.about = front.id {conditions} ORDER BY a.id DESC LIMIT %(limit)s
) e
ORDER BY e.id DESC LIMIT %(limit)s
"""
_OF_PEOPLE = """
SELECT e.id, e.at, e.who, e.what, e.about, e.note FROM unnest(%(people)s::bigint[]) AS person(id)
CROSS JOIN LATERAL (
    SELECT * FROM ops_auditentry a WHERE a.about = person.id {conditions} ORDER BY a.id DESC LIMIT %(limit)s
) e
ORDER BY e.id DESC LIMIT %(limit)s
"""
# The ids first: an index holds all that is asked of the entries of one account, or of one kind.
_OF_ALL = """
SELECT e.id, e.at, e.who, e.what, e.about, e.note FROM (
    SELECT a.id FROM ops_auditentry a WHERE true {conditions} ORDER BY a.id DESC LIMIT %(limit)s
) newest
JOIN ops_auditentry e ON e.id = newest.id
ORDER BY e.id DESC
"""
_NAMES = """
SELECT id, name FROM companion_participant WHERE id = ANY(%(people)s) AND site_id = ANY(%(sites)s)
"""

IdBounds = tuple[int | None, int | None]
"""The first and the last id between the times of a query; None where it has no such time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordQuery:
    """What is looked for. `sites` None: the whole record. `people`: ids; None for any. Empty texts match everything."""

    sites: frozenset[int] | None = None
    people: tuple[int, ...] | None = None
    who: str = ""
    what: str = ""
    since: datetime | None = None
    until: datetime | None = None
    before: int | None = None
    """Only entries with a smaller id: the next page."""
    named_sites: frozenset[int] = frozenset()
    """The sites whose participants' names the reader sees: those that they supervise."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordEntry:
    """One entry. `name` is that of the participant it is about; empty for none, for one whose name the reader does not
    see, or once they are erased."""

    id: int
    at: datetime
    who: str
    what: str
    about: int | None
    name: str
    note: str

    @property
    def says(self) -> str:
        """What was done, in words."""
        return describe_what(self.what)


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordPage:
    """A page of entries, newest first. `further`: the `before` of the next page; None on the last."""

    entries: tuple[RecordEntry, ...]
    further: int | None


def search_record(query: RecordQuery, *, size: int = PER_PAGE) -> RecordPage:
    """The newest entries that match, at most `size` and `MAX_ENTRIES`."""
    size = min(size, MAX_ENTRIES)
    with connection.cursor() as cursor:
        bounds = _find_bounds(cursor, query)
        if bounds is None:
            return RecordPage(entries=(), further=None)
        cursor.execute(*write_search(query, bounds, limit=size + 1))
        rows = cursor.fetchall()
        cursor.execute(_NAMES, {"people": [row[4] for row in rows], "sites": sorted(query.named_sites)})
        names = dict(cursor.fetchall())
    entries = tuple(
        RecordEntry(
            id=row[0],
            at=row[1],
            who=row[2],
            what=row[3],
            about=row[4],
            name=names.get(row[4], ""),
            note=row[5],
        )
        for row in rows[:size]
    )
    return RecordPage(entries=entries, further=entries[-1].id if len(rows) > size else None)


def write_search(query: RecordQuery, bounds: IdBounds, *, limit: int) -> tuple[str, dict[str, Any]]:
    """The statement that finds the newest `limit` entries that match, and its parameters."""
    if query.sites is not None:
        statement = _OF_SITES
    elif query.people is not None:
        statement = _OF_PEOPLE
    else:
        statement = _OF_ALL
    conditions, params = _conditions(query, bounds)
    params |= {
        "sites": sorted(query.sites or ()),
        "people": None if query.people is None else list(query.people),
        "limit": limit,
    }
    return statement.format(conditions=conditions), params


def list_whats() -> list[tuple[str, str]]:
    """(code, words) of everything that can be on record, in the order of the words."""
    return sorted(((what, describe_what(what)) for what in WHATS), key=lambda one: one[1])


def describe_what(what: str) -> str:
    """A code of the record in words."""
    return gettext(what.replace("_", " ").capitalize())


def _find_bounds(cursor: Any, query: RecordQuery) -> IdBounds | None:
    """The bounds of the times of a query. None: no entry is between them."""
    found: list[int | None] = []
    for moment, statement in ((query.since, FIRST_ID), (query.until, LAST_ID)):
        number = None
        if moment is not None:
            cursor.execute(statement, {"moment": moment})
            [number] = cursor.fetchone()
            if number is None:
                return None
        found.append(number)
    first, last = found
    return first, last


def _conditions(query: RecordQuery, bounds: IdBounds) -> tuple[str, dict[str, Any]]:
    first, last = bounds
    wanted = (
        ("a.who = %(who)s", "who", query.who or None),
        ("a.what = %(what)s", "what", query.what or None),
        ("a.at >= %(since)s", "since", query.since),
        ("a.id >= %(first)s", "first", first),
        ("a.at < %(until)s", "until", query.until),
        ("a.id <= %(last)s", "last", last),
        ("a.id < %(before)s", "before", query.before),
    )
    used = [(text, name, value) for text, name, value in wanted if value is not None]
    return "".join(f" AND {text}" for text, _, _ in used), {name: value for _, name, value in used}
