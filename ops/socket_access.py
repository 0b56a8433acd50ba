"""Whose session a socket carries, and what they may see: the rule of `ops.access`, read on a pool of its own."""

from collections.abc import Collection
from typing import Any, Protocol

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.utils.crypto import constant_time_compare
from psycopg_pool import AsyncConnectionPool

from companion.sessions import read_sessions
from ops.access import SELECT_ACCESS, StaffAccess, access_params, build_access

RIGHTS_CHANGED: dict[str, Any] = {"type": "rights"}
"""The frame that says that the person's rights have changed: the page empties itself and loads again."""


class StaffScreen(Protocol):
    """An open page of a member of staff, as its socket's consumer offers it."""

    @property
    def session_key(self) -> str: ...
    async def send_frame(self, frame: dict[str, Any]) -> None: ...
    async def deny(self) -> None: ...
    async def close(self, code: int) -> None: ...


class StaffSessions:
    """Reads sessions without Django's connection, so that a page that waits for it holds up no socket."""

    def __init__(self, pool: AsyncConnectionPool[Any]) -> None:
        self._pool = pool

    async def admit(self, session_key: str | None) -> StaffAccess | None:
        """What the user of this session may see; None unless they are active staff. Raises psycopg.Error."""
        if not session_key:
            return None
        # Opened with the first page: a process without staff pages holds no connections for them.
        if self._pool.closed:
            await self._pool.open()
        return (await self.get_access([session_key])).get(session_key)

    async def get_access(self, session_keys: Collection[str]) -> dict[str, StaffAccess]:
        """What each session's user may see, by session key. Sessions without active staff are left out."""
        async with self._pool.connection() as native, native.cursor() as cursor:
            sessions = await read_sessions(cursor, session_keys)
            users = {key: _get_user_id(session) for key, session in sessions.items()}
            known = [user for user in users.values() if user is not None]
            await cursor.execute(SELECT_ACCESS, access_params(known))
            rows = {row[0]: row for row in await cursor.fetchall()}
        access = {}
        for key, user in users.items():
            if user is None or user not in rows:
                continue
            if _is_valid(sessions[key], user, password=rows[user][1]):
                access[key] = build_access(rows[user])
        return access


def _get_user_id(session: dict[str, Any]) -> int | None:
    try:
        return int(session[SESSION_KEY]) if session.get(BACKEND_SESSION_KEY) else None
    except (KeyError, TypeError, ValueError):
        return None


def _is_valid(session: dict[str, Any], user: int, *, password: str) -> bool:
    """Whether the session was made after the last change of the password."""
    made_with = str(session.get(HASH_SESSION_KEY, ""))
    owner = User(pk=user, password=password)
    hashes = [owner.get_session_auth_hash(), *owner.get_session_auth_fallback_hash()]
    return any(constant_time_compare(made_with, known) for known in hashes)
