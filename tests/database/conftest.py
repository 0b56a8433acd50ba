"""What tests of the database share: connections as web processes have them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio
from psycopg_pool import AsyncConnectionPool

from companion.models import Process
from ops.stack.postgres import EmbeddedPostgres
from tests.ledgers import (
    LedgerProcess,
    StartLedger,
    are_sessions_idle,
    build_policy,
    end_all_turns,
    open_pool,
)
from tests.people import in_database
from tests.processes import pause_processes


@pytest_asyncio.fixture
async def pool(database: EmbeddedPostgres) -> AsyncIterator[AsyncConnectionPool[Any]]:
    """As web processes have one."""
    async with AsyncConnectionPool(
        database.url, min_size=1, max_size=4, open=False, kwargs={"autocommit": True, "prepare_threshold": 0}
    ) as pool:
        yield pool


@pytest_asyncio.fixture
async def start_ledger(database: EmbeddedPostgres) -> AsyncIterator[StartLedger]:
    """Ledgers of several processes over one database, under the ceiling each test names."""
    with pause_processes(are_sessions_idle):
        # Turns of other tests would count against the ceiling, and these are not left to another's sweep.
        in_database(end_all_turns)
        async with open_pool(database.url) as pool:
            yield lambda ceiling: LedgerProcess(pool, build_policy(ceiling))
        in_database(end_all_turns)
        in_database(lambda: Process.objects.filter(host="test").delete())
