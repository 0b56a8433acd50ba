"""The row in which a process says which staff screens it has open, and who else may be handed a flag."""

import asyncio
import logging
from collections.abc import Collection, Iterable
from typing import Any
from uuid import UUID

import psycopg
from psycopg import AsyncCursor
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool

from companion.rows import Row
from companion.supervision.staff import Staff
from ops.access import IS_OPERATOR, OPERATORS, STAFF_NAME
from ops.supervision.people import DESK_TIMEOUT_S

log = logging.getLogger(__name__)

MAX_COLLEAGUES = 500
LEAVE_TIMEOUT_S = 2.0

WRITE = """
INSERT INTO ops_deskprocess AS d (process, at, sites, readers)
VALUES (%(process)s, clock_timestamp(), %(sites)s::bigint[], %(readers)s)
ON CONFLICT (process) DO UPDATE SET at = excluded.at, sites = excluded.sites, readers = excluded.readers
"""
DELETE = """
DELETE FROM ops_deskprocess WHERE process = %(process)s OR at < statement_timestamp() - interval '1 hour'
"""
IS_READING_ELSEWHERE = f"""
SELECT DISTINCT (reader ->> 0)::bigint FROM ops_deskprocess d, jsonb_array_elements(d.readers) AS reader
WHERE d.process <> %(process)s AND d.at > statement_timestamp() - interval '{DESK_TIMEOUT_S} seconds'
  AND (reader ->> 1)::bigint = %(user)s
"""
# Active staff who see one of these sites, by name.
LIST_COLLEAGUES = f"""
WITH supervising AS MATERIALIZED (
    -- Read once from the sites: a look for each of the staff would read the view thousands of times.
    SELECT user_id, array_agg(site_id ORDER BY site_id) AS sites
    FROM ops_supervised WHERE site_id = ANY(%(sites)s) GROUP BY user_id
)
SELECT u.id, {STAFF_NAME}, coalesce(v.sites, '{{}}'), {IS_OPERATOR}
FROM auth_user u LEFT JOIN supervising v ON v.user_id = u.id
WHERE u.is_active AND u.is_staff AND (v.user_id IS NOT NULL OR {IS_OPERATOR})
ORDER BY 2, 1 LIMIT %(limit)s
"""
LIST_SITES = "SELECT id, slug, name FROM companion_site WHERE id = ANY(%(sites)s) ORDER BY name, id"


async def write_desk(
    cursor: AsyncCursor[Row],
    process: UUID,
    *,
    sites: Collection[int],
    readers: Iterable[tuple[int, int, str]],
) -> None:
    """Say which sites have a screen of their own staff here, and who reads along: (conversation, user, name)."""
    listed = Jsonb([list(reader) for reader in sorted(readers)])
    await cursor.execute(WRITE, {"process": process, "sites": sorted(sites), "readers": listed})


async def leave(pool: AsyncConnectionPool[Any], process: UUID) -> None:
    """Say that there are no screens here, and delete the rows of processes that are long gone. Raises nothing."""
    try:
        async with (
            asyncio.timeout(LEAVE_TIMEOUT_S),
            pool.connection() as connection,
            connection.cursor() as cursor,
        ):
            await cursor.execute(DELETE, {"process": process})
    except (psycopg.Error, TimeoutError):
        # The row counts as no screens in a moment, by its age.
        log.warning("desk.left_without_goodbye")


async def read_elsewhere(cursor: AsyncCursor[Row], process: UUID, user: int) -> set[int]:
    """The conversations that this member of staff reads on other processes."""
    await cursor.execute(IS_READING_ELSEWHERE, {"process": process, "user": user})
    return {row[0] for row in await cursor.fetchall()}


async def list_colleagues(cursor: AsyncCursor[Row], sites: Collection[int]) -> list[dict[str, Any]]:
    """The staff who see one of these sites: id, name, their own ones of these sites, and whether they are operators."""
    facts = {"sites": sorted(sites), "operators": OPERATORS, "limit": MAX_COLLEAGUES}
    await cursor.execute(LIST_COLLEAGUES, facts)
    return [
        {"id": user, "name": name, "sites": list(own), "operator": is_operator}
        for user, name, own, is_operator in await cursor.fetchall()
    ]


async def find_colleague(cursor: AsyncCursor[Row], user: int, *, site: int) -> Staff | None:
    """The member of staff with this id, if they see the site."""
    for one in await list_colleagues(cursor, [site]):
        if one["id"] == user:
            return Staff(user=user, name=one["name"])
    return None


async def list_open_sites(cursor: AsyncCursor[Row]) -> set[int]:
    """The ids of all open sites."""
    await cursor.execute("SELECT id FROM companion_site WHERE is_open")
    return {row[0] for row in await cursor.fetchall()}


async def list_sites(cursor: AsyncCursor[Row], sites: Collection[int]) -> list[dict[str, Any]]:
    """These sites: id, slug and name."""
    await cursor.execute(LIST_SITES, {"sites": sorted(sites)})
    return [{"id": number, "slug": slug, "name": name} for number, slug, name in await cursor.fetchall()]
