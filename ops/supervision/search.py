"""Finds people by the beginning of a name, or of the name of their site: by index order, at most twenty of a site."""

from collections.abc import Collection
from typing import Any

from psycopg import AsyncCursor

from companion.rows import Row

MIN_CHARS = 2
MAX_FOUND_PER_SITE = 20
MAX_FOUND = 100

HIGHEST = "\U0010ffff"
"""Sorts after every character of a name."""
LOWEST = "\x01"
"""Sorts before every character of a name."""

FOUND_FIELDS = ("conversation", "participant", "name", "site", "site_name", "active")

# Between two bounds of the index `participant_by_name`; all people of a site whose own name matches.
FIND_PEOPLE = """
SELECT c.id, p.id, p.name, p.site_id, s.name, p.is_active
FROM unnest(%(sites)s::bigint[]) AS wanted(id)
JOIN companion_site s ON s.id = wanted.id
CROSS JOIN LATERAL (
    SELECT %(by_site)s AND (starts_with(lower(s.name), %(low)s) OR starts_with(s.slug, %(low)s)) AS is_site
) named
CROSS JOIN LATERAL (
    SELECT id, name, site_id, is_active FROM companion_participant
    WHERE site_id = wanted.id
      AND lower(name) COLLATE "C" >= CASE WHEN named.is_site THEN '' ELSE %(low)s END
      AND lower(name) COLLATE "C" < CASE WHEN named.is_site THEN %(highest)s ELSE %(high)s END
    ORDER BY lower(name) COLLATE "C" LIMIT %(limit)s
) p
JOIN companion_conversation c ON c.participant_id = p.id
ORDER BY lower(p.name), p.id LIMIT %(most)s
"""


def search_parameters(text: str, *, sites: Collection[int], is_whole_name: bool = False) -> dict[str, Any]:
    """The parameters of `FIND_PEOPLE`. `is_whole_name`: only those who are called just so, in any case of letters.

    `sites` are those that the reader supervises: staff see no name of another site.
    """
    low = text.strip().lower()
    return {
        "sites": sorted(sites),
        "low": low,
        "high": low + (LOWEST if is_whole_name else HIGHEST),
        "highest": HIGHEST,
        "by_site": not is_whole_name,
        "limit": MAX_FOUND_PER_SITE,
        "most": MAX_FOUND,
    }


def build_found(row: Row) -> dict[str, Any]:
    """{conversation, participant, name, site, site_name, active} of a row of `FIND_PEOPLE`."""
    return dict(zip(FOUND_FIELDS, row, strict=True))


async def find_people(cursor: AsyncCursor[Row], text: str, *, sites: Collection[int]) -> list[dict[str, Any]]:
    """The people of these sites whose name, or whose site's name, begins with `text`; by name."""
    await cursor.execute(FIND_PEOPLE, search_parameters(text, sites=sites))
    return [build_found(row) for row in await cursor.fetchall()]
