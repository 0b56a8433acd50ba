"""Ledgers of several web processes over one database, without the processes."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from django.db import connection
from django.utils import timezone
from psycopg_pool import AsyncConnectionPool

from companion.ledger import Ledger
from companion.models import Turn, Visit
from companion.states import Reason, TurnState
from companion.turn_close import ClosedTurn
from companion.turn_end import TurnEnd
from companion.turn_open import OpenedTurn, OpenRefusal, SayRequest
from companion.turn_policy import TurnPolicy
from companion.waiting_room import Admission, GateResult
from ops.project.wiring.routing import build_routing
from ops.project.wiring.turns import build_turn_policy
from routing.chain import build_route
from tests.people import Person, in_database

ROUTE = build_route(build_routing(), "normal", 0)


class LedgerProcess:
    """The ledger of one process, with every admission and close it reported."""

    def __init__(self, pool: AsyncConnectionPool[Any], policy: TurnPolicy) -> None:
        self.id = uuid.uuid4()
        self.policy = policy
        self.pool = pool
        self.admitted: list[Admission] = []
        self.ended: list[ClosedTurn] = []
        self.route = ROUTE
        self.ledger = Ledger(
            pool, policy, process=self.id, on_change=self._on_change, route=lambda: self.route
        )

    def _on_change(self, result: GateResult, ended: list[ClosedTurn]) -> None:
        self.admitted += result.admitted
        self.ended += [*ended, *result.lost]

    async def write_heartbeat(self, age_s: float = 0) -> None:
        async with self.pool.connection() as native:
            await native.execute(
                "INSERT INTO companion_process (id, host, pid, beat_at, draining, sockets) "
                "VALUES (%s, 'test', 1, clock_timestamp() - make_interval(secs => %s), false, 0) "
                "ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at",
                (self.id, age_s),
            )

    async def ask(self, person: Person, key: uuid.UUID | None = None) -> OpenedTurn:
        visit = in_database(
            lambda: Visit.objects.create(participant=person.row, expires_at="2099-01-01T00:00Z")
        )
        opened = await self.ledger.open(SayRequest(visit=visit.pk, key=key or uuid.uuid4(), question="?"))
        assert isinstance(opened, OpenedTurn)
        return opened

    async def ask_in_one_moment(self, person: Person, *, times: int) -> list[OpenedTurn | OpenRefusal]:
        """Open several turns concurrently in one new visit, as a page does that sends its backlog."""
        visit = in_database(
            lambda: Visit.objects.create(participant=person.row, expires_at="2099-01-01T00:00Z")
        )
        requests = [SayRequest(visit=visit.pk, key=uuid.uuid4(), question="?") for _ in range(times)]
        return await asyncio.gather(*(self.ledger.open(request) for request in requests))

    async def end(self, admitted: Admission) -> ClosedTurn | None:
        end = TurnEnd(
            turn=admitted.turn,
            state=TurnState.COMPLETE,
            reason=Reason.WHOLE,
            owner=admitted.owner,
            fence=admitted.fence,
        )
        return await self.ledger.close(end)


StartLedger = Callable[[int], LedgerProcess]


def end_all_turns() -> None:
    Turn.objects.filter(closed_at=None).update(state="stopped", reason="stopped", closed_at=timezone.now())


def are_sessions_idle() -> bool:
    """Whether no other session of this database is inside a transaction."""

    def count_is_zero() -> bool:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity "
                "WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()"
            )
            return bool(cursor.fetchone()[0] == 0)

    return in_database(count_is_zero)


@asynccontextmanager
async def open_pool(url: str) -> AsyncIterator[AsyncConnectionPool[Any]]:
    pool: AsyncConnectionPool[Any] = AsyncConnectionPool(url, min_size=2, max_size=8, open=False)
    await pool.open()
    try:
        yield pool
    finally:
        await pool.close()


def build_policy(ceiling: int) -> TurnPolicy:
    return replace(build_turn_policy(), ceiling=ceiling)
