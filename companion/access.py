"""Access of participants: finds the visit that a page or a socket acts for. No other module decides who may act.

Views use Django's connection. Sockets use the process's own pool, so that a slow page cannot delay a socket.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection
from django.http import HttpRequest
from psycopg_pool import AsyncConnectionPool

from companion.batch import Batch
from companion.languages import OF_PERSON
from companion.sessions import read_sessions
from companion.visits import idle
from companion.visits.conditions import IS_LIVE, IS_LOCKED, WITH_PERSON
from companion.visits.ends import EndReason

VISIT_KEY = "visit"

FIND_VISITS = f"""
SELECT v.id, p.id, c.id, s.exit_address, {idle.IDLE_S}, {idle.IDLE_LEFT_S}, v.has_moved, {OF_PERSON}
FROM companion_visit v
{WITH_PERSON}
WHERE v.id = ANY(%s)
"""
LIVE_VISITS = f"{FIND_VISITS} AND {IS_LIVE}"
LOCKED_VISITS = f"{FIND_VISITS} AND {IS_LOCKED}"

WHY_OVER = f"""
SELECT v.id, CASE WHEN v.end_reason <> '' THEN v.end_reason WHEN {IS_LOCKED} THEN '{EndReason.IDLE}'
            WHEN v.expires_at <= clock_timestamp() THEN '{EndReason.EXPIRED}' ELSE '' END
FROM companion_visit v WHERE v.id = ANY(%s)
"""

OWNS = "SELECT 1 FROM companion_turn WHERE id = %s AND conversation_id = %s"


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveVisit:
    """A live visit with its participant, site and conversation."""

    visit: UUID
    participant: int
    conversation: int
    exit_address: str
    """Where the quick exit of its site leads; empty: to our own plain page."""
    idle_s: int
    """Seconds without a sign of life after which its page locks."""
    idle_left_s: float | None
    """Seconds that are left of them; None: it does not lock."""
    has_moved: bool
    """Whether it ended a visit of the same participant elsewhere."""
    language: str = ""
    """Of the participant."""

    @property
    def idle_limits(self) -> tuple[float, float] | None:
        """(idle_s, idle_left_s); None: it does not lock."""
        return None if self.idle_left_s is None else (self.idle_s, self.idle_left_s)


def session_visit_id(request: HttpRequest) -> UUID | None:
    """Return the visit that the session names, live or not."""
    return _parse_uuid(request.session.get(VISIT_KEY))


def find_visit(request: HttpRequest) -> LiveVisit | None:
    """Return the live visit of the session."""
    return _find_visit(request, LIVE_VISITS)


def find_locked_visit(request: HttpRequest) -> LiveVisit | None:
    """Return the visit of the session if it is locked: it shows no words, and its participant may come back."""
    return _find_visit(request, LOCKED_VISITS)


def _find_visit(request: HttpRequest, query: str) -> LiveVisit | None:
    visit = session_visit_id(request)
    if visit is None:
        return None
    with connection.cursor() as cursor:
        cursor.execute(query, [[visit]])
        row = cursor.fetchone()
    return _make_live_visit(row) if row else None


def find_end_reason(request: HttpRequest) -> str:
    """Return why the session's visit shows nothing: an `EndReason`, `idle` for a locked one; empty: not known."""
    visit = session_visit_id(request)
    if visit is None:
        return ""
    with connection.cursor() as cursor:
        cursor.execute(WHY_OVER, [[visit]])
        row = cursor.fetchone()
    return str(row[1]) if row else ""


class VisitAccess:
    """Finds visits for sockets, on the process's own pool."""

    def __init__(self, pool: AsyncConnectionPool[Any]) -> None:
        self._pool = pool
        self._visits: Batch[str, LiveVisit | None] = Batch(self._find_visits)

    async def find_visit(self, session_key: str | None) -> LiveVisit | None:
        """Return the live visit of a session cookie. Concurrent lookups share a query."""
        return await self._visits.submit(session_key) if session_key else None

    async def _find_visits(self, session_keys: Sequence[str]) -> list[LiveVisit | None]:
        async with self._pool.connection() as native, native.cursor() as cursor:
            sessions = await read_sessions(cursor, session_keys)
            named = {key: _parse_uuid(session.get(VISIT_KEY)) for key, session in sessions.items()}
            await cursor.execute(LIVE_VISITS, ([visit for visit in named.values() if visit],))
            live = {row[0]: _make_live_visit(row) for row in await cursor.fetchall()}
        return [live.get(visit) if (visit := named.get(key)) else None for key in session_keys]

    async def find_end_reason(self, session_key: str | None) -> str:
        """Return why the visit of a session cookie is not live; empty: not known."""
        if not session_key:
            return ""
        async with self._pool.connection() as native, native.cursor() as cursor:
            session = (await read_sessions(cursor, [session_key])).get(session_key, {})
            visit = _parse_uuid(session.get(VISIT_KEY))
            await cursor.execute(WHY_OVER, ([visit],))
            row = await cursor.fetchone()
        return str(row[1]) if row else ""

    async def find_over(self, visits: Iterable[UUID]) -> dict[UUID, str]:
        """Return those of the visits that are not live, each with an `EndReason`, or `idle` for a locked one."""
        known = list(visits)
        async with self._pool.connection() as native, native.cursor() as cursor:
            await cursor.execute(LIVE_VISITS, (known,))
            live = {row[0] for row in await cursor.fetchall()}
            over = dict.fromkeys((visit for visit in known if visit not in live), "")
            if over:
                await cursor.execute(WHY_OVER, (list(over),))
                over |= {row[0]: str(row[1]) for row in await cursor.fetchall()}
        return over

    async def owns_turn(self, conversation: int, turn: int) -> bool:
        async with self._pool.connection() as native, native.cursor() as cursor:
            await cursor.execute(OWNS, (turn, conversation))
            return await cursor.fetchone() is not None


def check_exit_address(stored: str) -> str:
    """Return a site's exit address if it is one of https; otherwise empty."""
    return stored if stored.startswith("https://") else ""


def _parse_uuid(text: object) -> UUID | None:
    try:
        return UUID(str(text))
    except ValueError:
        return None


def _make_live_visit(row: tuple[Any, ...]) -> LiveVisit:
    visit, participant, conversation, exit_address, idle_s, idle_left_s, has_moved, language = row
    return LiveVisit(
        visit=visit,
        participant=participant,
        conversation=conversation,
        exit_address=check_exit_address(exit_address),
        idle_s=idle_s,
        idle_left_s=None if idle_left_s is None else max(0.0, float(idle_left_s)),
        has_moved=has_moved,
        language=language,
    )
