"""Searches the audit record by index order: by person, by who, by what and since when. Uses Django's connection."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

MAX_ENTRIES = 1_000

# Ids rise with time, so `since` becomes a lower bound of ids: every plan reads backwards and stops.
_SINCE = """
SELECT id FROM ops_auditentry WHERE at >= %(since)s ORDER BY at, id LIMIT 1
"""
_SEARCH = """
SELECT id, at, who, what, about, note FROM ops_auditentry
WHERE id >= %(first)s AND id < %(before)s {conditions} ORDER BY id DESC LIMIT %(limit)s
"""
_COLUMNS = ("about", "who", "what")


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditRow:
    """One entry of the record. `about` is a participant's id."""

    id: int
    at: datetime
    who: str
    what: str
    about: int | None
    note: str


def search_record(
    *,
    about: int | None = None,
    who: str = "",
    what: str = "",
    since: datetime | None = None,
    before: int = 2**63 - 1,
    limit: int = 100,
) -> list[AuditRow]:
    """The newest entries that fit every named condition, newest first. `before`: the last id of the page before."""
    wanted: Mapping[str, Any] = {"about": about, "who": who or None, "what": what or None}
    conditions = " ".join(f"AND {name} = %({name})s" for name in _COLUMNS if wanted[name] is not None)
    facts = {**wanted, "first": 0, "before": before, "limit": min(limit, MAX_ENTRIES)}
    with connection.cursor() as cursor:
        if since is not None:
            cursor.execute(_SINCE, {"since": since})
            row = cursor.fetchone()
            if row is None:
                return []
            facts["first"] = row[0]
        cursor.execute(_SEARCH.format(conditions=conditions), facts)
        return [
            AuditRow(id=number, at=at, who=by, what=did, about=person, note=note)
            for number, at, by, did, person, note in cursor.fetchall()
        ]
