"""Searches the audit record, newest first, by index order: about one person, by one member of staff, of one kind.

A member of staff reads what is about the people of their sites; an operator reads everything.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

PER_PAGE = 50

# With sites: the newest entries about each of their people, each by its index, then the newest of all of them.
_OF_SITES = """
SELECT e.id, e.at, e.who, e.what, e.about, e.note FROM (
    SELECT p.id FROM companion_participant p
    WHERE p.site_id = ANY(%(sites)s) AND (%(people)s::bigint[] IS NULL OR p.id = ANY(%(people)s))
) person
CROSS JOIN LATERAL (
    SELECT * FROM ops_auditentry a WHERE a.about = person.id {conditions} ORDER BY a.id DESC LIMIT %(limit)s
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
_OF_ALL = """
SELECT a.id, a.at, a.who, a.what, a.about, a.note FROM ops_auditentry a
WHERE true {conditions} ORDER BY a.id DESC LIMIT %(limit)s
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordQuery:
    """What is looked for. `sites` None: the whole record. `people`: ids; None for any. Empty texts match everything."""

    sites: frozenset[int] | None
    people: tuple[int, ...] | None = None
    who: str = ""
    what: str = ""
    since: datetime | None = None
    until: datetime | None = None
    before: int | None = None
    """Only entries with a smaller id: the next page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordEntry:
    """One entry. `name` is that of the participant it is about; empty for none, or once they are erased."""

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
    """The newest entries that match."""
    conditions, params = _conditions(query)
    if query.sites is not None:
        statement = _OF_SITES
    elif query.people is not None:
        statement = _OF_PEOPLE
    else:
        statement = _OF_ALL
    params |= {
        "sites": sorted(query.sites or ()),
        "people": None if query.people is None else list(query.people),
        "limit": size + 1,
    }
    with connection.cursor() as cursor:
        cursor.execute(statement.format(conditions=conditions), params)
        rows = cursor.fetchall()
        names = _names(cursor, {row[4] for row in rows if row[4] is not None})
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


def list_whats(known: Collection[str]) -> list[tuple[str, str]]:
    """(code, words) of everything that can be on record, in the order of the words."""
    return sorted(((what, describe_what(what)) for what in known), key=lambda one: one[1])


def describe_what(what: str) -> str:
    """A code of the record in words."""
    return what.replace("_", " ").capitalize()


def _conditions(query: RecordQuery) -> tuple[str, dict[str, Any]]:
    wanted = (
        ("a.who = %(who)s", "who", query.who or None),
        ("a.what = %(what)s", "what", query.what or None),
        ("a.at >= %(since)s", "since", query.since),
        ("a.at < %(until)s", "until", query.until),
        ("a.id < %(before)s", "before", query.before),
    )
    used = [(text, name, value) for text, name, value in wanted if value is not None]
    return "".join(f" AND {text}" for text, _, _ in used), {name: value for _, name, value in used}


def _names(cursor: Any, people: set[int]) -> dict[int, str]:
    if not people:
        return {}
    cursor.execute("SELECT id, name FROM companion_participant WHERE id = ANY(%s)", [sorted(people)])
    return dict(cursor.fetchall())
