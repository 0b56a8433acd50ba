"""Who among the staff may watch, for sockets: the same answer as the pages give, read on a pool of its own."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.utils.crypto import constant_time_compare
from psycopg_pool import AsyncConnectionPool

from companion.sessions import SessionStore, hash_session_key

SESSIONS = """
SELECT session_key, session_data FROM django_session
WHERE session_key = ANY(%s) AND expire_date > clock_timestamp()
"""

STAFF = """
SELECT u.id, u.password,
       CASE WHEN o.is_operator THEN ARRAY(SELECT id FROM companion_site)
            ELSE ARRAY(SELECT site_id FROM ops_supervision WHERE user_id = u.id) END,
       o.is_operator
FROM auth_user u
CROSS JOIN LATERAL (
    SELECT u.is_superuser OR EXISTS (
        SELECT 1 FROM auth_user_groups m JOIN auth_group g ON g.id = m.group_id
        WHERE m.user_id = u.id AND g.name = %(operators)s) AS is_operator
) o
WHERE u.id = ANY(%(ids)s) AND u.is_active AND u.is_staff
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Staff:
    """A signed-in member of staff, and the sites whose people they may see."""

    user: int
    sites: frozenset[int]
    is_operator: bool


class StaffDoor:
    """Reads sessions and staff without Django's connection, so that no page can hold a socket up."""

    def __init__(self, pool: AsyncConnectionPool[Any], *, operators: str) -> None:
        self._pool = pool
        self._operators = operators

    async def staff_of(self, session_keys: Collection[str]) -> dict[str, Staff]:
        """Whose each session is. Sessions that are nobody's, or not of active staff, are left out."""
        async with self._pool.connection() as native, native.cursor() as cursor:
            keys = {hash_session_key(key): key for key in session_keys}
            await cursor.execute(SESSIONS, (list(keys),))
            # decode() checks the signature under the current and the older secret keys.
            signed_in = {
                keys[stored]: SessionStore().decode(data) for stored, data in await cursor.fetchall()
            }
            ids = {key: _user_of(session) for key, session in signed_in.items()}
            known = [number for number in ids.values() if number is not None]
            await cursor.execute(STAFF, {"ids": known, "operators": self._operators})
            staff = {user: facts for user, *facts in await cursor.fetchall()}
        found = {}
        for key, user in ids.items():
            if user is not None and user in staff and _still_holds(signed_in[key], user, staff[user][0]):
                _, sites, is_operator = staff[user]
                found[key] = Staff(user=user, sites=frozenset(sites), is_operator=is_operator)
        return found


def _user_of(session: dict[str, Any]) -> int | None:
    try:
        return int(session[SESSION_KEY]) if session.get(BACKEND_SESSION_KEY) else None
    except (KeyError, TypeError, ValueError):
        return None


def _still_holds(session: dict[str, Any], user: int, password: str) -> bool:
    """A session made before the password was last changed holds no longer."""
    made_with = str(session.get(HASH_SESSION_KEY, ""))
    somebody = User(pk=user, password=password)
    hashes = [somebody.get_session_auth_hash(), *somebody.get_session_auth_fallback_hash()]
    return any(constant_time_compare(made_with, known) for known in hashes)
