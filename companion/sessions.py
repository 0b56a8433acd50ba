"""Django's database sessions, stored under a hash of their key.

The key is the cookie's value: a reader of the database or of a dump must not be able to sign in with it.
"""

import hashlib
from collections.abc import Collection
from typing import Any, cast

from asgiref.sync import sync_to_async
from django.contrib.sessions.backends import db
from django.contrib.sessions.middleware import SessionMiddleware
from django.contrib.sessions.models import Session
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from psycopg import AsyncCursor

from companion.rows import Row

SELECT_SESSIONS = """
SELECT session_key, session_data FROM django_session
WHERE session_key = ANY(%s) AND expire_date > clock_timestamp()
"""


def hash_session_key(session_key: str) -> str:
    """Return the stored form of a key: 160 bits of its SHA-256 in hexadecimal, because the column has 40 characters."""
    return hashlib.sha256(session_key.encode()).hexdigest()[:40]


class SessionStore(db.SessionStore):
    """Django requires this name in the module of SESSION_ENGINE."""

    def _get_session_from_db(self) -> Session | None:
        key = self.session_key or ""
        session = Session.objects.filter(
            session_key=hash_session_key(key), expire_date__gt=timezone.now()
        ).first()
        if session is None:
            self._session_key = None
        return session

    def exists(self, session_key: str) -> bool:
        return super().exists(hash_session_key(session_key))

    def create_model_instance(self, data: dict[str, Any]) -> Session:
        instance = cast(Session, super().create_model_instance(data))
        instance.session_key = hash_session_key(instance.session_key)
        return instance

    def delete(self, session_key: str | None = None) -> None:
        if key := session_key or self.session_key:
            super().delete(hash_session_key(key))

    async def _aget_session_from_db(self) -> Session | None:
        return await sync_to_async(self._get_session_from_db)()

    async def aexists(self, session_key: str) -> bool:
        return await sync_to_async(self.exists)(session_key)

    async def acreate_model_instance(self, data: dict[str, Any]) -> Session:
        return await sync_to_async(self.create_model_instance)(data)

    async def adelete(self, session_key: str | None = None) -> None:
        await sync_to_async(self.delete)(session_key)


async def read_sessions(cursor: AsyncCursor[Row], session_keys: Collection[str]) -> dict[str, dict[str, Any]]:
    """Return what the live ones of these sessions hold, by session key, without Django's connection."""
    # Reject malformed keys: lookups are batched.
    keys = {hash_session_key(key): key for key in session_keys if key.isascii() and key.isalnum()}
    await cursor.execute(SELECT_SESSIONS, (list(keys),))
    # decode() checks the signature under the current and the older secret keys.
    return {keys[stored]: SessionStore().decode(data) for stored, data in await cursor.fetchall()}


class SessionCookieMiddleware(SessionMiddleware):
    """Django's, but only the request that ends a session takes its cookie away.

    On a shared machine a late request of the last person's page carries a cookie whose session has ended. Django would
    answer it by deleting the cookie, which by then may be that of the person who has just come in.
    """

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if request.session.is_empty() and not request.session.modified:
            return response
        return super().process_response(request, response)
